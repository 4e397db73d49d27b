package pool

import (
	"github.com/musterhq/muster/flexmatch/search"
)

// attempt is the search for the best match around an anchor: a walk over the sets that
// include it.
type attempt struct {
	worker    *worker
	columns   *columns
	memory    *scratch
	partition *partition
	anchor    *item
	exact     bool // exhaustive search
	settled   bool // there is no match without a changed ticket
	backfill  bool // game sessions may be backfilled

	fixed    bool   // the search is one at a level
	level    int    // of a match, if it is fixed
	top      int    // the highest level of a waiting ticket, or of all
	most     int    // players in a match, if the search is exact
	looks    int    // items that the walk through the index returned
	budget   budget // before the search is cut short
	partial  bool   // not all candidates were gathered
	sessions bool   // a game session is among the candidates
	cut      bool   // some of the search was left out
	bounded  bool   // likewise, in a crowd: it is not tried again
	unsure   bool   // a set may match although no placement of it was found
}

func newAttempt(w *worker, ps *pass, t *task, anchor *item) attempt {
	return attempt{worker: w, columns: w.pool.columns, memory: &w.scratch, partition: t.partition, anchor: anchor, exact: ps.exact, settled: ps.settled, backfill: ps.backfill, top: ps.top}
}

// begin starts over with the anchor alone, and limits the sets and placements to try.
func (a *attempt) begin(sets, placements int) {
	a.cut, a.bounded, a.unsure, a.worker.deadline.Missed = false, false, false, false
	a.budget = newBudget(sets, placements)
	it, m := a.anchor, a.memory
	m.set = append(m.set[:0], it)
	e, s := it.entry(), a.shared(0)
	*s = shared{level: int(it.level), levels: it.levels, mask: a.columns.maskAt(&e, int(it.level)), filled: it.Held > 0, changed: !a.settled || it.changed,
		ways: a.columns.teams.with(nobody, &e), players: it.Size + it.Held, has: append(s.has[:0], it.has...), low: append(s.low[:0], it.low...), high: append(s.high[:0], it.high...)}
}

// best returns the best match of the anchor and its candidates with at least that many
// new players. It returns nil if there is none, or if the search was cut short.
func (a *attempt) best(least int) *search.Match {
	candidates := a.memory.candidates[0]
	held := a.anchor.Held // the most players that a game session could bring into the match
	for i := range candidates {
		held = max(held, int(candidates[i].held))
	}
	least = max(least, a.anchor.Size, 1, a.columns.rules.Least-held)
	most := a.room()
	if a.exact {
		most = min(most, a.most-a.anchor.Held)
	}
	for size := most; size >= least; size-- {
		if !a.reaches(a.shared(0), candidates, size-a.anchor.Size) || a.short(a.shared(0), candidates, size-a.anchor.Size) || a.noRoom(a.shared(0), candidates, size-a.anchor.Size) {
			continue
		}
		if m := a.grow(0, size-a.anchor.Size); m != nil || a.cut {
			return m
		}
	}
	return nil
}

// room returns the most new players in a match of the anchor, its own included.
func (a *attempt) room() int {
	return min(a.columns.rules.Most-a.worker.pool.rules.Options.AdditionalPlayerCount, a.anchor.Most) - a.anchor.Held
}

// list returns the empty list of a depth.
func (a *attempt) list(depth int) []entry {
	for len(a.memory.candidates) <= depth {
		a.memory.candidates = append(a.memory.candidates, nil)
	}
	return a.memory.candidates[depth][:0]
}

// reaches reports whether, judging by sizes of parties and teams, some of the tickets could
// add that many players to a set.
func (a *attempt) reaches(s *shared, tickets []entry, players int) bool {
	enough := s.filled || !a.sessions // players of a game session can still fill teams
	return a.columns.teams.reaches(s.ways, tickets, a.columns.teams.of(s.players+players, enough))
}

// grow adds candidates of a depth, earlier ones first, until the wanted number of players
// has joined.
func (a *attempt) grow(depth, want int) *search.Match {
	list := a.memory.candidates[depth]
	if want == 0 {
		return a.finish(depth)
	}
	s, end, tried := a.shared(depth), len(list), a.tried(depth)
	if !s.changed {
		for end > 0 && !list[end-1].it.changed {
			end--
		}
	}
	for i := range list[:end] {
		if i > 0 && (!a.reaches(s, list[i:], want) || a.short(s, list[i:], want)) {
			return nil
		}
		if int(list[i].size) > want || a.missing(s, &list[i]) > want-int(list[i].size) || tried.has(list[i].it.alike) {
			continue
		}
		if int(list[i].size) == want && !s.changed && !list[i].it.changed && !a.sessions {
			tried.add(list[i].it.alike)
			continue
		}
		if a.budget.sets--; a.budget.sets < 0 || a.worker.deadline.Reached(a.budget.sets) {
			a.cut = true
			return nil
		}
		if m := a.with(depth, i, want); m != nil || a.cut {
			return m
		}
		tried.add(list[i].it.alike)
	}
	return nil
}

// tried returns the empty set of what an exhaustive search has tried at a depth, by alike;
// of another search nil.
func (a *attempt) tried(depth int) numbers {
	if !a.exact {
		return nil
	}
	m, words := a.memory, len(a.worker.pool.items)/64+1
	for len(m.tried) <= depth {
		m.tried = append(m.tried, nil)
	}
	if len(m.tried[depth]) < words {
		m.tried[depth] = make(numbers, words)
	}
	clear(m.tried[depth])
	return m.tried[depth]
}

// numbers is a set of small numbers. nil is the one to which nothing is added.
type numbers []uint64

func (b numbers) add(n int32) {
	if b != nil {
		b[n/64] |= 1 << (n % 64)
	}
}

func (b numbers) has(n int32) bool { return b != nil && b[n/64]>>(n%64)&1 == 1 }

// with continues with the i-th candidate of a depth, which accepts has let into the list.
func (a *attempt) with(depth, i, want int) *search.Match {
	m := a.memory
	list := m.candidates[depth]
	e := &list[i]
	a.worker.seen[causeNone]++
	m.set = append(m.set[:depth+1], e.it)
	if !a.possible(m.set...) {
		return nil
	}
	s := a.shared(depth + 1)
	a.join(a.shared(depth), e, s)
	next := a.list(depth + 1)
	want -= int(e.size)
	if want > 0 || a.sessions {
		for n := i + 1; n < len(list); n++ {
			if a.accepts(s, &list[n]) {
				next = append(next, list[n])
			}
		}
	}
	m.candidates[depth+1] = next
	if !a.reaches(s, next, want) || a.short(s, next, want) || a.noRoom(s, next, want) {
		return nil
	}
	return a.grow(depth+1, want)
}

// finish seats the set of a depth in a game session to backfill, if none is chosen yet and
// one can take it, else in a new one.
func (a *attempt) finish(depth int) *search.Match {
	m := a.memory
	set, s := m.set[:depth+1], a.shared(depth)
	if !s.filled {
		for i := range m.candidates[depth] {
			if e := &m.candidates[depth][i]; e.held > 0 && (s.changed || e.it.changed) && a.accepts(s, e) {
				m.set = append(set, e.it)
				if match := a.seat(); match != nil || a.cut {
					return match
				}
			}
		}
	}
	if m.set = set; !s.changed {
		return nil
	}
	return a.seat()
}

// possible reports whether a match could include the items: the shrinking rules without a
// column hold at some age that it can have.
func (a *attempt) possible(items ...*item) bool { return a.passing(a.columns.shrinking, items...) }

// passing is possible for some of the rules.
func (a *attempt) passing(shrinking []int, items ...*item) bool {
	if len(shrinking) == 0 {
		return true
	}
	a.budget.placements--
	set := a.members(items)
	low, high := 0, a.worker.judge.LevelOf(set)
	switch {
	case a.fixed:
		low, high = a.level, a.level
	case a.columns.oldest:
		low, high = high, a.top
	}
	return a.worker.judge.Keeps(set, shrinking, low, high)
}

// members returns the candidates of items, until the next call.
func (a *attempt) members(items []*item) []*search.Candidate {
	out := a.memory.members[:0]
	for _, it := range items {
		out = append(out, &it.Candidate)
	}
	a.memory.members = out
	return out
}

// shared is what the items of a set have in common. It restricts every match that
// includes the set.
type shared struct {
	level   int // the level at the set's age
	levels  uint64
	mask    uint64
	filled  bool      // includes a backfill ticket
	changed bool      // includes a changed ticket, or may match without one
	ways    ways      // to seat all players
	players int       // those of the game session included
	has     []int     // by quota: how many players count
	low     []float64 // by window
	high    []float64
}

// shared returns what the set of a depth has in common, to be read or overwritten.
func (a *attempt) shared(depth int) *shared {
	m := a.memory
	for len(m.shared) <= depth {
		n := len(a.columns.windows)
		m.shared = append(m.shared, &shared{has: make([]int, len(a.columns.rules.Quotas)), low: make([]float64, n), high: make([]float64, n)})
	}
	return m.shared[depth]
}

// accepts reports whether a match could include a set and one more ticket, and counts the
// verdict of the columns.
func (a *attempt) accepts(s *shared, e *entry) bool {
	c := a.columns
	if e.held > 0 && s.filled || c.teams.with(s.ways, e) == 0 {
		return false
	}
	level, mask, limits, cause := c.older(s.level, int(e.level)), uint64(0), []float64(nil), causeNone
	if a.fixed {
		mask = e.it.exactly(a.level)
	} else {
		mask = c.maskAt(e, level)
	}
	if len(c.windows) > 0 {
		switch {
		case a.fixed:
			limits = c.limits[a.level]
		case c.oldest:
			limits = c.between[level][a.top]
		default:
			limits = c.loosest[level]
		}
	}
	switch {
	case s.mask&mask == 0:
		cause = causeLatency
	case s.levels&e.levels == 0:
		cause = causePerTicket
	case len(c.windows) == 1 && e.held == 0:
		if max(s.high[0], e.value)-min(s.low[0], e.value) > limits[0] {
			cause = causeWindow
		}
	case len(c.windows) > 0:
		cause = s.outside(e.it, limits)
	}
	if cause == causeNone && len(s.has) > 0 {
		cause = a.beyond(s, e.it)
	}
	a.worker.seen[cause]++
	return cause == causeNone
}

// outside returns the cause of the first window that would not hold with one more item, or
// causeNone.
func (s *shared) outside(it *item, limits []float64) int {
	n := len(limits)
	low, high, itsLow, itsHigh := s.low[:n], s.high[:n], it.low[:n], it.high[:n]
	for i, limit := range limits {
		if max(high[i], itsHigh[i])-min(low[i], itsLow[i]) > limit {
			return causeWindow + i
		}
	}
	return causeNone
}

// join sets out to what a set with one more ticket, which it accepts, has in common.
func (a *attempt) join(s *shared, e *entry, out *shared) {
	c, low, high, has := a.columns, out.low, out.high, out.has
	for i := range has {
		has[i] = s.has[i] + e.it.has[i]
	}
	if len(low) == 1 && e.held == 0 {
		low[0], high[0] = min(s.low[0], e.value), max(s.high[0], e.value)
	} else {
		for i := range low {
			low[i], high[i] = min(s.low[i], e.it.low[i]), max(s.high[i], e.it.high[i])
		}
	}
	level := c.older(s.level, int(e.level))
	mask := c.maskAt(e, level)
	if a.fixed {
		mask = e.it.exactly(a.level)
	}
	*out = shared{level: level, levels: s.levels & e.levels, mask: s.mask & mask, filled: s.filled || e.held > 0, changed: s.changed || e.it.changed,
		ways: c.teams.with(s.ways, e), players: s.players + int(e.size) + int(e.held), has: has, low: low, high: high}
}
