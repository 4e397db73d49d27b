package placement

import (
	"slices"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// maxProposals bounds how many game sessions one plan places.
const maxProposals = 256

// Plan is what to do now.
type Plan struct {
	Proposals []Proposal
	// Wake is when waiting alone may let something be placed that could not be
	// now, because a latency cap changes; zero means never.
	Wake time.Time
}

// Proposal is a place for one placement.
type Proposal struct {
	PlacementID string
	Place       Place
	Round       Round
}

// capacity is what a plan asks about the world besides its own rows.
type capacity interface {
	// resolve gives the fleet that a destination ARN leads to now, or why none.
	resolve(r store.Reader, destination string) (*fleet.Fleet, Outcome)
	// free counts free processes of a fleet's location, as far as most.
	free(r store.Reader, f *fleet.Fleet, location string, most int) int
}

// planner makes one plan from one snapshot at one moment.
type planner struct {
	t     *tables
	r     store.Reader
	world capacity
	now   time.Time
	left  map[Place]int // free processes not yet proposed
	lines []*line
	plan  Plan
}

// line is a queue with its waiting placements, oldest first.
type line struct {
	queue      *Queue
	candidates []candidate
	next       func() (*Placement, bool)
	stop       func()
}

// plan decides for all waiting placements, taking queues in turns so that a
// long one does not starve others of the fleets they share; turn says which
// comes first. Within a queue the oldest comes first, and one that cannot be
// placed does not hold up those behind it.
func plan(t *tables, r store.Reader, world capacity, now time.Time, turn int) Plan {
	p := &planner{t: t, r: r, world: world, now: now, left: map[Place]int{}}
	p.open(turn)
	defer p.close()
	for len(p.lines) > 0 && len(p.plan.Proposals) < maxProposals {
		p.lines = slices.DeleteFunc(p.lines, func(l *line) bool {
			more := p.step(l)
			if !more {
				l.stop()
			}
			return !more
		})
	}
	return p.plan
}

// open forms a line for each queue that has something waiting and free processes.
func (p *planner) open(turn int) {
	for q := range p.t.queues.All(p.r) {
		if p.t.waiting.FirstPrefix(p.r, store.Key(q.Name)) == nil {
			continue
		}
		l := &line{queue: q, candidates: p.candidates(q)}
		if p.roomFor(l) {
			l.next, l.stop = pull(p.t.waiting.Prefix(p.r, store.Key(q.Name)))
			p.lines = append(p.lines, l)
		}
	}
	if n := len(p.lines); n > 0 {
		at := turn % n
		p.lines = slices.Concat(p.lines[at:], p.lines[:at])
	}
}

func (p *planner) close() {
	for _, l := range p.lines {
		l.stop()
	}
}

// candidates gives every place that a queue's destinations lead to.
func (p *planner) candidates(q *Queue) []candidate {
	var cs []candidate
	for i, destination := range q.Destinations {
		f, why := p.world.resolve(p.r, destination)
		if f == nil {
			cs = append(cs, candidate{Place: Place{FleetID: destination}, destination: i, usable: why})
			continue
		}
		for _, l := range f.Locations {
			c := candidate{Place: Place{f.ID, l.Location}, destination: i, cost: price(f.Cost)}
			switch {
			case f.Status != fleet.Active || l.Status != fleet.Active:
				c.usable = FleetNotActive
			case !q.allows(l.Location):
				c.usable = NotAllowed
			default:
				p.count(c.Place, f)
			}
			cs = append(cs, c)
		}
	}
	return cs
}

// count notes how many processes are free at a place, once a plan.
func (p *planner) count(at Place, f *fleet.Fleet) {
	if _, known := p.left[at]; !known {
		p.left[at] = p.world.free(p.r, f, at.Location, maxProposals)
	}
}

func (p *planner) roomFor(l *line) bool {
	return slices.ContainsFunc(l.candidates, func(c candidate) bool { return c.usable == "" && p.left[c.Place] > 0 })
}

// step considers the next placement of a line and tells whether the line goes on.
func (p *planner) step(l *line) bool {
	if len(p.plan.Proposals) == maxProposals || !p.roomFor(l) {
		return false
	}
	waiting, ok := l.next()
	if !ok {
		return false
	}
	if !waiting.Deadline.After(p.now) {
		return true // the loop times it out
	}
	x := newJudge(l.queue, waiting, p.t.requests.Get(p.r, waiting.ID), p.now)
	best := p.best(x, l.candidates)
	if best == nil {
		p.wakeFor(x, waiting)
		return true
	}
	p.left[best.Place]--
	p.plan.Proposals = append(p.plan.Proposals, Proposal{waiting.ID, best.Place, p.round(x, l.candidates, best)})
	return true
}

// best gives the candidate with room that comes first, or nil. It looks at each
// once, without sorting them.
func (p *planner) best(x *judge, cs []candidate) *candidate {
	var best *candidate
	for i := range cs {
		c := &cs[i]
		if p.left[c.Place] > 0 && x.forbids(*c) == "" && (best == nil || x.rank.compare(*c, *best) < 0) {
			best = c
		}
	}
	return best
}

// wakeFor has the loop look again when the cap changes that held a placement back.
func (p *planner) wakeFor(x *judge, waiting *Placement) {
	if x.capUntil == 0 {
		return
	}
	at := waiting.Started.Add(x.capUntil)
	if p.plan.Wake.IsZero() || at.Before(p.plan.Wake) {
		p.plan.Wake = at
	}
}

// round describes a decision: the candidates in order up to the chosen one, or
// all of them where chosen is nil.
func (p *planner) round(x *judge, cs []candidate, chosen *candidate) Round {
	sorted := slices.Clone(cs)
	x.rank.sort(sorted)
	round := Round{At: p.now, Cap: x.cap, Result: "no candidate has a free process that the rules allow"}
	for _, c := range sorted {
		if chosen != nil && c.Place == chosen.Place {
			round.Candidates = append(round.Candidates, x.verdict(c, Chosen))
			round.Result = "placed on " + c.FleetID + " in " + c.Location
			break
		}
		outcome := x.forbids(c)
		if outcome == "" {
			outcome = NoFreeProcess
		}
		round.Candidates = append(round.Candidates, x.verdict(c, outcome))
	}
	return round
}
