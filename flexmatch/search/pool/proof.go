package pool

import "math"

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

// vain says whether a bucket's tickets are known to be in no match of a level.
type vain struct {
	since  int // the partition's clock when that was proved, plus one; 0 if it was not
	failed int // searches that found no match since a proof was last tried
	wait   int // the searches after which the next one is tried
}

// Bounds of the searches that fail before a proof is tried: fewer if the last proof succeeded.
const (
	leastFailed = 4
	mostFailed  = 1024
)

// vain reports whether the anchor is known to be in no match that the search could find.
func (a crowdSearch) vain() bool {
	if a.joinable() {
		return false
	}
	for level := int(a.anchor.level); level <= a.highest(); level++ {
		if v := a.anchor.bucket.vain; len(v) <= level || v[level].since == 0 || a.newer(level) >= v[level].since {
			return false
		}
	}
	return true
}

// joinable reports whether a game session could be in a match of the anchor, or is the anchor.
func (a crowdSearch) joinable() bool {
	return a.anchor.bucket == nil || a.backfill && len(a.partition.backfills) > 0
}

// highest returns the highest level of a match of the anchor.
func (a crowdSearch) highest() int {
	if a.columns.oldest {
		return len(a.columns.rs.Levels()) - 1
	}
	return int(a.anchor.level)
}

// newer returns the partition's clock when the last ticket came that could be in a match with one
// of the anchor's bucket at a level, as far as kinds and the first dimension tell.
func (a crowdSearch) newer(level int) (clock int) {
	a.eachNear(level, func(b *bucket) { clock = max(clock, b.grown) })
	return clock
}

// eachNear calls f for each bucket with tickets that could be in a match with one of the anchor's
// bucket at a level.
func (a crowdSearch) eachNear(level int, f func(*bucket)) {
	cols, b := a.columns, a.anchor.bucket
	reach := math.Inf(1)
	switch {
	case len(cols.windows) > 0:
		reach = cols.limits[level][0]
	case len(cols.spreads) > 0:
		reach = cols.spreads[0].most[level]
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if cols.width > 0 && !math.IsInf(reach, 1) {
		buckets := int64(math.Ceil(min(reach/cols.width, 1e9))) + 1
		low, high = b.number-buckets, b.number+buckets
	}
	if high-low > 0 && high-low < int64(len(a.partition.buckets)) {
		for n := low; n <= high; n++ {
			if near := a.partition.buckets[n]; near != nil {
				f(near)
			}
		}
		return
	}
	for n, near := range a.partition.buckets {
		if n >= low && n <= high {
			f(near)
		}
	}
}

// prove notes that a search failed. After some of them it looks whether any could have succeeded:
// whether kinds and counts allow a match of all tickets near the anchor's bucket.
func (a crowdSearch) prove() {
	if a.joinable() {
		return
	}
	b := a.anchor.bucket
	for level := int(a.anchor.level); level <= a.highest(); level++ {
		for len(b.vain) <= level {
			b.vain = append(b.vain, vain{wait: leastFailed})
		}
		v := &b.vain[level]
		if v.failed++; v.failed < v.wait || !a.columns.crowds(level) {
			continue
		}
		v.failed, v.since = 0, 0
		if a.anyNear(level) {
			v.wait = min(mostFailed, 2*v.wait)
		} else {
			v.since, v.wait = a.newer(level)+1, max(leastFailed, v.wait/2)
		}
	}
}

// anyNear reports whether kinds and counts allow a match of all tickets near the anchor's bucket
// at a level.
func (a crowdSearch) anyNear(level int) bool {
	c, cols, s := &a.memory.crowd, a.columns, a.columns.seats[level]
	waiting := make([]int, len(cols.kinds))
	a.eachNear(level, func(b *bucket) {
		for kind, n := range b.waiting {
			waiting[kind] += int(n)
		}
	})
	c.kinds = c.kinds[:0]
	for kind, n := range waiting {
		for range min(n, cols.useful(int32(kind))) {
			c.kinds = append(c.kinds, int32(kind))
		}
	}
	return c.filling.reaches(s, []state{0}, c.kinds, s.level.Capacity()-a.worker.pool.rules.Options.AdditionalPlayerCount)
}

// useful returns how many tickets of a kind a match can have.
func (c *columns) useful(kind int32) int {
	if len(c.kinds) == 0 {
		return 0
	}
	return c.rules.Most / max(1, c.kinds[kind].size)
}
