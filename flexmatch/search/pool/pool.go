package pool

import (
	"cmp"
	"container/heap"
	"runtime"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/large"
)

// Limits bounds the effort of a Pool. A zero member means its default.
type Limits struct {
	Exact      int // pools of up to this many tickets are searched exhaustively, bounded only by Work; default 40, -1 for never
	Candidates int // candidates gathered around one ticket; default 64; up to 16 times as many are examined
	Nodes      int // sets tried around one ticket; default 2000
	Placements int // placements judged for one set; default 300
	Work       int // steps of one Pass, after which the rest is left to the next; default 4 million, roughly a second
	Workers    int // partitions searched concurrently, without effect on the result; default one per processor, at most 8

	// Clock and Time, if both are set, also bound a Pass by time: the search that is not
	// done after Time is left to the next. A fifth of Time, as of Work, is reserved for
	// tickets whose search was cut short before. Clock must be safe for concurrent use.
	Clock func() time.Time
	Time  time.Duration
}

func (l Limits) defaults() Limits {
	l.Exact = cmp.Or(l.Exact, 40)
	l.Candidates = cmp.Or(l.Candidates, 64)
	l.Nodes = cmp.Or(l.Nodes, 2000)
	l.Placements = cmp.Or(l.Placements, 300)
	l.Work = cmp.Or(l.Work, 4_000_000)
	l.Workers = cmp.Or(l.Workers, min(8, runtime.GOMAXPROCS(0)))
	return l
}

// Pool indexes waiting tickets and forms matches from them. It searches only around
// tickets that are new, or to which other rules apply since they have aged: a ticket
// around which no match was found can only be matched with one of those. A Pool must not
// be used concurrently.
type Pool struct {
	rules   *search.Rules
	columns *columns
	limits  Limits

	items      map[string]*item
	partitions map[string]*partition
	backfills  int     // waiting backfill tickets
	changed    []*item // to search around in the next pass
	expansions expansions
	deferred   bool // the last pass left work for the next
	patience   int  // the steps that an exhaustive search may take: fewer if the last ones needed more
	settled    bool // no match is possible without one of changed: the last pass was exhaustive

	workers []*worker
	atOnce  int           // workers that a pass may use; at most Limits.Workers
	large   *large.Search // of a rule set of large matches

	Effort      // so far
	ended  bool // the pass has been ended by its bounds
}

// New returns an empty pool.
func New(rs *ruleset.RuleSet, opts search.Options, limits Limits) *Pool {
	p := &Pool{rules: search.RulesOf(rs, opts), limits: limits.defaults(), settled: true, items: map[string]*item{}, partitions: map[string]*partition{}}
	p.columns, p.patience, p.atOnce = columnsOf(p.rules), p.mostPatience(), p.limits.Workers
	if rs.Large {
		p.large = large.New(p.rules)
	}
	return p
}

// Reference returns the matches of the definition, of large matches too.
func Reference(rs *ruleset.RuleSet, opts search.Options, tickets []*search.Ticket, now time.Time) []*search.Match {
	if rs.Large {
		return large.Pass(rs, opts, tickets, now)
	}
	return search.Pass(rs, opts, tickets, now)
}

// Len returns the number of tickets in the pool.
func (p *Pool) Len() int { return len(p.items) }

// Pending reports whether a Pass at the time would search: tickets were added or have
// reached a wait time, or the last Pass left some of its work.
func (p *Pool) Pending(now time.Time) bool {
	return len(p.changed) > 0 || p.deferred || len(p.expansions) > 0 && p.expansions[0].expands <= now.UnixNano()
}

// NextExpansion returns when the next ticket reaches a wait time of an expansion, and
// false if none will.
func (p *Pool) NextExpansion() (time.Time, bool) {
	if len(p.expansions) == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, p.expansions[0].expands).UTC(), true
}

// Counts returns how often each rule was judged in the searches around a waiting ticket:
// zeros if there was none, or after Remove.
func (p *Pool) Counts(id string) []search.RuleCount {
	var t search.Tally
	if it := p.items[id]; it != nil {
		t = it.tally
	}
	return t.Counts(p.rules.Set)
}

// Add adds a ticket to the pool, replacing one with the same id.
func (p *Pool) Add(t *search.Ticket) {
	p.Remove(t.ID)
	it := &item{created: t.Created.UnixNano(), arrival: t.Arrival}
	p.items[t.ID] = it
	if !it.Prepare(p.rules.Set, t) {
		it.gone = true
		return
	}
	key, ok := p.columns.fill(it)
	if !ok {
		it.gone, it.tally = true, p.columns.alone(it)
		return
	}
	p.changed = append(p.changed, it)
	p.expansions.await(it, p.rules.Set)
	in := p.partitions[key]
	if in == nil {
		in = &partition{key: key, buckets: map[int64]*bucket{}, places: mostPlacings}
		p.partitions[key] = in
	}
	if t.Backfill {
		p.backfills++
	}
	in.add(it, p.columns)
}

// Hopeless reports whether a ticket of the pool can never be matched, as far as that follows from its
// own players. Of an unknown id it is false.
func (p *Pool) Hopeless(id string) bool {
	it := p.items[id]
	return it != nil && (it.gone || !it.Ticket.Backfill && it.Size > p.columns.largest)
}

// Remove removes a ticket. An unknown id is ignored.
func (p *Pool) Remove(id string) {
	it := p.items[id]
	if it == nil {
		return
	}
	if !it.gone {
		it.partition.remove(it)
	}
	p.forget(id, it.partition, it.Ticket.Backfill)
}

// forget drops the pool's own records of a ticket that is no longer in its partition.
func (p *Pool) forget(id string, in *partition, backfill bool) {
	delete(p.items, id)
	if in != nil {
		p.left(in, backfill)
	}
}

// left notes that a ticket has left a partition.
func (p *Pool) left(in *partition, backfill bool) {
	if backfill {
		p.backfills--
	}
	if in.empty() && p.partitions[in.key] == in {
		delete(p.partitions, in.key)
	}
}

// forgetMatched drops the pool's own records of all tickets of matches, which are no longer
// in their partitions.
func (p *Pool) forgetMatched(all []formed) {
	tickets := 0
	for _, f := range all {
		tickets += len(f.match.Tickets)
	}
	if tickets <= len(p.items)/2 {
		for _, f := range all {
			for _, t := range f.match.Tickets {
				p.forget(t.ID, f.partition, t.Backfill)
			}
		}
		return
	}
	kept := make(map[string]*item, len(p.items)-tickets)
	for id, it := range p.items {
		if !it.gone || it.partition == nil { // waits, or can never be matched
			kept[id] = it
		}
	}
	p.items = kept
	for _, f := range all {
		for _, team := range f.match.Teams {
			p.left(f.partition, team < 0)
		}
	}
}

// expansions is a heap of the items that have another level ahead, by item.expands.
type expansions []*item

func (e expansions) Len() int           { return len(e) }
func (e expansions) Less(i, j int) bool { return e[i].expands < e[j].expands }
func (e expansions) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *expansions) Push(x any)        { *e = append(*e, x.(*item)) }
func (e *expansions) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// await adds an item, unless it has reached its last level.
func (e *expansions) await(it *item, rs *ruleset.RuleSet) {
	if next := int(it.level) + 1; next < len(rs.Levels()) {
		it.expands = it.created + int64(rs.Levels()[next].From)
		heap.Push(e, it)
	}
}

// expand updates the level of items that have reached a wait time, and marks them to be
// searched around again.
func (p *Pool) expand(now time.Time) {
	for len(p.expansions) > 0 && p.expansions[0].expands <= now.UnixNano() {
		it := heap.Pop(&p.expansions).(*item)
		if it.gone {
			continue
		}
		it.level = int32(it.LevelAt(p.rules.Set, now))
		if b := it.bucket; b != nil {
			b.items[b.find(it)].level = it.level
		}
		it.cuts, it.short = 0, 0
		p.changed = append(p.changed, it)
		p.expansions.await(it, p.rules.Set)
	}
}
