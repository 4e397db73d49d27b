package store

import (
	"context"
	"fmt"
	"time"
)

// head is the newest state, on which commands run. It is ahead of the published state by
// the groups in the queue. The store's mu guards it.
type head struct {
	catalog *catalog
	dirty   []tableMember // tables that differ from sealed
	sealed  *Snapshot     // the state after the last sealed group
	seq     uint64
	clock   clock
	seeds   seeder
	ids     uint64 // the last identifier's clock: milliseconds and counter
}

// begin returns a transaction on the head of s.
func (h *head) begin(s *Store, call call) *Tx {
	return &Tx{store: s, call: call, now: h.clock.now(), seed: h.seeds.next(), idsFrom: h.ids}
}

// seal returns a snapshot of the head.
func (h *head) seal() *Snapshot {
	if h.sealed.seq == h.seq {
		return h.sealed
	}
	sn := &Snapshot{catalog: h.catalog, seq: h.seq, tree: append([]any(nil), h.sealed.tree...), last: make([]uint64, len(h.catalog.logs))}
	for _, t := range h.dirty {
		t.seal(sn)
	}
	h.dirty = h.dirty[:0]
	for i, l := range h.catalog.logs {
		sn.last[i] = l.last()
	}
	h.sealed = sn
	return sn
}

// adopt makes a loaded snapshot the head.
func (h *head) adopt(sn *Snapshot) {
	for _, t := range h.catalog.tables {
		t.adopt(sn)
	}
	for _, l := range h.catalog.logs {
		l.adopt(sn)
	}
	h.dirty = h.dirty[:0]
	h.seq, h.sealed = sn.seq, sn
}

// clock returns moments that never go backwards. If the wall clock was set back, it
// continues from the last moment at the pace of the monotonic clock.
type clock struct {
	last time.Time // the last one returned: UTC, milliseconds
	read time.Time // when that was, with the monotonic reading
}

func (c *clock) now() time.Time {
	read := time.Now()
	now := read.UTC().Truncate(time.Millisecond)
	if now.Before(c.last) {
		now = c.last.Add(read.Sub(c.read)).Truncate(time.Millisecond)
	}
	c.last, c.read = now, read
	return now
}

// clockAfter returns a clock that continues after the last known moment. If that is
// more than a minute ahead, the clock was wrong then: it starts now, and later log
// entries are set back to now.
func clockAfter(ctx context.Context, db DB, last time.Time) (clock, error) {
	now := time.Now()
	if last.Sub(now) > time.Minute {
		if err := db.SetBack(ctx, now); err != nil {
			return clock{}, fmt.Errorf("set log entries back: %w", err)
		}
		last = now.Truncate(time.Millisecond)
	}
	return clock{last: last.UTC(), read: now}, nil
}
