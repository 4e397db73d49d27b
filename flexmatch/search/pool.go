package search

import (
	"container/heap"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Limits bound the effort of a Pool. The zero value of each means its default.
type Limits struct {
	Exact      int // pools of up to this many tickets are searched by the definition, only Work bounds them; default 40, -1 never
	Candidates int // tickets that may join, gathered around one ticket; default 64; 16 times as many are looked at
	Nodes      int // sets tried around one ticket; default 2000
	Placements int // placements judged for one set; default 300
	Work       int // steps of one Pass, after which the rest waits for the next; default 4 million, roughly a second

	// Clock and Time bound a Pass by time as well, when both are given: what is not
	// searched in Time by the Clock waits for the next. A fifth of it, as of Work,
	// is kept for tickets whose search was cut short before.
	Clock func() time.Time
	Time  time.Duration
}

// maxCuts is how often the bounds of a ticket's search are doubled.
const maxCuts = 4

// A placement judged, or a candidate judged by the evaluator, counts as so many
// steps; a set tried is one.
const judgement = 20

func (l Limits) defaults() Limits {
	for _, d := range []struct {
		at    *int
		value int
	}{{&l.Exact, 40}, {&l.Candidates, 64}, {&l.Nodes, 2000}, {&l.Placements, 300}, {&l.Work, 4_000_000}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	return l
}

// Pool keeps waiting tickets indexed and forms matches from them. Only tickets
// that are new, or whose age has changed the rules that apply to them, are
// searched around: a ticket around which no match was found can only be matched
// with one of those. A Pool is used by one goroutine.
type Pool struct {
	searcher
	columns *columns
	limits  Limits
	width   float64

	items     map[string]*item
	parts     map[string]*part
	backfills []*item // oldest first, not in parts
	dirty     []*item
	ripening  ripening

	exact    bool      // this pass runs by the definition
	deferred bool      // the last pass left tickets for the next
	left     int       // of Limits.Work in this pass
	reserve  int       // of it, for tickets whose search was cut before
	deadline time.Time // of this pass, by Limits.Clock
	hunt     hunt

	before    int   // Searches when this pass began
	evaluated []int // numbers of the rules that are counted

	// Counters of the effort, for metrics.
	Searches int // searches around a ticket
	Cut      int // of them, ended by a limit
	Rejected int // matches that the reference evaluator refused
}

// NewPool makes an empty pool.
func NewPool(rs *ruleset.RuleSet, opts Options, limits Limits) *Pool {
	p := &Pool{limits: limits.defaults(), items: map[string]*item{}, parts: map[string]*part{}}
	p.searcher = searcher{rs: rs, opts: opts, plan: planOf(rs)}
	p.columns = columnsOf(rs, p.plan)
	p.width = p.columns.width()
	p.hunt.Pool, p.hunt.oldest = p, rs.Algorithm.OldestAge
	p.evaluated, p.tally = Evaluated(rs), make(tally, len(rs.Level(0).Rules))
	return p
}

// Len counts the tickets of the pool.
func (p *Pool) Len() int { return len(p.items) }

// Pending tells whether a Pass at the time would search: tickets came, or reached
// a wait time, or the last Pass left some of its work.
func (p *Pool) Pending(now time.Time) bool {
	return len(p.dirty) > 0 || p.deferred || len(p.ripening) > 0 && p.ripening[0].at <= now.UnixNano()
}

// Ripens tells when the next ticket reaches a wait time of an expansion; false if
// none will.
func (p *Pool) Ripens() (time.Time, bool) {
	if len(p.ripening) == 0 || p.ripening[0].at == math.MaxInt64 {
		return time.Time{}, false
	}
	return time.Unix(0, p.ripening[0].at).UTC(), true
}

// Evaluations tells how often each rule of Evaluated was judged in the searches
// around a waiting ticket; zeros if there was none. Ask before Remove.
func (p *Pool) Evaluations(id string) []Evaluation {
	var t tally
	if it := p.items[id]; it != nil {
		t = it.tally
	}
	return t.evaluations(p.evaluated)
}

// Add puts a ticket into the pool. A ticket of the same id is replaced.
func (p *Pool) Add(t *Ticket) {
	p.Remove(t.ID)
	e, ok := prepare(p.rs, t)
	it := &item{entry: e, created: t.Created.UnixNano()}
	p.items[t.ID] = it
	if !ok {
		it.gone = true
		return
	}
	key, ok := p.columns.fill(it)
	if !ok {
		it.gone, it.tally = true, p.columns.alone(it)
		return
	}
	p.dirty = append(p.dirty, it)
	if len(p.rs.Levels()) > 1 {
		heap.Push(&p.ripening, it.next(p.rs))
	}
	if t.Backfill {
		at, _ := slices.BinarySearchFunc(p.backfills, it, compareAge)
		p.backfills = slices.Insert(p.backfills, at, it)
		return
	}
	in := p.parts[key]
	if in == nil {
		in = &part{key: key, buckets: map[int64]*bucket{}}
		p.parts[key] = in
	}
	in.add(it, p.width)
}

// Remove takes a ticket out; an unknown id is ignored.
func (p *Pool) Remove(id string) {
	it := p.items[id]
	if it == nil {
		return
	}
	delete(p.items, id)
	if it.gone {
		return
	}
	if it.ticket.Backfill {
		it.gone = true
		p.backfills = slices.DeleteFunc(p.backfills, func(o *item) bool { return o == it })
		return
	}
	if it.part.remove(it); it.part.live == 0 {
		delete(p.parts, it.part.key)
	}
}

// Pass forms the matches that are possible at a time and takes their tickets out.
func (p *Pool) Pass(now time.Time) []*Match {
	p.now = now
	p.ripen(now)
	if len(p.dirty) == 0 && !(p.rs.Large && p.deferred) {
		return nil // nothing changed, so nothing can match
	}
	if p.rs.Large {
		return p.passLarge()
	}
	p.exact = len(p.items) <= p.limits.Exact && !p.deferred
	p.deferred = false
	p.begin()
	seeds := p.seeds()
	if p.rs.Algorithm.BackfillPriority != ruleset.PriorityLow {
		return p.around(seeds, true)
	}
	matches := p.around(seeds, false)
	if len(p.backfills) == 0 {
		return matches
	}
	return append(matches, p.around(seeds, true)...)
}

// begin starts the bounds of a pass.
func (p *Pool) begin() {
	p.reserve = p.limits.Work / 5
	p.left = p.limits.Work - p.reserve
	p.before = p.Searches
	if p.limits.Clock != nil && p.limits.Time > 0 {
		p.deadline = p.limits.Clock().Add(p.limits.Time * 4 / 5)
	}
}

// over tells whether the time of the pass is.
func (p *Pool) over() bool {
	return !p.deadline.IsZero() && !p.limits.Clock().Before(p.deadline)
}

// retry gives the pass what was kept for tickets whose search was cut before.
func (p *Pool) retry() {
	if p.reserve == 0 {
		return
	}
	p.left, p.reserve = max(p.left, 0)+p.reserve, 0
	if !p.deadline.IsZero() {
		p.deadline = p.deadline.Add(p.limits.Time / 5)
	}
}

// seeds takes the tickets to search around, in order: all of a small pool; of a
// large one those that changed, then those whose search was cut.
func (p *Pool) seeds() []*item {
	var out []*item
	if p.exact {
		for _, it := range p.items {
			if !it.gone {
				out = append(out, it)
			}
		}
	} else {
		out = slices.DeleteFunc(p.dirty, func(it *item) bool { return it.gone })
	}
	p.dirty = nil
	p.sort(out)
	out = slices.Compact(out)
	if !p.exact {
		slices.SortStableFunc(out, func(a, b *item) int { return min(a.cuts, 1) - min(b.cuts, 1) })
	} else {
		entries := make([]*entry, len(out))
		for i, it := range out {
			entries[i], it.level = it.entry, p.levelOf(it.entry)
		}
		markAlike(p.rs, entries)
	}
	return out
}

// sort orders items by priority, then age.
func (p *Pool) sort(items []*item) {
	if len(p.backfills) == 0 || p.rs.Algorithm.BackfillPriority == ruleset.PriorityNormal {
		slices.SortFunc(items, compareAge)
		return
	}
	slices.SortFunc(items, func(a, b *item) int {
		if d := priority(p.rs, a.entry) - priority(p.rs, b.entry); d != 0 {
			return d
		}
		return compareAge(a, b)
	})
}

// around searches around each seed that is still waiting.
func (p *Pool) around(seeds []*item, backfill bool) []*Match {
	var matches []*Match
	for _, seed := range seeds {
		if seed.gone || seed.ticket.Backfill && !backfill {
			continue
		}
		if seed.cuts > 0 {
			p.retry()
		}
		if p.left > 0 && p.over() {
			p.left = 0
		}
		if p.left <= 0 {
			p.again(seed)
			continue
		}
		if m := p.search(seed, backfill); m != nil {
			matches = append(matches, m)
			for _, t := range m.Tickets {
				p.Remove(t.ID)
			}
		}
	}
	return matches
}

// search runs one search and keeps count of it.
func (p *Pool) search(seed *item, backfill bool) *Match {
	h := &p.hunt
	h.cut, h.late = false, false
	clear(p.tally)
	h.nodes = p.limits.Nodes << seed.cuts
	h.leaves = 4 * p.limits.Placements << seed.cuts
	if p.exact {
		h.nodes, h.leaves = p.left, p.left/judgement
	}
	nodes, leaves := h.nodes, h.leaves
	p.candidates(seed, backfill)
	m := h.best(seed)
	p.Searches++
	p.left -= 1 + nodes - h.nodes + judgement*(leaves-h.leaves)
	h.seen.into(p.tally, p.columns)
	if m != nil {
		m.Evaluations = p.tally.evaluations(p.evaluated)
		return m
	}
	seed.tally = seed.tally.plus(p.tally)
	if h.cut {
		p.shorten(seed)
	}
	return nil
}

// shorten puts a ticket whose search was cut in line for another, with more
// effort; with the same if it was only late in the pass.
func (p *Pool) shorten(seed *item) {
	p.Cut++
	switch {
	case p.hunt.late && p.Searches > p.before+1:
		p.again(seed)
	case seed.cuts < maxCuts:
		seed.cuts++
		p.again(seed)
	}
}

func (p *Pool) again(seed *item) {
	p.deferred = true
	p.dirty = append(p.dirty, seed)
}

// candidates gathers the tickets that could join a seed, in order of preference.
func (p *Pool) candidates(seed *item, backfill bool) {
	h := &p.hunt
	h.start(seed)
	out, st := h.list(0), hold{}
	most := p.limits.Candidates << seed.cuts
	if p.exact {
		most = len(p.items)
	}
	looks := 16 * most
	take := func(it *item) bool {
		if it != seed && h.join(&h.stack[0], it, &st) && h.possible(seed, it) {
			out = append(out, it)
		}
		looks--
		return len(out) < most && looks > 0
	}
	p.walk(seed, take)
	if p.exact {
		p.countApart(seed)
	}
	if backfill && !seed.ticket.Backfill && len(p.backfills) > 0 {
		key, _ := p.columns.key(seed.entry)
		for _, it := range p.backfills[:min(len(p.backfills), most)] {
			if other, ok := p.columns.key(it.entry); ok && other == key {
				take(it)
			}
		}
		p.sort(out)
	}
	h.sortBy(seed, out)
	h.lists[0], h.short = out, looks <= 0 || len(out) >= most && !p.exact
}

// walk visits the seed's neighbours, oldest first.
func (p *Pool) walk(seed *item, take func(*item) bool) {
	in := seed.part
	if in == nil { // backfill stands in no part
		key, _ := p.columns.key(seed.entry)
		if in = p.parts[key]; in == nil {
			return
		}
	}
	around := p.span(seed)
	in.walk(&around, p.width, take)
	if !p.exact {
		p.hunt.seen[causeLatency] += around.deaf
		p.hunt.seen[causeWindow] += around.far
	}
}

// span is where the index looks for a seed's neighbours.
func (p *Pool) span(seed *item) span {
	around := span{low: math.Inf(-1), high: math.Inf(1), mask: seed.mask}
	if p.width > 0 {
		reach := slices.Max(p.columns.windows[0].limit)
		reach += 1e-9 * (reach + math.Abs(seed.low[0]) + math.Abs(seed.high[0])) // rounding must not hide a neighbour
		around.low, around.high = seed.high[0]-reach, seed.low[0]+reach
	}
	return around
}

// countApart counts what the index kept from a seed without looking at it: of a
// small pool, each ticket on its own.
func (p *Pool) countApart(seed *item) {
	around := p.span(seed)
	key, _ := p.columns.key(seed.entry)
	for _, it := range p.items {
		switch {
		case it == seed || it.gone || it.ticket.Backfill:
		case it.part.key != key:
			p.hunt.seen[causePartition]++
		case it.mask&around.mask == 0:
			p.hunt.seen[causeLatency]++
		case it.low[0] < around.low || it.high[0] > around.high:
			p.hunt.seen[causeWindow]++
		}
	}
}

// passLarge forms large matches; the group sort is the index. When its work is
// used up the rest waits: what is matched until then is gone from the next pass.
func (p *Pool) passLarge() []*Match {
	p.dirty = nil
	var pool []*entry
	for _, it := range p.items {
		if !it.gone {
			pool = append(pool, it.entry)
		}
	}
	p.left = 10 * p.limits.Work // a ticket looked at here costs less than a set tried
	p.budget = &p.left
	matches := p.large(pool)
	p.deferred = p.left < 0 && len(matches) > 0
	for _, m := range matches {
		for _, t := range m.Tickets {
			p.Remove(t.ID)
		}
	}
	return matches
}
