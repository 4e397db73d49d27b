package store

import (
	"iter"
	"time"
)

// DueIndex finds the rows of a table whose time has come. Rows whose time is zero are left
// out.
type DueIndex[V any] struct{ index *Index[V] }

// NewDueIndex registers an index of the rows by a time, before Open.
func NewDueIndex[V any](t *Table[V], name string, at func(v *V) time.Time) *DueIndex[V] {
	return &DueIndex[V]{NewIndex(t, name, func(v *V, emit func(string)) {
		if due := at(v); !due.IsZero() {
			emit(TimeKey(due))
		}
	})}
}

// DueAtOnce is how many due rows of a kind one transaction handles, so that others can run
// in between.
const DueAtOnce = 500

// Due yields the rows whose time is not after now, earliest first, and at most DueAtOnce of
// them.
func (d *DueIndex[V]) Due(r Reader, now time.Time) iter.Seq[*V] {
	return func(yield func(*V) bool) {
		last, n := TimeKey(now), 0
		for at, row := range d.index.Prefix(r, "") {
			if at > last || n == DueAtOnce || !yield(row) {
				return
			}
			n++
		}
	}
}

// AnyDue reports whether Due would yield a row.
func (d *DueIndex[V]) AnyDue(r Reader, now time.Time) bool {
	next := d.NextDue(r)
	return !next.IsZero() && !next.After(now)
}

// NextDue returns the earliest time, or zero if the index has no row.
func (d *DueIndex[V]) NextDue(r Reader) (at time.Time) {
	at, _ = time.Parse(time.RFC3339, d.index.core.lowest(r))
	return at
}
