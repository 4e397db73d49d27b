package pool

// Effort counts what the passes of a pool did.
type Effort struct {
	Searches int // searches around a ticket; one that others have settled counts too
	Cut      int // of these, those without a match that a bound of their own ended before all was tried
	Passes   int // passes that searched
	Ended    int // of these, those that Limits.Work or Limits.Time ended, with searches left to the next
	Rejected int // matches that the reference evaluator refused
}

// Plus returns the sum of two counts.
func (e Effort) Plus(o Effort) Effort {
	return Effort{e.Searches + o.Searches, e.Cut + o.Cut, e.Passes + o.Passes, e.Ended + o.Ended, e.Rejected + o.Rejected}
}

// Since returns what was done after an earlier count.
func (e Effort) Since(earlier Effort) Effort {
	return Effort{e.Searches - earlier.Searches, e.Cut - earlier.Cut, e.Passes - earlier.Passes, e.Ended - earlier.Ended, e.Rejected - earlier.Rejected}
}
