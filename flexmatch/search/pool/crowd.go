package pool

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// A search in a crowd looks for a match at one level: that of the ticket that decides it, the
// youngest or the oldest, to which the others fit. The columns then say exactly which tickets can
// play together. So it chooses groups, in each of which the columns allow any set (group.go), and
// fills the teams from a group by counting (seats.go). Sets are tried one after another only if
// other rules refuse what that finds.

// Bounds of a search in a crowd.
const (
	maxMarks    = 4   // marks of one choice
	maxStarts   = 8   // groups within the limit of one number
	maxGroups   = 24  // groups in all
	maxNarrowed = 200 // lists narrowed to groups
	leastOfKind = 32  // players of a kind among the candidates, where there are so many
	maxElders   = 8   // older tickets whose matches a new one is tried in
)

// many is the number of Limits.Nodes from which on sets are tried in every search, and there are
// no searches in crowds.
const many = 1 << 20

// crowd is the memory of searches in a crowd.
type crowd struct {
	fixed []*item // the tickets that the match must have, the one that decides its level first
	mask  uint64  // locations of the fixed ones
	dims  []dimension
	from  []state // the states that the fixed ones can have
	teams [][]int // by such a state: their teams, -1 for a game session

	list     []entry // candidates, in order of preference
	got      []int   // by kind: players among them
	full     []bool  // by kind: no more are added
	reserved int     // places for players whom a match needs
	groups   int     // tried
	narrowed int     // lists that were narrowed, for groups that may have turned out too small
	failed   []int32 // the first group of which other rules refused what was found
	kinds    []int32 // of a group
	lists    []int32 // memory of lists of candidates
	has      []int   // by what is counted: players among the candidates
	inList   []int   // likewise of a list
	left     []int   // by what is counted: how many players may be added to a group
	few      []int32 // the part of a group that is tried
	values   []float64
	least    int  // players in a match, those of a game session included
	proof    bool // groups only show how many players a match can have, and none is left out
	tried    bool // sets were tried one after another

	filling filling
	placing placing
	spares  []*item // of a group: those that filling did not choose
	found   *search.Match
}

// dimension is a number whose spread over a match is limited: that of a window or of a spread.
type dimension struct {
	window    int // its index, -1 for a spread
	spread    int
	limit     float64
	low, high float64 // of the fixed tickets
}

func (d *dimension) of(it *item) float64 {
	if d.window >= 0 {
		return it.low[d.window]
	}
	return it.spans[d.spread]
}

// crowdSearch is an attempt that searches for a match in a crowd.
type crowdSearch struct{ *attempt }

// crowded reports whether the anchor is searched around as in a crowd.
func (a *attempt) crowded() bool {
	return !a.exact && a.worker.pool.limits.Nodes < many && a.columns.crowds(int(a.anchor.level))
}

// crowds reports whether there can be searches in a crowd at a level.
func (c *columns) crowds(level int) bool {
	return len(c.seats) > 0 && (c.exactMasks || len(c.latencies) == 0)
}

// crowd searches for a match of the anchor.
func (w *worker) crowd(of *attempt, t *task) *search.Match {
	a := crowdSearch{of}
	a.exact = false
	a.begin(w.pool.limits.Nodes, w.pool.limits.Placements)
	m := a.withElders()
	if m == nil && !a.cut {
		m = a.withSessions(a.among(int(a.anchor.level), 0, a.anchor))
	}
	t.left -= a.budget.spent()
	return m
}

// withElders returns a match of the anchor at the level of an older ticket, the oldest first, if
// the oldest ticket of a match decides its level.
func (a crowdSearch) withElders() *search.Match {
	if !a.columns.oldest || len(a.columns.rs.Levels()) == 1 {
		return nil
	}
	own := a.budget.sets / 2 // for the search at the anchor's level
	a.budget.sets -= own
	defer func() { a.budget.sets += own }()
	tried := 0
	for _, it := range a.elders() {
		if it.short -= int32(a.anchor.Size); it.short > 0 {
			continue // it lacked more
		}
		if m := a.among(int(it.level), 0, it, a.anchor); m != nil || a.cut {
			return m
		}
		if tried++; tried == maxElders || a.over() {
			break
		}
	}
	return nil
}

// elders returns tickets of higher levels than the anchor's that could be in a match with it: game
// sessions first, then those who wait, the oldest first.
func (a crowdSearch) elders() (out []*item) {
	add := func(it *item) {
		if level := int(it.level); level > int(a.anchor.level) && it.levels>>level&1 == 1 && it.exactly(level)&a.anchor.exactly(level) != 0 {
			out = append(out, it)
		}
	}
	if a.backfill && !a.anchor.Party.Individuals {
		for _, it := range a.partition.backfills[:min(len(a.partition.backfills), maxElders)] {
			add(it)
		}
	}
	walk := &a.memory.walk
	walk.begin(a.partition, a.around(), a.columns.width)
	for looks := 16 * a.worker.pool.limits.Candidates; looks > 0 && len(out) < 4*maxElders; looks-- {
		e := walk.next()
		if e == nil {
			break
		}
		add(e.it)
	}
	return out
}

// withSessions returns a match in which the anchor joins a game session, if that takes as many
// players as the match m, else m, which may be nil.
func (a crowdSearch) withSessions(m *search.Match) *search.Match {
	sessions := a.partition.backfills
	if !a.backfill || a.anchor.Party.Individuals || len(sessions) == 0 || a.cut {
		return m
	}
	level, least, matched := int(a.anchor.level), 0, slices.Clone(a.memory.matched)
	if m != nil {
		least = m.NewPlayers()
	}
	for _, it := range sessions[:min(len(sessions), a.worker.pool.limits.Candidates)] {
		if a.columns.older(level, int(it.level)) != level {
			continue
		}
		if found := a.among(level, least+it.Held, a.anchor, it); found != nil {
			return found
		}
		if a.cut {
			break
		}
	}
	a.memory.matched = append(a.memory.matched[:0], matched...)
	return m
}

// among looks for a match of fixed tickets, the one that decides the level first, with others at
// that level. With those of a game session it has at least that many players. A few candidates
// are tried first: if many wait, there usually is a match of them.
func (a crowdSearch) among(level, least int, fixed ...*item) *search.Match {
	c := &a.memory.crowd
	if !a.columns.crowds(level) || !a.fix(level, fixed...) {
		return nil
	}
	c.least, c.found, c.tried = least, nil, false
	few, more := 2*a.columns.rules.Most+4, 4*a.worker.pool.limits.Candidates
	if a.columns.plain {
		few = more // the first ones have been tried
	}
	if a.collect(false, few, more); c.found == nil && !a.cut && len(a.columns.windows) == 0 && len(a.columns.spreads) > 0 {
		a.collect(true, more) // the oldest ones may be far from each other
	}
	return c.found
}

// collect collects candidates, all or those near the fixed tickets, and tries groups of them each
// time that there are so many.
func (a crowdSearch) collect(near bool, most ...int) {
	c, walk := &a.memory.crowd, &a.memory.walk
	c.list, a.looks = c.list[:0], 0
	c.got = append(c.got[:0], make([]int, len(a.columns.kinds))...)
	c.full = append(c.full[:0], make([]bool, len(a.columns.kinds))...)
	c.has = append(c.has[:0], make([]int, len(a.columns.counted))...)
	bounds := a.bounds(near)
	bounds.full = c.full
	walk.begin(a.partition, bounds, a.columns.width)
	for _, most := range most {
		ended := a.look(most)
		lacking := a.lacking()
		if lacking <= 0 {
			a.tryGroups()
		}
		if whole := ended && a.looks < 16*most && !near; whole {
			c.fixed[0].short = int32(max(0, lacking))
		}
		if ended || c.found != nil || a.cut {
			break
		}
	}
	a.worker.seen[causeLatency] += walk.bounds.elsewhere
	a.worker.seen[causeWindow] += walk.bounds.outside
}

// fix makes the search one at a level for a match of some tickets. It returns false if there can
// be none.
func (a crowdSearch) fix(level int, tickets ...*item) bool {
	c, cols := &a.memory.crowd, a.columns
	a.fixed, a.level = true, level
	c.fixed, c.mask, c.dims = append(c.fixed[:0], tickets...), math.MaxUint64, c.dims[:0]
	for i := range cols.windows {
		c.dims = append(c.dims, dimension{i, -1, cols.limits[level][i], math.Inf(1), math.Inf(-1)})
	}
	for i := range cols.spreads {
		c.dims = append(c.dims, dimension{-1, i, cols.spreads[i].most[level], math.Inf(1), math.Inf(-1)})
	}
	for _, it := range c.fixed {
		if c.mask &= it.exactly(level); it.levels>>level&1 == 0 || it != c.fixed[0] && !it.Joins(&c.fixed[0].Candidate) {
			return false
		}
		for i := range c.dims {
			switch d := &c.dims[i]; {
			case d.window >= 0:
				d.low, d.high = min(d.low, it.low[d.window]), max(d.high, it.high[d.window])
			case it.spans != nil:
				d.low, d.high = min(d.low, it.spans[d.spread]), max(d.high, it.spans[d.spread])
			}
		}
	}
	apart := slices.ContainsFunc(c.dims, func(d dimension) bool { return d.high-d.low > d.limit })
	return c.mask != 0 && !apart && a.seatFixed()
}

// seatFixed finds the states that the fixed tickets can have. It returns false if there is none.
func (a crowdSearch) seatFixed() bool {
	c, s := &a.memory.crowd, a.columns.seats[a.level]
	c.from, c.teams = append(c.from[:0], 0), append(c.teams[:0], nil)
	for _, it := range c.fixed {
		if !it.Party.Individuals {
			continue
		}
		at, ok := s.session(it, a.columns.counted)
		if !ok || it.seated != nil && it.seated[a.level] == 0 {
			return false
		}
		c.from[0] = at
	}
	for n, it := range c.fixed {
		var from []state
		var teams [][]int
		add := func(at state, before []int, team int) {
			if !slices.Contains(from, at) {
				from, teams = append(from, at), append(teams, append(before[:n:n], team))
			}
		}
		for i, at := range c.from {
			if it.Party.Individuals {
				add(at, c.teams[i], -1)
				continue
			}
			for _, m := range s.moves[it.kind] {
				if m.from.has(at) {
					add(at+state(m.by), c.teams[i], m.team)
				}
			}
		}
		c.from, c.teams = from, teams
	}
	return len(c.from) > 0
}

// bounds returns the bounds of the tickets that could play with the fixed ones, or without windows
// of those that are near them.
func (a crowdSearch) bounds(near bool) bounds {
	c := &a.memory.crowd
	out := bounds{low: math.Inf(-1), high: math.Inf(1), mask: c.mask}
	if len(c.dims) == 0 {
		return out
	}
	d := &c.dims[0]
	reach := d.limit
	if near {
		reach = a.columns.spreads[0].near(a.level)
	}
	if !math.IsInf(reach, 1) {
		reach += 1e-9 * (reach + math.Abs(d.low) + math.Abs(d.high)) // tolerates rounding
		out.low, out.high = d.high-reach, d.low+reach
	}
	return out
}

// look adds candidates until there are most of them. It returns true if it adds no more.
func (a crowdSearch) look(most int) bool {
	c, cols := &a.memory.crowd, a.columns
	a.limitKinds(most)
	ended := false
	for len(c.list) < most && !ended {
		e := a.memory.walk.next()
		if e == nil || a.looks >= 16*most {
			ended = true
			break
		}
		a.looks++
		if c.full[e.kind] || !a.fits(e) {
			continue
		}
		c.list = append(c.list, *e)
		a.got(e, most)
	}
	if cols.sorts {
		search.SortByRules(cols.rs, &c.fixed[0].Candidate, c.list, func(e entry) *search.Candidate { return &e.it.Candidate }, a.worker.judge.Now)
	}
	return ended
}

// got counts a candidate, and limits kinds if that has changed which are to be limited.
func (a crowdSearch) got(e *entry, most int) {
	c, s := &a.memory.crowd, a.columns.seats[a.level]
	c.got[e.kind] += int(e.size)
	changed := enough(c.got[e.kind], a.columns.rules.Most)
	for text, count := range a.columns.kinds[e.kind].counts {
		was := c.has[text]
		c.has[text] += count
		lacked := was < spare*s.needs[text] && c.has[text] >= spare*s.needs[text]
		changed = changed || lacked || !enough(was, s.useful[text]) && enough(c.has[text], s.useful[text])
	}
	if changed || len(c.list) == most-c.reserved {
		a.limitKinds(most)
	}
}

// spare is how many times as many players as a match needs of a string are looked for, which leaves
// the other rules a choice.
const spare = 2

// enough reports whether so many players are enough for several matches that can have at most some.
func enough(players, most int) bool { return players >= max(4*most, leastOfKind) }

// limitKinds finds the kinds of which no more candidates are added, so that many of one kind do not
// hide others: those of which there are players enough for several matches, those that have only
// strings of which there are enough, and, when no more places are left than are reserved for strings
// that a match needs, those that have none of them.
func (a crowdSearch) limitKinds(most int) {
	c, s := &a.memory.crowd, a.columns.seats[a.level]
	c.reserved = 0
	for text, needs := range s.needs {
		c.reserved += max(0, spare*needs-c.has[text])
	}
	c.reserved = min(c.reserved, most/2)
	last := len(c.list) >= most-c.reserved
	for n := range a.columns.kinds {
		has, useful, needed := false, false, false
		for text, count := range a.columns.kinds[n].counts {
			if count > 0 {
				has = true
				useful = useful || !enough(c.has[text], s.useful[text])
				needed = needed || c.has[text] < spare*s.needs[text]
			}
		}
		c.full[n] = enough(c.got[n], a.columns.rules.Most) || has && !useful || last && !needed
	}
}

// fits reports whether a ticket could be in a match with the fixed ones at the level, and counts
// the verdict of the columns.
func (a crowdSearch) fits(e *entry) bool {
	c, cols := &a.memory.crowd, a.columns
	if cols.older(a.level, int(e.level)) != a.level || slices.Contains(c.fixed, e.it) || len(cols.seats[a.level].moves[e.kind]) == 0 {
		return false
	}
	mask, cause := e.mask, causeNone
	if len(cols.rs.Levels()) > 1 {
		mask = e.it.exactly(a.level)
	}
	switch {
	case mask&c.mask == 0:
		cause = causeLatency
	case e.levels>>a.level&1 == 0:
		cause = causePerTicket
	default:
		at := a.apart(e)
		if at >= len(cols.windows) {
			return false
		}
		if at >= 0 {
			cause = causeWindow + at
		}
	}
	if !c.proof {
		a.worker.seen[cause]++
	}
	if cause != causeNone || slices.ContainsFunc(c.fixed, func(it *item) bool { return !it.Joins(&e.it.Candidate) }) {
		return false
	}
	return a.passing(a.columns.uncounted, a.anchor, e.it)
}

// apart returns the first dimension in which a ticket is too far from the fixed ones, or -1.
func (a crowdSearch) apart(e *entry) int {
	for i := range a.memory.crowd.dims {
		d, v := &a.memory.crowd.dims[i], e.value // of the first
		if math.IsInf(d.limit, 1) {
			continue
		}
		if i > 0 {
			v = d.of(e.it)
		}
		if max(v, d.high)-min(v, d.low) > d.limit {
			return i
		}
	}
	return -1
}

// lacking returns how many players the candidates and the fixed tickets lack for a match.
func (a crowdSearch) lacking() int {
	c := &a.memory.crowd
	n := a.columns.seats[a.level].level.Least()
	for i := range c.list {
		n -= int(c.list[i].size)
	}
	for _, it := range c.fixed {
		n -= it.Size + it.Held
	}
	return n
}
