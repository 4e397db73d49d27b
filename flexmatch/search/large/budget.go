package large

import (
	"time"

	"github.com/musterhq/muster/flexmatch/search"
)

// Bounds bounds a pass.
type Bounds struct {
	Steps int

	// Clock and Time, if both are set, also bound a pass by time, from when the clock is first read.
	Clock func() time.Time
	Time  time.Duration
}

// budget bounds a pass and prevents starvation: each partition has its share of the
// steps and of the time, and a partition whose share is used up continues in the next pass
// with the anchors that it has not reached.
type budget struct {
	bounds     Bounds
	end        time.Time       // of the pass, once the clock has been read
	left       int             // steps for the remaining partitions
	partitions int             // the remaining ones, the current one included
	share      int             // steps left for the current partition
	until      search.Deadline // of the current partition
	key        string
	start      int // the first anchor to try in the current partition

	from    map[string]int  // by partition: the anchor at which the next pass continues
	changed map[string]bool // partitions that changed since their first anchors were tried
	more    bool            // some partition is not finished
}

// begin starts a pass. If tickets were added, unfinished partitions start over when they
// have finished.
func (b *budget) begin(bounds Bounds, changed bool) {
	b.bounds, b.end, b.left, b.more = bounds, time.Time{}, bounds.Steps, false
	for key := range b.from {
		b.changed[key] = b.changed[key] || changed
	}
}

// open starts the next partition; partitions is how many remain.
func (b *budget) open(key string, partitions int) {
	b.key, b.start = key, b.from[key]
	b.share = b.left / partitions
	b.left -= b.share
	b.partitions, b.until = partitions, search.Deadline{}
}

// spend subtracts steps from the share of the partition. It returns false when the share
// is used up, or its share of the time, which begins with its first steps.
func (b *budget) spend(steps int) bool {
	b.share -= steps
	if b.bounds.Clock == nil || b.bounds.Time == 0 {
		return b.share >= 0
	}
	if b.until.At.IsZero() {
		now := b.bounds.Clock()
		if b.end.IsZero() {
			b.end = now.Add(b.bounds.Time)
		}
		b.until = search.Deadline{Clock: b.bounds.Clock, At: now.Add(b.end.Sub(now) / time.Duration(b.partitions))}
	}
	return b.share >= 0 && !b.until.Over()
}

// pause records the anchor at which the partition's share ended.
func (b *budget) pause(anchor int) {
	b.from[b.key], b.more = anchor, true
}

// done records that every anchor from start on was tried.
func (b *budget) done() {
	b.more = b.more || b.start > 0 && b.changed[b.key]
	delete(b.from, b.key)
	delete(b.changed, b.key)
}

// close returns the partition's unused steps to the remaining ones.
func (b *budget) close() { b.left += max(b.share, 0) }
