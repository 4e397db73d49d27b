package search

import (
	"cmp"
	"math"
	"slices"
)

// part holds the waiting tickets that agree in every value that must be equal, in buckets
// by the value of the first window.
type part struct {
	key     string
	buckets map[int64]*bucket
	live    int // items in buckets

	backfills []*item // oldest first; in no bucket
}

func (p *part) empty() bool { return p.live == 0 && len(p.backfills) == 0 }

// spot is an item in a bucket with copies of the values that a walk compares, so that a
// walk reads memory in order and touches only matching items.
type spot struct {
	created   int64
	arrival   uint64
	low, high float64 // of the first window
	mask      uint64  // locations at any level
	it        *item
}

func (s *spot) older(o *spot) bool {
	return s.created < o.created || s.created == o.created && s.arrival < o.arrival
}

func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.arrival, b.arrival))
}

// bucket is tickets of nearby values, oldest first. Removed tickets stay until they are
// the majority.
type bucket struct {
	number int64
	items  []spot
	head   int // all items before it are gone
	gone   int // gone items after head
}

// cursor is a position in a bucket.
type cursor struct {
	items []spot
	at    int
}

func (c *cursor) spot() *spot { return &c.items[c.at] }

// seek moves to the next spot in range, which may be the current one. It returns false at
// the end.
func (c *cursor) seek(in *span) bool {
	for ; c.at < len(c.items); c.at++ {
		s := &c.items[c.at]
		switch {
		case s.mask&in.mask == 0:
			in.deaf++
		case s.low < in.low || s.high > in.high:
			in.far++
		case !s.it.gone:
			return true
		}
	}
	return false
}

// span is the range of a walk.
type span struct {
	low, high float64 // of the first window; from -Inf to +Inf without windows
	mask      uint64

	far, deaf int // spots skipped because of their value, their locations
}

func compareAge(a, b *item) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.ticket.Arrival, b.ticket.Arrival))
}

// width returns the width of a bucket: half the tightest window, but wide enough that the
// loosest spans few buckets.
func (c *columns) width() float64 {
	if len(c.windows) == 0 {
		return 0
	}
	limits := c.windows[0].limit
	return max(slices.Min(limits)/2, slices.Max(limits)/16, 1e-9)
}

// slot returns the number of the bucket for a value. Very distant values share the last
// ones.
func slot(v, width float64) int64 {
	if width == 0 {
		return 0
	}
	return int64(min(max(math.Floor(v/width), -1e15), 1e15))
}

func (p *part) add(it *item, width float64) {
	it.part = p
	if it.ticket.Backfill {
		at, _ := slices.BinarySearchFunc(p.backfills, it, compareAge)
		p.backfills = slices.Insert(p.backfills, at, it)
		return
	}
	number := int64(0)
	if width > 0 {
		number = slot(it.low[0], width)
	}
	b := p.buckets[number]
	if b == nil {
		b = &bucket{number: number}
		p.buckets[number] = b
	}
	b.add(it.spot())
	it.bucket = b
	p.live++
}

func (it *item) spot() spot {
	return spot{created: it.created, arrival: it.ticket.Arrival, low: it.low[0], high: it.high[0], mask: it.mask, it: it}
}

func (b *bucket) add(s spot) {
	n := len(b.items)
	if n == b.head || b.items[n-1].older(&s) {
		b.items = append(b.items, s)
		return
	}
	at, _ := slices.BinarySearchFunc(b.items[b.head:], s, compareSpots)
	b.items = slices.Insert(b.items, b.head+at, s)
}

// remove marks an item as gone and compacts its bucket when most of it is gone.
func (p *part) remove(it *item) {
	it.gone = true
	if it.ticket.Backfill {
		p.backfills = slices.DeleteFunc(p.backfills, func(o *item) bool { return o == it })
		return
	}
	p.live--
	b := it.bucket
	b.gone++
	for b.head < len(b.items) && b.items[b.head].it.gone {
		b.head++
		b.gone--
	}
	switch {
	case b.head == len(b.items):
		delete(p.buckets, b.number)
	case b.gone > 32 && b.gone > (len(b.items)-b.head)/2, b.head > 64 && b.head > len(b.items)/2:
		b.items = slices.DeleteFunc(b.items[b.head:], func(o spot) bool { return o.it.gone })
		b.head, b.gone = 0, 0
	}
}

// walk iterates over the items of a part in a span, oldest first. It can be reused.
type walk struct {
	span
	heap []cursor
}

// begin starts a walk.
func (w *walk) begin(p *part, in span, width float64) {
	w.span, w.heap = in, w.heap[:0]
	from, to := slot(in.low, width), slot(in.high, width)
	if to-from < int64(len(p.buckets)) {
		for number := from; number <= to; number++ {
			w.open(p.buckets[number])
		}
	} else {
		for number, b := range p.buckets {
			if number >= from && number <= to {
				w.open(b)
			}
		}
	}
	for i := len(w.heap)/2 - 1; i >= 0; i-- {
		sift(w.heap, i)
	}
}

// next returns the next item, or nil at the end.
func (w *walk) next() *item {
	if len(w.heap) == 0 {
		return nil
	}
	c := &w.heap[0]
	it := c.spot().it
	if c.at++; !c.seek(&w.span) {
		last := len(w.heap) - 1
		w.heap[0] = w.heap[last]
		w.heap = w.heap[:last]
	}
	sift(w.heap, 0)
	return it
}

// open adds a cursor at the bucket's first spot in the span, if there is one.
func (w *walk) open(b *bucket) {
	if b == nil {
		return
	}
	if c := (cursor{b.items, b.head}); c.seek(&w.span) {
		w.heap = append(w.heap, c)
	}
}

// sift moves the i-th cursor down the heap whose top is the oldest item.
func sift(heap []cursor, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].spot().older(heap[least].spot()) {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
