package pool

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// A group is some of the candidates, as indexes in order of preference, of which the columns allow
// any set: they have a location in common and a mark for each choice, and are within the limits of
// all dimensions.

// tryGroups tries groups of the candidates, until a match is found.
func (a crowdSearch) tryGroups() {
	c := &a.memory.crowd
	c.groups, c.narrowed, c.failed = 0, 0, c.failed[:0]
	all := c.lists[:0]
	for i := range c.list {
		all = append(all, int32(i))
	}
	c.lists = all
	if a.choose(all, -1); c.found == nil && len(c.failed) > 0 && !a.cut {
		a.trySets(c.failed)
	}
}

// keep returns the members of a list for which kept returns true, in memory that drop frees. The list
// that was kept last must be dropped first.
func (c *crowd) keep(list []int32, kept func(i int32) bool) []int32 {
	begin := len(c.lists)
	for _, i := range list {
		if kept(i) {
			c.lists = append(c.lists, i)
		}
	}
	return c.lists[begin:len(c.lists):len(c.lists)]
}

func (c *crowd) drop(list []int32) { c.lists = c.lists[:len(c.lists)-len(list)] }

// fillable reports whether kinds and counts allow a match of the fixed tickets and some of a list.
func (a crowdSearch) fillable(list []int32) bool {
	c, s := &a.memory.crowd, a.columns.seats[a.level]
	if !a.suffices(list) {
		return false
	}
	c.kinds = c.kinds[:0]
	for _, n := range list {
		c.kinds = append(c.kinds, c.list[n].kind)
	}
	a.charge(list)
	return c.filling.reaches(s, c.from, c.kinds, a.mostPlayers())
}

// suffices reports whether the fixed tickets and a list have players enough, who have each string
// often enough: those beyond what a rule allows do not count.
func (a crowdSearch) suffices(list []int32) bool {
	c, s, players := &a.memory.crowd, a.columns.seats[a.level], 0
	c.inList = append(c.inList[:0], make([]int, len(a.columns.counted))...)
	for _, it := range c.fixed {
		players += it.Size + it.Held
		for n := range c.inList {
			c.inList[n] += a.columns.counted[n].Of(&it.Party)
		}
	}
	for _, i := range list {
		k := &a.columns.kinds[c.list[i].kind]
		players += k.size
		for n, count := range k.counts {
			c.inList[n] += count
		}
	}
	for n, has := range c.inList {
		if has < s.needs[n] || players-max(0, has-s.most[n]) < s.level.Least() {
			return false
		}
	}
	return players >= s.level.Least()
}

// marked returns the marks of an item for the n-th choice. The one before the first is that of the
// location.
func (a crowdSearch) marked(it *item, n int) uint64 {
	switch {
	case n < 0:
		return it.exactly(a.level)
	case it.marks == nil: // of a game session
		return math.MaxUint64
	}
	return it.marks[n][a.level]
}

// choose tries the groups of a list for the n-th choice and those after it: for each mark, those of
// the most players first, the tickets that have it. It returns true if the search ends.
func (a crowdSearch) choose(list []int32, n int) bool {
	c, choices := &a.memory.crowd, a.columns.choices
	if n == len(choices) {
		return (len(c.dims) == 0 || a.fillable(list)) && a.within(list, 0) || a.over()
	}
	if n < 0 && len(a.columns.latencies) == 0 {
		return a.choose(list, n+1)
	}
	marks := a.marksIn(list, n)
	if len(marks) == 0 && (n < 0 || choices[n].only) {
		return a.choose(nil, n+1) // the fixed tickets alone
	}
	for i, bit := range marks {
		if i == maxMarks && !c.proof {
			break
		}
		kept := c.keep(list, func(i int32) bool { return a.marked(c.list[i].it, n)&bit != 0 })
		end := a.choose(kept, n+1)
		if c.drop(kept); end {
			return true
		}
	}
	if n < 0 || choices[n].only && (!c.proof || len(choices[n].marks) < 64) {
		return false
	}
	return a.choose(list, n+1)
}

// marksIn returns the marks for the n-th choice that the fixed tickets and some of a list have in
// common, those of the most players first.
func (a crowdSearch) marksIn(list []int32, n int) (marks []uint64) {
	c, mask := &a.memory.crowd, uint64(math.MaxUint64)
	for _, it := range c.fixed {
		mask &= a.marked(it, n)
	}
	var players [64]int // by bit
	for _, i := range list {
		for rest := a.marked(c.list[i].it, n) & mask; rest != 0; rest &= rest - 1 {
			bit := bits.TrailingZeros64(rest)
			if players[bit] == 0 {
				marks = append(marks, 1<<bit)
			}
			players[bit] += int(c.list[i].size)
		}
	}
	of := func(mark uint64) int { return players[bits.TrailingZeros64(mark)] }
	slices.SortFunc(marks, func(x, y uint64) int { return cmp.Or(cmp.Compare(of(y), of(x)), cmp.Compare(x, y)) })
	return marks
}

// within tries the groups of a list that are within the limits of the n-th dimension and those
// after it. It returns true if the search ends.
func (a crowdSearch) within(list []int32, n int) bool {
	c := &a.memory.crowd
	if n == len(c.dims) {
		c.groups++
		if a.fill(list) {
			return true
		}
		all := c.groups == maxGroups && !c.proof
		a.bounded = a.bounded || all
		return all
	}
	d := &c.dims[n]
	if d.window >= 0 || c.proof {
		return a.narrow(list, n, d.limit)
	}
	enough := a.columns.spreads[d.spread].enough[a.level]
	// Near ones first: each set of them passes. Of others, those that are nearer pass more often.
	limits := [...]float64{enough, (enough + d.limit) / 2, d.limit}
	if math.IsInf(d.limit, 1) { // where far ones can be made even, the oldest are taken
		limits = [...]float64{d.limit, 3 * enough, enough}
	}
	low, high := a.span(list, d)
	whole := false // the whole list has been tried
	for _, limit := range limits {
		if d.high-d.low > limit || whole && high-low <= limit {
			continue
		}
		whole = whole || high-low <= limit
		if a.narrow(list, n, limit) {
			return true
		}
	}
	return false
}

// span returns the lowest and the highest value of a list and the fixed tickets in a dimension.
func (a crowdSearch) span(list []int32, d *dimension) (low, high float64) {
	low, high = d.low, d.high
	for _, i := range list {
		v := d.of(a.memory.crowd.list[i].it)
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// start is the lowest value of a group in a dimension.
type start struct {
	value   float64
	players int // of the group and the fixed tickets
}

// narrow tries the groups of a list whose values in the n-th dimension are within a limit of each
// other: those that leave room for a match of the most players first, and of them those with the
// first tickets. It returns true if the search ends.
func (a crowdSearch) narrow(list []int32, n int, limit float64) bool {
	c := &a.memory.crowd
	d := &c.dims[n]
	value := func(i int32) float64 { return d.of(c.list[i].it) }
	low, high := a.span(list, d)
	if high-low <= limit || len(list) == 0 {
		return a.within(list, n+1)
	}
	if c.narrowed++; c.narrowed > maxNarrowed {
		if c.proof {
			c.least = a.columns.rules.Most + 1 // nothing is proved
		}
		a.bounded = a.bounded || !c.proof
		return true
	}
	starts := a.starts(list, n, limit)
	for tries := 0; len(starts) > 0 && (c.proof || tries < maxStarts); tries++ {
		at := preferred(starts, list, value, limit)
		from := starts[at].value
		kept := c.keep(list, func(i int32) bool { v := value(i); return v >= from && v <= from+limit })
		end := a.within(kept, n+1)
		if c.drop(kept); end {
			return true
		}
		if starts = slices.Delete(starts, at, at+1); len(starts) == 0 && !c.proof {
			break
		}
	}
	return false
}

// starts returns the starts of groups that have players enough for a match, in order of value.
// Where some have enough for the largest one, those that do not are left out.
func (a crowdSearch) starts(list []int32, n int, limit float64) (out []start) {
	c, rules := &a.memory.crowd, a.columns.rules
	d, s := &c.dims[n], a.columns.seats[a.level]
	value := func(i int32) float64 { return d.of(c.list[i].it) }
	sorted := c.keep(list, func(int32) bool { return true })
	defer c.drop(sorted)
	slices.SortFunc(sorted, func(x, y int32) int { return cmp.Compare(value(x), value(y)) })
	players, has := 0, make([]int, len(rules.Quotas))
	count := func(it *item, sign int) {
		players += sign * (it.Size + it.Held)
		for q := range has {
			has[q] += sign * it.has[q]
		}
	}
	for _, it := range c.fixed {
		count(it, 1)
	}
	values := c.values[:0]
	for _, i := range sorted {
		if v := value(i); v <= d.low {
			values = append(values, v)
		}
	}
	if !math.IsInf(d.low, 1) {
		values = append(values, d.low)
	}
	c.values = values
	from, to, most := 0, 0, 0
	for _, v := range slices.Compact(values) {
		for ; to < len(sorted) && value(sorted[to]) <= v+limit; to++ {
			count(c.list[sorted[to]].it, 1)
		}
		for ; from < to && value(sorted[from]) < v; from++ {
			count(c.list[sorted[from]].it, -1)
		}
		if v+limit >= d.high && players >= s.level.Least() && rules.Missing(has) == 0 {
			out, most = append(out, start{v, players}), max(most, players)
		}
	}
	if most = min(most, rules.Most); c.proof {
		return out
	}
	return slices.DeleteFunc(out, func(s start) bool { return s.players < most })
}

// preferred returns the index of the start whose group has the first tickets of a list that a group
// can have, one after another; of several, that of the most players.
func preferred(starts []start, list []int32, value func(int32) float64, limit float64) int {
	low, high := 0, len(starts)
	for _, i := range list {
		if high-low == 1 {
			break
		}
		v := value(i)
		l := low + sort.Search(high-low, func(n int) bool { return starts[low+n].value >= v-limit })
		h := low + sort.Search(high-low, func(n int) bool { return starts[low+n].value > v })
		if l < h {
			low, high = l, h
		}
	}
	at := low
	for i := low; i < high; i++ {
		if starts[i].players > starts[at].players {
			at = i
		}
	}
	return at
}
