package placement

import (
	"maps"
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
	Held      held // for the next plan
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
	most  int           // free processes to count at a place: no more can be used
	left  map[Place]int // free processes not yet proposed
	lines []*line
	plan  Plan
}

func newPlanner(t *tables, r store.Reader, world capacity, now time.Time) *planner {
	return &planner{t: t, r: r, world: world, now: now, most: maxProposals, left: map[Place]int{}}
}

// plan decides for all waiting placements, taking queues in turns so that a
// long one does not starve others of the fleets they share; turn says which
// comes first. Within a queue the oldest comes first, and one that cannot be
// placed does not hold up those behind it. What an earlier plan found held back
// is not looked at again before something changes for it; without that
// knowledge (nil) the proposals are the same.
func plan(t *tables, r store.Reader, world capacity, now time.Time, turn int, known held) Plan {
	p := newPlanner(t, r, world, now)
	p.plan.Held = held{}
	maps.Copy(p.plan.Held, known)
	p.open(turn)
	for _, l := range p.lines {
		l.resume(known[l.queue.Name], p)
	}
	for open := p.lines; len(open) > 0 && len(p.plan.Proposals) < maxProposals; {
		open = slices.DeleteFunc(slices.Clone(open), func(l *line) bool { return !p.step(l) })
	}
	for _, l := range p.lines {
		p.plan.Held[l.queue.Name] = l.hold(p)
	}
	return p.plan
}

// open forms a line for each queue that has something waiting and free processes.
func (p *planner) open(turn int) {
	var lines []*line
	waiting := 0
	for q := range p.t.queues.All(p.r) {
		l := newLine(p, q)
		if l.fill(); len(l.ahead) > 0 {
			lines = append(lines, l)
			waiting += len(l.ahead)
		}
	}
	if waiting < readAhead { // no queue has more than it read
		p.most = waiting
	}
	for _, l := range lines {
		l.candidates = p.candidates(l.queue)
		if p.roomFor(l) {
			p.lines = append(p.lines, l)
		}
	}
	if n := len(p.lines); n > 0 {
		at := turn % n
		p.lines = slices.Concat(p.lines[at:], p.lines[:at])
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
		p.left[at] = p.world.free(p.r, f, at.Location, p.most)
	}
}

// room tells whether a process is left at a candidate that can be used at all.
func (p *planner) room(c *candidate) bool { return c.usable == "" && p.left[c.Place] > 0 }

func (p *planner) roomFor(l *line) bool {
	for i := range l.candidates {
		if p.room(&l.candidates[i]) {
			return true
		}
	}
	return false
}

// step proposes a place for the next of a line that can be placed, and tells
// whether the line goes on.
func (p *planner) step(l *line) bool {
	for len(p.plan.Proposals) < maxProposals && p.roomFor(l) {
		waiting := l.next()
		if waiting == nil {
			return false
		}
		if !waiting.Deadline.After(p.now) {
			continue // the loop times it out
		}
		x := newJudge(&l.rules, waiting, p.t.requests.Get(p.r, waiting.ID), p.now)
		best := p.best(&x, l.candidates)
		if best == nil {
			l.heldBack(x.nextCap(waiting))
			continue
		}
		p.left[best.Place]--
		p.plan.Proposals = append(p.plan.Proposals, Proposal{waiting.ID, best.Place, p.round(&x, l.candidates, best)})
		return true
	}
	return false
}

// best gives the candidate with room that comes first, or nil. It looks at each
// once, without sorting them.
func (p *planner) best(x *judge, cs []candidate) *candidate {
	var best *candidate
	for i := range cs {
		c := &cs[i]
		if p.room(c) && (best == nil || x.rank.compare(c, best) < 0) && x.forbids(c) == "" {
			best = c
		}
	}
	return best
}
