package pool

import (
	"cmp"
	"math"
	"slices"
)

// partition holds the waiting tickets that agree in every value that must be equal, in
// buckets by the value of the first window.
type partition struct {
	key     string
	buckets map[int64]*bucket
	live    int // items in buckets
	clock   int // tickets added so far of which a bucket had too few for a match of their kind

	backfills []*item // oldest first; in no bucket

	sets     chance // of searches in a crowd that try sets
	seatings chance // of those that try placements of one set
	places   int    // steps that a placing may take beyond the least; fewer if the last ones found no way
}

func (p *partition) empty() bool { return p.live == 0 && len(p.backfills) == 0 }

// entry is an item in a bucket, or among the candidates of a search, with copies of the
// values that are compared first: so memory is read in order, and few items are.
type entry struct {
	it      *item // nil if it was removed
	created int64
	arrival uint64
	value   float64 // of the first window; of a game session, the lowest
	mask    uint64  // as in the item
	levels  uint64  // as in the item
	level   int32   // as in the item
	size    int16   // new players
	held    int16   // players in the game session
	kind    int32   // as in the item
}

func (e *entry) older(o *entry) bool {
	return e.created < o.created || e.created == o.created && e.arrival < o.arrival
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.arrival, b.arrival))
}

// bucket is tickets of nearby values, oldest first. Removed tickets stay until they are
// the majority.
type bucket struct {
	number int64
	items  []entry
	keys   []key // of items
	head   int   // all items before it were removed
	gone   int   // removed items after head

	waiting []int32 // tickets that wait, by kind
	grown   int     // the partition's clock when the last one came that moved it
	vain    []vain  // by level
}

// key is what a walk compares of each item in a bucket.
type key struct {
	mask  uint64 // as in the entry; 0 if the item was removed, and never else
	value float64
	kind  int32
}

type cursor struct {
	in      *bucket
	at      int
	created int64 // of the entry
	arrival uint64
}

func (c *cursor) entry() *entry { return &c.in.items[c.at] }

func (c *cursor) older(o *cursor) bool {
	return c.created < o.created || c.created == o.created && c.arrival < o.arrival
}

// skip moves to the next entry within bounds, which may be the current one. It returns
// false at the end.
func (c *cursor) skip(in *bounds) bool {
	mask, low, high, elsewhere := in.mask, in.low, in.high, 0
	keys := c.in.keys
	for at := c.at; at < len(keys); at++ {
		switch k := &keys[at]; {
		case k.mask&mask == 0:
			if k.mask != 0 {
				elsewhere++
			}
		case k.value < low || k.value > high:
			in.outside++
		case int(k.kind) < len(in.full) && in.full[k.kind]:
		default:
			e := &c.in.items[at]
			c.at, c.created, c.arrival = at, e.created, e.arrival
			in.elsewhere += elsewhere
			return true
		}
	}
	in.elsewhere += elsewhere
	return false
}

// bounds limits a walk to the items that could play with an anchor.
type bounds struct {
	low, high float64 // of the first window; from -Inf to +Inf without windows
	mask      uint64  // locations
	full      []bool  // kinds of which there are enough; those after the last are not

	outside, elsewhere int // entries skipped because of their value, their locations
}

func compareAge(a, b *item) int {
	return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.arrival, b.arrival))
}

// bucketOf returns the number of the bucket for a value. Very distant values share the last
// ones.
func bucketOf(v, width float64) int64 {
	if width == 0 {
		return 0
	}
	return int64(min(max(math.Floor(v/width), -1e15), 1e15))
}

func (p *partition) add(it *item, c *columns) {
	it.partition = p
	if it.Party.Individuals {
		at, _ := slices.BinarySearchFunc(p.backfills, it, compareAge)
		p.backfills = slices.Insert(p.backfills, at, it)
		return
	}
	number := bucketOf(it.value(), c.width)
	b := p.buckets[number]
	if b == nil {
		b = &bucket{number: number}
		p.buckets[number] = b
	}
	b.add(it.entry())
	if b.count(it, 1); int(b.waiting[it.kind]) <= c.useful(it.kind) {
		p.clock++
		b.grown = p.clock
	}
	it.bucket = b
	p.live++
}

func (it *item) entry() entry {
	return entry{it: it, created: it.created, arrival: it.arrival, value: it.value(), mask: it.mask, levels: it.levels,
		level: it.level, size: int16(it.Size), held: int16(it.Held), kind: it.kind}
}

func (b *bucket) add(e entry) {
	n := len(b.items)
	if n == b.head || b.items[n-1].older(&e) {
		b.items, b.keys = append(b.items, e), append(b.keys, key{e.mask, e.value, e.kind})
		return
	}
	at, _ := slices.BinarySearchFunc(b.items[b.head:], e, compareEntries)
	b.items, b.keys = slices.Insert(b.items, b.head+at, e), slices.Insert(b.keys, b.head+at, key{e.mask, e.value, e.kind})
}

// count adds n to the tickets of an item's kind that wait.
func (b *bucket) count(it *item, n int32) {
	for len(b.waiting) <= int(it.kind) {
		b.waiting = append(b.waiting, 0)
	}
	b.waiting[it.kind] += n
}

// find returns the position of an item's entry. Most items that are looked for are among
// the oldest.
func (b *bucket) find(it *item) int {
	e, near := entry{created: it.created, arrival: it.arrival}, 1
	for b.head+near < len(b.items) && b.items[b.head+near].older(&e) {
		near *= 2
	}
	from := b.head + near/2
	at, _ := slices.BinarySearchFunc(b.items[from:min(b.head+near+1, len(b.items))], e, compareEntries)
	for at += from; b.items[at].it != it; at++ { // others of the same age
	}
	return at
}

// remove removes an item, and compacts its bucket when most of it is gone.
func (p *partition) remove(it *item) {
	it.gone = true
	if it.Party.Individuals {
		p.backfills = slices.DeleteFunc(p.backfills, func(o *item) bool { return o == it })
		return
	}
	p.live--
	b := it.bucket
	b.count(it, -1)
	at := b.find(it)
	b.items[at].it, b.keys[at].mask = nil, 0
	b.gone++
	for b.head < len(b.items) && b.keys[b.head].mask == 0 {
		b.head++
		b.gone--
	}
	switch {
	case b.head == len(b.items):
		delete(p.buckets, b.number)
	case b.gone > 32 && b.gone > (len(b.items)-b.head)/2, b.head > 64 && b.head > len(b.items)/2:
		b.compact()
	}
}

// compact removes the places of removed items.
func (b *bucket) compact() {
	n := 0
	for at := b.head; at < len(b.items); at++ {
		if b.items[at].it != nil {
			b.items[n], b.keys[n] = b.items[at], b.keys[at]
			n++
		}
	}
	clear(b.items[n:])
	b.items, b.keys, b.head, b.gone = b.items[:n], b.keys[:n], 0, 0
	if cap(b.items) > 4*n+64 { // what a burst of tickets needed
		b.items, b.keys = slices.Clone(b.items), slices.Clone(b.keys)
	}
}

// walk iterates over the items of a partition within bounds, oldest first. It can be reused.
type walk struct {
	bounds bounds
	heap   []cursor
}

func (w *walk) begin(p *partition, in bounds, width float64) {
	w.bounds, w.heap = in, w.heap[:0]
	from, to := bucketOf(in.low, width), bucketOf(in.high, width)
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

// next returns the next entry, or nil. It is valid until the partition changes.
func (w *walk) next() *entry {
	if len(w.heap) == 0 {
		return nil
	}
	c := &w.heap[0]
	e := c.entry()
	if c.at++; !c.skip(&w.bounds) {
		last := len(w.heap) - 1
		w.heap[0] = w.heap[last]
		w.heap = w.heap[:last]
	}
	sift(w.heap, 0)
	return e
}

// open adds a cursor at the bucket's first entry within the bounds, if there is one.
func (w *walk) open(b *bucket) {
	if b == nil {
		return
	}
	if c := (cursor{in: b, at: b.head}); c.skip(&w.bounds) {
		w.heap = append(w.heap, c)
	}
}

// sift moves the i-th cursor down the heap whose top is the oldest item.
func sift(heap []cursor, i int) {
	if i >= len(heap) {
		return
	}
	moved := heap[i]
	for child := 2*i + 1; child < len(heap); child = 2*i + 1 {
		if child+1 < len(heap) && heap[child+1].older(&heap[child]) {
			child++
		}
		if !heap[child].older(&moved) {
			break
		}
		heap[i] = heap[child]
		i = child
	}
	heap[i] = moved
}

// all returns the items in buckets: those of a bucket oldest first.
func (p *partition) all() []*item {
	out := make([]*item, 0, p.live)
	for _, b := range p.buckets {
		for _, e := range b.items[b.head:] {
			if e.it != nil {
				out = append(out, e.it)
			}
		}
	}
	return out
}
