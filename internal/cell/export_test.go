package cell

import (
	"context"
	"time"
)

// LookAgain is lookAgain.
const LookAgain = lookAgain

// SetClock replaces the node's clock.
func (o *Options) SetClock(now func() time.Time) { o.clock = now }

// Excessive compares a database's time with a node's times before and after reading
// it.
func Excessive(asked, database, answered time.Time) bool {
	return skewOf(asked, database, answered).excessive()
}

// EndOf is endOf.
func EndOf(asked, answered time.Time, left time.Duration) time.Time {
	return endOf(asked, answered, left)
}

// Connects connects to PostgreSQL as a lease does, within the time that ctx leaves.
func Connects(ctx context.Context, url string) error {
	l, err := newLease(Options{URL: url})
	if err != nil {
		return err
	}
	defer l.close()
	_, err = l.commands(ctx)
	return err
}
