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
	backfill  bool // game sessions may be backfilled

	looks    int    // items that the walk through the index returned
	budget   budget // before the search is cut short
	partial  bool   // not all candidates were gathered
	sessions bool   // a game session is among the candidates
	cut      bool   // some of the search was left out
}

func newAttempt(w *worker, ps *pass, t *task, anchor *item) attempt {
	return attempt{worker: w, columns: w.pool.columns, memory: &w.scratch, partition: t.partition, anchor: anchor, exact: ps.exact, backfill: ps.backfill}
}

// begin starts over with the anchor alone, and limits the sets and placements to try.
func (a *attempt) begin(sets, placements int) {
	a.cut, a.worker.deadline.Missed = false, false
	a.budget = newBudget(sets, placements)
	it, m := a.anchor, a.memory
	m.set = append(m.set[:0], it)
	s := a.shared(0)
	*s = shared{level: it.level, levels: it.levels, mask: it.maskAt(it.level), filled: it.Held > 0,
		ways: a.columns.teams.with(nobody, it), players: it.Size + it.Held, low: append(s.low[:0], it.low...), high: append(s.high[:0], it.high...)}
}

// best returns the best match of the anchor and its candidates with at least that many
// new players. It returns nil if there is none, or if the search was cut short.
func (a *attempt) best(least int) *search.Match {
	candidates := a.memory.candidates[0]
	held := a.anchor.Held // the most players that a game session could bring into the match
	for _, it := range candidates {
		held = max(held, it.Held)
	}
	least = max(least, a.anchor.Size, 1, a.columns.rules.Least-held)
	for size := a.room(); size >= least; size-- {
		if !a.reaches(a.shared(0), candidates, size-a.anchor.Size) {
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
	return a.columns.rules.Most - a.worker.pool.rules.Options.AdditionalPlayerCount - a.anchor.Held
}

// list returns the empty list of a depth.
func (a *attempt) list(depth int) []*item {
	for len(a.memory.candidates) <= depth {
		a.memory.candidates = append(a.memory.candidates, nil)
	}
	return a.memory.candidates[depth][:0]
}

// reaches reports whether, judging by sizes of parties and teams, some of the items could
// add that many players to a set.
func (a *attempt) reaches(s *shared, items []*item, players int) bool {
	enough := s.filled || !a.sessions // players of a game session can still fill teams
	return a.columns.teams.reaches(s.ways, items, a.columns.teams.of(s.players+players, enough))
}

// grow adds candidates of a depth, earlier ones first, until the wanted number of players
// has joined.
func (a *attempt) grow(depth, want int) *search.Match {
	list := a.memory.candidates[depth]
	if want == 0 {
		return a.finish(depth)
	}
	var tried map[int32]bool
	for i, it := range list {
		if i > 0 && !a.reaches(a.shared(depth), list[i:], want) {
			return nil
		}
		if it.Size > want || tried[it.alike] {
			continue
		}
		if a.budget.sets--; a.budget.sets < 0 || a.worker.deadline.Reached(a.budget.sets) {
			a.cut = true
			return nil
		}
		if m := a.with(depth, i, want); m != nil || a.cut {
			return m
		}
		if a.exact {
			if tried == nil {
				tried = map[int32]bool{}
			}
			tried[it.alike] = true
		}
	}
	return nil
}

// with continues with the i-th candidate of a depth, which accepts has let into the list.
func (a *attempt) with(depth, i, want int) *search.Match {
	m := a.memory
	list := m.candidates[depth]
	it := list[i]
	a.worker.seen[causeNone]++
	m.set = append(m.set[:depth+1], it)
	if !a.possible(m.set...) {
		return nil
	}
	s := a.shared(depth + 1)
	a.join(a.shared(depth), it, s)
	next := a.list(depth + 1)
	if want > it.Size || a.sessions {
		for _, other := range list[i+1:] {
			if a.accepts(s, other) {
				next = append(next, other)
			}
		}
	}
	m.candidates[depth+1] = next
	if !a.reaches(s, next, want-it.Size) {
		return nil
	}
	return a.grow(depth+1, want-it.Size)
}

// finish seats the set of a depth in a game session to backfill, if none is chosen yet and
// one can take it, else in a new one.
func (a *attempt) finish(depth int) *search.Match {
	m := a.memory
	set, s := m.set[:depth+1], a.shared(depth)
	if !s.filled {
		for _, it := range m.candidates[depth] {
			if it.Ticket.Backfill && a.accepts(s, it) {
				m.set = append(set, it)
				if match := a.seat(); match != nil || a.cut {
					return match
				}
			}
		}
	}
	m.set = set
	return a.seat()
}

// possible reports whether a match could include the items: the shrinking rules without a
// column hold at some age that it can have.
func (a *attempt) possible(items ...*item) bool {
	if len(a.columns.shrinking) == 0 {
		return true
	}
	a.budget.placements--
	set := a.members(items)
	low, high := 0, a.worker.judge.LevelOf(set)
	if a.columns.oldest {
		low, high = high, len(a.columns.rs.Levels())-1
	}
	return a.worker.judge.Keeps(set, a.columns.shrinking, low, high)
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
	ways    ways      // to seat all players
	players int       // those of the game session included
	low     []float64 // by window
	high    []float64
}

// shared returns what the set of a depth has in common, to be read or overwritten.
func (a *attempt) shared(depth int) *shared {
	m := a.memory
	for len(m.shared) <= depth {
		n := len(a.columns.windows)
		m.shared = append(m.shared, &shared{low: make([]float64, n), high: make([]float64, n)})
	}
	return m.shared[depth]
}

// accepts reports whether a match could include a set and one more item, and counts the
// verdict of the columns.
func (a *attempt) accepts(s *shared, it *item) bool {
	c, seen := a.columns, a.worker.seen
	if it.Held > 0 && s.filled || c.teams.with(s.ways, it) == 0 {
		return false
	}
	level, cause := c.older(s.level, it.level), causeNone
	switch {
	case s.mask&it.maskAt(level) == 0:
		cause = causeLatency
	case s.levels&it.levels == 0:
		cause = causePerTicket
	case len(it.low) > 0:
		cause = s.outside(it, c.loosest[level])
	}
	seen[cause]++
	return cause == causeNone
}

// outside returns the cause of the first window that would not hold with one more item, or
// causeNone.
func (s *shared) outside(it *item, limits []float64) int {
	n := len(limits)
	low, high, low2, high2 := s.low[:n], s.high[:n], it.low[:n], it.high[:n]
	for i, limit := range limits {
		least, most := low[i], high[i]
		if low2[i] < least {
			least = low2[i]
		}
		if high2[i] > most {
			most = high2[i]
		}
		if most-least > limit {
			return causeWindow + i
		}
	}
	return causeNone
}

// join sets out to what a set with one more item, which it accepts, has in common.
func (a *attempt) join(s *shared, it *item, out *shared) {
	level := a.columns.older(s.level, it.level)
	low, high := out.low, out.high
	for i := range low {
		low[i], high[i] = min(s.low[i], it.low[i]), max(s.high[i], it.high[i])
	}
	*out = shared{level: level, levels: s.levels & it.levels, mask: s.mask & it.maskAt(level), filled: s.filled || it.Held > 0,
		ways: a.columns.teams.with(s.ways, it), players: s.players + it.Size + it.Held, low: low, high: high}
}
