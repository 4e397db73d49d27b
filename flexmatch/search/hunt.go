package search

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// clockEvery is after how many steps a search looks at the clock.
const clockEvery = 64

// hunt is the search for the best match around one item, and what a worker needs
// for many such searches.
type hunt struct {
	searcher
	columns  *columns
	limits   Limits
	width    float64
	exact    bool // by the definition
	packable bool // the rule set is
	backfill bool // game sessions may be filled
	deadline time.Time
	pool     *Pool // for what stands in no part, in a pass that is exact

	part    *part
	walk    walk
	placing placement

	searches, cuts, rejected int // of the pass

	set    []*item
	stack  []hold
	near   []*item   // candidates from the index
	lists  [][]*item // candidates left, by depth
	oldest bool      // the oldest ticket's age counts
	sizes  []*entry  // the set, for placing
	taken  []*item   // the set of the match found last
	asked  []*entry  // a set that the evaluator is asked about

	nodes, leaves int  // left before the search is cut
	granted       int  // steps at its start
	looks         int  // items that the walk gave
	short         bool // not all candidates were gathered
	filling       bool // a game session is among them
	cut           bool // some of the search was left out
	late          bool // it was cut because the time of the pass is over

	seen causes // verdicts of columns, until they go into the tally
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

// best finds the best match of the seed and the candidates gathered for it, of at
// least so many new players; nil if there is none, or if the search was cut short.
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

// room gives the most players that could join a seed, itself included.
func (h *hunt) room(seed *item) int {
	return h.columns.most - h.opts.AdditionalPlayerCount - seed.held
}

// mostHeld gives the most players that a game session could bring into the match.
func (h *hunt) mostHeld(seed *item, candidates []*item) int {
	n := seed.held
	for _, it := range candidates {
		n = max(n, it.held)
	}
	return n
}

// possible asks the evaluator about rules that no column answers.
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

// reaches tells whether some of the items could bring so many players into a set,
// as far as the sizes of parties and teams go.
func (h *hunt) reaches(st *hold, items []*item, players int) bool {
	enough := st.filled || !h.filling // players of a game session can fill up teams
	return h.columns.roster.reaches(st.ways, items, h.columns.roster.of(st.seated+players, enough))
}

// grow adds candidates of a depth until the wanted number of players has joined,
// earlier ones first.
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

// tooLate looks at the clock once in a while; true when the time of the pass is over.
func (h *hunt) tooLate(steps int) bool {
	if h.deadline.IsZero() || steps%clockEvery != 0 {
		return false
	}
	h.late = h.late || !h.limits.Clock().Before(h.deadline)
	return h.late
}

// with tries the i-th candidate of a depth.
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

// onward goes on after the i-th candidate of a depth has joined.
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

// finish lets a game session have the players, if none is chosen and one can;
// else a new one.
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

// hopeful asks whether the rules without a column can still hold at some age.
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
