package pool

// provable returns the most players that a match of the anchor can have, those of a game session
// included, as far as columns and counts tell: 0 if they show that it can be in no match. So an
// exhaustive search need not try the sets that are in vain.
func (a crowdSearch) provable() (most int) {
	cols, c := a.columns, &a.memory.crowd
	all := cols.rules.Most
	if a.backfill && !a.anchor.Party.Individuals && len(a.partition.backfills) > 0 {
		return all
	}
	low, high := 0, int(a.anchor.level)
	if cols.oldest {
		low, high = high, a.top
	}
	budget := a.budget
	defer func() { a.fixed, c.proof, a.budget = false, false, budget }()
	for level := low; level <= high && most < all; level++ {
		if !cols.crowds(level) {
			return all
		}
		c.proof = true
		if !a.fix(level, a.anchor) {
			continue
		}
		c.list, c.least = c.list[:0], most+1
		decides := int(a.anchor.level) == level // a ticket of the level does
		for _, it := range a.partition.all() {
			if e := it.entry(); !it.failed && a.fits(&e) {
				decides = decides || int(it.level) == level
				c.list = append(c.list, e)
			}
		}
		if decides && a.lacking() <= 0 {
			a.tryGroups()
			most = c.least - 1
		}
	}
	return most
}
