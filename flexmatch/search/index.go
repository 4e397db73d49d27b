package search

import (
	"cmp"
	"math"
	"slices"
)

// part holds the waiting tickets that agree in every value that must be equal.
// Its buckets divide them by the first window's value.
type part struct {
	key     string
	buckets map[int64]*bucket
	live    int
	cursors []cursor // kept between walks
}

// bucket is tickets of nearby values, oldest first. Tickets that left stay until
// they are the greater half.
type bucket struct {
	number int64
	items  []*item
	head   int // all before it are gone
	gone   int // after head
}

// cursor is a place in a bucket.
type cursor struct {
	items []*item
	at    int
}

func (c *cursor) item() *item { return c.items[c.at] }

// older orders items by age, those created together by arrival.
func (it *item) older(o *item) bool {
	if it.created != o.created {
		return it.created < o.created
	}
	return it.ticket.Arrival < o.ticket.Arrival
}

func compareAge(a, b *item) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.ticket.Arrival, b.ticket.Arrival))
}

// width is the size of the buckets' ranges: half the tightest window, but coarse
// enough that the loosest spans few buckets.
func (c *columns) width() float64 {
	if len(c.windows) == 0 {
		return 0
	}
	limits := c.windows[0].limit
	return max(slices.Min(limits)/2, slices.Max(limits)/16, 1e-9)
}

// slot gives the number of the bucket for a value; far values share the last ones.
func slot(v, width float64) int64 {
	if width == 0 {
		return 0
	}
	return int64(min(max(math.Floor(v/width), -1e15), 1e15))
}

func (p *part) add(it *item, width float64) {
	number := int64(0)
	if width > 0 {
		number = slot(it.low[0], width)
	}
	b := p.buckets[number]
	if b == nil {
		b = &bucket{number: number}
		p.buckets[number] = b
	}
	b.add(it)
	it.part, it.bucket = p, b
	p.live++
}

func (b *bucket) add(it *item) {
	n := len(b.items)
	if n == 0 || b.items[n-1].older(it) {
		b.items = append(b.items, it)
		return
	}
	at, _ := slices.BinarySearchFunc(b.items[b.head:], it, compareAge)
	b.items = slices.Insert(b.items, b.head+at, it)
}

// remove marks an item and sweeps its bucket when most of it is gone.
func (p *part) remove(it *item) {
	it.gone = true
	p.live--
	b := it.bucket
	b.gone++
	for b.head < len(b.items) && b.items[b.head].gone {
		b.items[b.head] = nil
		b.head++
		b.gone--
	}
	switch {
	case b.head == len(b.items):
		delete(p.buckets, b.number)
	case b.gone > 32 && b.gone > (len(b.items)-b.head)/2:
		b.items = slices.DeleteFunc(b.items[b.head:], func(o *item) bool { return o.gone })
		b.head, b.gone = 0, 0
	}
}

// walk calls f for the items whose first value is in [low, high], oldest first,
// until f says no.
func (p *part) walk(low, high, width float64, f func(*item) bool) {
	p.cursors = p.cursors[:0]
	from, to := slot(low, width), slot(high, width)
	if to-from < int64(len(p.buckets)) {
		for number := from; number <= to; number++ {
			p.open(p.buckets[number])
		}
	} else {
		for number, b := range p.buckets {
			if number >= from && number <= to {
				p.open(b)
			}
		}
	}
	for i := len(p.cursors)/2 - 1; i >= 0; i-- {
		p.sift(i)
	}
	for len(p.cursors) > 0 {
		c := &p.cursors[0]
		if it := c.item(); !it.gone && !f(it) {
			return
		}
		if c.at++; c.at == len(c.items) {
			last := len(p.cursors) - 1
			p.cursors[0] = p.cursors[last]
			p.cursors = p.cursors[:last]
		}
		p.sift(0)
	}
}

func (p *part) open(b *bucket) {
	if b != nil && b.head < len(b.items) {
		p.cursors = append(p.cursors, cursor{b.items, b.head})
	}
}

// sift moves the i-th cursor down the heap whose top is the oldest item.
func (p *part) sift(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(p.cursors); child++ {
			if p.cursors[child].item().older(p.cursors[least].item()) {
				least = child
			}
		}
		if least == i {
			return
		}
		p.cursors[i], p.cursors[least] = p.cursors[least], p.cursors[i]
		i = least
	}
}
