package search

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// clockEvery is the number of steps between two readings of the clock.
const clockEvery = 64

// hunt is the search for the best match around one item, with the memory that a worker
// reuses for many.
type hunt struct {
	searcher
	columns  *columns
	limits   Limits
	width    float64
	exact    bool // exhaustive search
	packable bool // the rule set can be packed
	backfill bool // game sessions may be backfilled
	deadline time.Time
	pool     *Pool // for counting all items, in an exact pass

	part    *part
	walk    walk
	placing placement

	searches, cuts, rejected int // of the pass

	set    []*item
	stack  []hold
	near   []*item   // candidates from the index
	lists  [][]*item // remaining candidates, by depth
	oldest bool      // the oldest ticket's age counts
	sizes  []*entry  // the set, for placing
	taken  []*item   // the set of the match found last
	asked  []*entry  // a set for the evaluator

	nodes, leaves int  // left before the search is cut short
	granted       int  // steps at the start of the search
	looks         int  // items that the walk returned
	short         bool // not all candidates were gathered
	filling       bool // a game session is among the candidates
	cut           bool // some of the search was left out
	late          bool // cut because the pass ran out of time

	seen causes // verdicts of columns not yet added to the tally
}

func newHunt(p *Pool) *hunt {
	h := &hunt{searcher: p.searcher, columns: p.columns, limits: p.limits, width: p.width, pool: p, oldest: p.rs.Algorithm.OldestAge}
	h.tally = make(tally, len(p.rs.Level(0).Rules))
	h.placing.tooLate = h.tooLate
	h.packable = p.columns.packable(p.plan, p.opts)
	return h
}

func (h *hunt) start(seed *item) {
	h.set = append(h.set[:0], seed)
	st := hold{level: seed.level, levels: seed.levels, mask: seed.maskAt(seed.level), filled: seed.held > 0, low: seed.low, high: seed.high}
	st.ways, st.seated = h.columns.roster.with(nobody, seed.entry), seed.size+seed.held
	h.stack = append(h.stack[:0], st)
}

// best returns the best match of the seed and its candidates with at least that many new
// players. It returns nil if there is none, or if the search was cut short.
func (h *hunt) best(seed *item, least int) *Match {
	candidates := h.lists[0]
	least = max(least, seed.size, 1, h.columns.least-h.mostHeld(seed, candidates))
	for size := h.room(seed); size >= least; size-- {
		if !h.reaches(&h.stack[0], candidates, size-seed.size) {
			continue
		}
		if m := h.grow(0, size-seed.size); m != nil || h.cut {
			return m
		}
	}
	return nil
}

// room returns the most new players in a match of the seed, its own included.
func (h *hunt) room(seed *item) int {
	return h.columns.most - h.opts.AdditionalPlayerCount - seed.held
}

// mostHeld returns the most players that a game session could bring into the match.
func (h *hunt) mostHeld(seed *item, candidates []*item) int {
	n := seed.held
	for _, it := range candidates {
		n = max(n, it.held)
	}
	return n
}

// possible reports whether the items could be in one match by the shrinking rules without
// a column.
func (h *hunt) possible(items ...*item) bool {
	if len(h.columns.shrinking) == 0 {
		return true
	}
	h.leaves--
	h.asked = h.asked[:0]
	for _, it := range items {
		h.asked = append(h.asked, it.entry)
	}
	return h.hopeful(h.asked)
}

func (h *hunt) list(depth int) []*item {
	for len(h.lists) <= depth {
		h.lists = append(h.lists, nil)
	}
	return h.lists[depth][:0]
}

// reaches reports whether, judging by sizes of parties and teams, some of the items could
// add that many players to a set.
func (h *hunt) reaches(st *hold, items []*item, players int) bool {
	enough := st.filled || !h.filling // players of a game session can still fill teams
	return h.columns.roster.reaches(st.ways, items, h.columns.roster.of(st.seated+players, enough))
}

// grow adds candidates of a depth, earlier ones first, until the wanted number of players
// has joined.
func (h *hunt) grow(depth, want int) *Match {
	list := h.lists[depth]
	if want == 0 {
		return h.finish(list)
	}
	var tried map[int]bool
	for i, it := range list {
		if i > 0 && !h.reaches(&h.stack[depth], list[i:], want) {
			return nil
		}
		if it.size > want || tried[it.alike] {
			continue
		}
		if h.nodes--; h.nodes < 0 || h.tooLate(h.nodes) {
			h.cut = true
			return nil
		}
		if m := h.with(depth, i, want); m != nil || h.cut {
			return m
		}
		if h.exact {
			if tried == nil {
				tried = map[int]bool{}
			}
			tried[it.alike] = true
		}
	}
	return nil
}

// tooLate reports whether the time of the pass has expired. It reads the clock every
// clockEvery steps.
func (h *hunt) tooLate(steps int) bool {
	if h.deadline.IsZero() || steps%clockEvery != 0 {
		return false
	}
	h.late = h.late || !h.limits.Clock().Before(h.deadline)
	return h.late
}

// with tries to add the i-th candidate of a depth.
func (h *hunt) with(depth, i, want int) *Match {
	list := h.lists[depth]
	it := list[i]
	var st hold
	if !h.join(&h.stack[depth], it, &st) {
		return nil
	}
	h.set = append(h.set, it)
	h.stack = append(h.stack, st)
	m := h.onward(depth, i, want)
	h.set, h.stack = h.set[:len(h.set)-1], h.stack[:len(h.stack)-1]
	return m
}

// onward continues after the i-th candidate of a depth has joined.
func (h *hunt) onward(depth, i, want int) *Match {
	list := h.lists[depth]
	it, st := list[i], &h.stack[len(h.stack)-1]
	if len(h.columns.shrinking) > 0 && !h.possible(h.set...) {
		return nil
	}
	next := h.list(depth + 1)
	if want > it.size || h.filling {
		var probe hold
		for _, other := range list[i+1:] {
			if h.join(st, other, &probe) {
				next = append(next, other)
			}
		}
	}
	h.lists[depth+1] = next
	if !h.reaches(st, next, want-it.size) {
		return nil
	}
	return h.grow(depth+1, want-it.size)
}

// finish places the players in a game session to backfill, if none is chosen yet and one
// can take them, else in a new one.
func (h *hunt) finish(list []*item) *Match {
	if !h.stack[len(h.stack)-1].filled {
		for _, it := range list {
			var st hold
			if it.ticket.Backfill && h.join(&h.stack[len(h.stack)-1], it, &st) {
				h.set = append(h.set, it)
				m := h.place()
				h.set = h.set[:len(h.set)-1]
				if m != nil || h.cut {
					return m
				}
			}
		}
	}
	return h.place()
}

// hopeful reports whether the shrinking rules without a column hold at some age that the
// match can have.
func (h *hunt) hopeful(set []*entry) bool {
	l := h.seats.together(h.rs, set)
	now := h.rs.LevelAt(age(h.rs, set, h.now))
	low, high := 0, now
	if h.rs.Algorithm.OldestAge {
		low, high = now, len(h.rs.Levels())-1
	}
	return slices.ContainsFunc(h.rs.Levels()[low:high+1], func(level *ruleset.Level) bool {
		return h.keeps(level, l, h.columns.shrinking)
	})
}
