package cell

import (
	"fmt"
	"time"
)

// maxSkew is how far a node's clock may be from the database's. A node that is
// further off does not take the cell: what is reserved, waits or has a grace is
// judged by the owner's clock, which the cell's time never runs behind again.
const maxSkew = time.Second

// skew is how far a node's clock is ahead of the database's, as far as can be
// told from an answer that took a while.
type skew struct {
	ahead time.Duration // negative: behind
	doubt time.Duration // it may be this much more or less
}

// skewOf compares the database's time with this node's before it was asked and
// after it had answered.
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

// compare notes how far this node's clock is from the database's.
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

// now is the time by the database's clock, which all nodes go by among each other.
func (k *Keeper) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.opts.clock().Add(-k.skew.ahead)
}

// Skew returns how far this node's clock was ahead of the database's when they
// were compared last; wrong, which is empty otherwise, says so where that is so
// much that the node does not take the cell.
func (k *Keeper) Skew() (ahead time.Duration, wrong string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.skew.excessive() {
		wrong = "this node's clock is " + k.skew.String()
	}
	return k.skew.ahead, wrong
}
