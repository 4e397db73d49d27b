package cell

import (
	"fmt"
	"time"
)

// maxSkew is how far a node's clock may be from the database's. A node that is
// further off does not take the cell: reservations, waits and grace periods are
// judged by the owner's clock, and the cell's time never goes back afterwards.
const maxSkew = time.Second

// skew is how far a node's clock is ahead of the database's, as far as can be
// determined from an answer that took some time.
type skew struct {
	ahead time.Duration // negative: behind
	doubt time.Duration // the error bound of ahead
}

// skewOf compares the database's time with this node's times before the request and
// after the answer.
func skewOf(asked, database, answered time.Time) skew {
	took := answered.Sub(asked)
	return skew{ahead: asked.Add(took / 2).Sub(database), doubt: took / 2}
}

// excessive reports whether the clocks are certainly too far apart.
func (s skew) excessive() bool { return s.ahead.Abs()-s.doubt > maxSkew }

func (s skew) String() string {
	if s.ahead < 0 {
		return fmt.Sprintf("%s behind the database's", -s.ahead.Round(time.Millisecond))
	}
	return fmt.Sprintf("%s ahead of the database's", s.ahead.Round(time.Millisecond))
}

// compare records how far this node's clock is from the database's.
func (k *Keeper) compare(s skew) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.skew
	k.skew = s
	switch {
	case s.excessive() && !was.excessive() && k.epoch != 0:
		k.log.Error("this node's clock is wrong, or the database's; reservations, tickets and graces end at wrong times", "clock", s.String(), "allowed", maxSkew)
	case s.excessive() && !was.excessive():
		k.log.Error("this node's clock is wrong, or the database's; it does not take the cell until that is set right", "clock", s.String(), "allowed", maxSkew)
	case !s.excessive() && was.excessive():
		k.log.Info("this node's clock is right again", "clock", s.String())
	}
}

// now returns the time by the database's clock, which nodes use among each other.
func (k *Keeper) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.opts.clock().Add(-k.skew.ahead)
}

// Skew returns how far this node's clock was ahead of the database's at the last
// comparison. If that is too far for the node to take the cell, wrong says so;
// otherwise it is empty.
func (k *Keeper) Skew() (ahead time.Duration, wrong string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.skew.excessive() {
		wrong = "this node's clock is " + k.skew.String()
	}
	return k.skew.ahead, wrong
}
