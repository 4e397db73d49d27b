package search

import (
	"container/heap"
	"math"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Pool indexes waiting tickets and forms matches from them. It searches only around
// tickets that are new, or to which other rules apply since they have aged: a ticket
// around which no match was found can only be matched with one of those. A Pool must not
// be used concurrently.
type Pool struct {
	searcher
	columns *columns
	limits  Limits
	width   float64

	items    map[string]*item
	parts    map[string]*part
	filling  int // waiting backfill tickets
	dirty    []*item
	ripening ripening
	hunts    []*hunt // one for each worker
	rations  ration  // of large matches

	exact     bool      // this pass is exhaustive
	deferred  bool      // the last pass left work for the next
	deadline  time.Time // of this pass, by Limits.Clock
	evaluated []int     // the rules that are counted

	// Counters of the effort, for metrics.
	Searches int // searches around a ticket
	Cut      int // of these, cut short by a limit
	Rejected int // matches that the reference evaluator refused
}

// NewPool returns an empty pool.
func NewPool(rs *ruleset.RuleSet, opts Options, limits Limits) *Pool {
	p := &Pool{limits: limits.defaults(), items: map[string]*item{}, parts: map[string]*part{}}
	p.searcher = searcher{rs: rs, opts: opts, plan: planOf(rs)}
	p.columns = columnsOf(rs, p.plan)
	p.width = p.columns.width()
	p.evaluated = Evaluated(rs)
	p.rations = ration{from: map[string]int{}, stirred: map[string]bool{}}
	return p
}

// Len returns the number of tickets in the pool.
func (p *Pool) Len() int { return len(p.items) }

// Pending reports whether a Pass at the time would search: tickets were added or have
// reached a wait time, or the last Pass left some of its work.
func (p *Pool) Pending(now time.Time) bool {
	return len(p.dirty) > 0 || p.deferred || len(p.ripening) > 0 && p.ripening[0].at <= now.UnixNano()
}

// Ripens returns when the next ticket reaches a wait time of an expansion, and false if
// none will.
func (p *Pool) Ripens() (time.Time, bool) {
	if len(p.ripening) == 0 || p.ripening[0].at == math.MaxInt64 {
		return time.Time{}, false
	}
	return time.Unix(0, p.ripening[0].at).UTC(), true
}

// Evaluations returns how often each rule of Evaluated was judged in the searches around
// a waiting ticket: zeros if there was none, or after Remove.
func (p *Pool) Evaluations(id string) []Evaluation {
	var t tally
	if it := p.items[id]; it != nil {
		t = it.tally
	}
	return t.evaluations(p.evaluated)
}

// Add adds a ticket to the pool, replacing one with the same id.
func (p *Pool) Add(t *Ticket) {
	p.Remove(t.ID)
	e, ok := prepare(p.rs, t)
	it := &item{entry: e, created: t.Created.UnixNano()}
	p.items[t.ID] = it
	if !ok {
		it.gone = true
		return
	}
	it.size, it.held = e.size, e.held
	key, ok := p.columns.fill(it)
	if !ok {
		it.gone, it.tally = true, p.columns.alone(it)
		return
	}
	p.dirty = append(p.dirty, it)
	if len(p.rs.Levels()) > 1 {
		heap.Push(&p.ripening, it.next(p.rs))
	}
	in := p.parts[key]
	if in == nil {
		in = &part{key: key, buckets: map[int64]*bucket{}}
		p.parts[key] = in
	}
	if t.Backfill {
		p.filling++
	}
	in.add(it, p.width)
}

// Remove removes a ticket. An unknown id is ignored.
func (p *Pool) Remove(id string) {
	it := p.items[id]
	if it == nil {
		return
	}
	if !it.gone {
		it.part.remove(it)
	}
	p.forget(id)
}

// forget drops the pool's own records of a ticket that is no longer in a part.
func (p *Pool) forget(id string) {
	it := p.items[id]
	delete(p.items, id)
	if it.part == nil {
		return
	}
	if it.ticket.Backfill {
		p.filling--
	}
	if it.part.empty() && p.parts[it.part.key] == it.part {
		delete(p.parts, it.part.key)
	}
}

// passLarge forms large matches, without an index. When its steps are used up, the rest
// is left to the next pass.
func (p *Pool) passLarge() []*Match {
	if len(p.dirty) > 0 {
		p.rations.stir()
	}
	p.dirty = nil
	var pool []*entry
	for _, it := range p.items {
		if !it.gone {
			pool = append(pool, it.entry)
		}
	}
	p.ration = &p.rations
	p.rations.begin(10 * p.limits.Work) // examining a ticket costs less than trying a set
	matches := p.large(pool)
	p.deferred = p.rations.more
	for _, m := range matches {
		for _, t := range m.Tickets {
			p.Remove(t.ID)
		}
	}
	return matches
}
