package placement

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// maxProposals is the most game sessions that one plan places.
const maxProposals = 256

// Plan is the result of plan: what to do now.
type Plan struct {
	Proposals []Proposal
	Held      held // for the next plan
}

// Proposal is a proposed place for a placement.
type Proposal struct {
	PlacementID string
	Place       Place
	Round       Round
	Neighbor    bool `json:",omitzero"` // the place is in another region of this deployment
}

// capacity provides what a plan needs besides the package's own rows.
type capacity interface {
	// resolve returns the fleet that a destination ARN currently leads to, or why there
	// is none.
	resolve(r store.Reader, destination string) (*fleet.Fleet, Outcome)
	// free counts the free processes of a fleet's location, up to most.
	free(r store.Reader, f *fleet.Fleet, location string, most int) int
}

// planner makes one plan from one snapshot at one time.
type planner struct {
	t     *tables
	r     store.Reader
	world capacity
	away  Board
	now   time.Time
	most  int           // free processes to count at a place; more cannot be used
	left  map[Place]int // free processes not yet proposed
	lines []*line
	plan  Plan
}

func newPlanner(t *tables, r store.Reader, world capacity, now time.Time, away Board) *planner {
	return &planner{t: t, r: r, world: world, now: now, away: away, most: maxProposals, left: map[Place]int{}}
}

// plan decides for all waiting placements. It serves queues in turns, so that a long one
// does not starve others that share its fleets; turn selects the first. Within a queue
// the oldest placement comes first, and one that cannot be placed does not hold up later
// ones. Placements that an earlier plan found held back (known) are skipped until
// something changes for them. With a nil known the proposals are the same.
func plan(t *tables, r store.Reader, world capacity, away Board, now time.Time, turn int, known held) Plan {
	p := newPlanner(t, r, world, now, away)
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

// open forms a line for each queue with waiting placements and free processes.
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
	if waiting < readAhead { // no queue has more than were read
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

// candidates returns every place that a queue's destinations lead to.
func (p *planner) candidates(q *Queue) []candidate {
	var cs []candidate
	awaited := ""
	for i, destination := range q.Destinations {
		if known := p.away[destination]; known != nil {
			if known.Awaited {
				awaited = known.Remote
			}
			cs = p.candidatesAway(cs, q, i, destination, known)
			continue
		}
		f, why := p.world.resolve(p.r, destination)
		if f == nil {
			cs = append(cs, candidate{Place: Place{FleetID: destination}, destination: i, usable: why})
			continue
		}
		for _, l := range f.Locations {
			c := candidate{Place: Place{FleetID: f.ID, Location: l.Location}, destination: i, cost: price(f.Cost)}
			switch {
			case !f.Status.Serves() || !l.Status.Serves():
				c.usable = FleetNotActive
			case !q.allows(l.Location):
				c.usable = NotAllowed
			default:
				p.count(c.Place, f)
			}
			cs = append(cs, c)
		}
	}
	if awaited != "" {
		await(cs, awaited)
	}
	return cs
}

// await excludes all candidates until a region has answered, where one may be better.
func await(cs []candidate, region string) {
	for i := range cs {
		if c := &cs[i]; c.usable == "" {
			c.usable, c.why = RemoteAway, "region "+region+" is asked first what is free there"
		}
	}
}

// candidatesAway adds the places that a destination at a remote leads to.
func (p *planner) candidatesAway(cs []candidate, q *Queue, i int, destination string, known *Known) []candidate {
	if known.Outcome != "" {
		at := Place{FleetID: cmp.Or(known.FleetID, destination), Remote: known.Remote}
		return append(cs, candidate{Place: at, destination: i, usable: known.Outcome, why: known.Why})
	}
	for _, l := range known.Places {
		c := candidate{Place: Place{known.FleetID, l.Location, known.Remote}, destination: i, cost: known.Cost, neighbor: known.Neighbor}
		switch {
		case l.Why != "":
			c.usable, c.why = RemoteAway, l.Why
		case !l.Active:
			c.usable = FleetNotActive
		case !q.allows(l.Location):
			c.usable = NotAllowed
		default:
			p.left[c.Place] = min(l.Free, p.most)
		}
		cs = append(cs, c)
	}
	return cs
}

// count records how many processes are free at a place, once per plan.
func (p *planner) count(at Place, f *fleet.Fleet) {
	if _, known := p.left[at]; !known {
		p.left[at] = p.world.free(p.r, f, at.Location, p.most)
	}
}

// room reports whether a candidate can be used and has a free process left.
func (p *planner) room(c *candidate) bool { return c.usable == "" && p.left[c.Place] > 0 }

func (p *planner) roomFor(l *line) bool {
	for i := range l.candidates {
		if p.room(&l.candidates[i]) {
			return true
		}
	}
	return false
}

// step proposes a place for the next placement of a line that can be placed. It returns
// false if there is none.
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
			l.heldBack(x.next(waiting))
			continue
		}
		p.left[best.Place]--
		p.plan.Proposals = append(p.plan.Proposals, Proposal{waiting.ID, best.Place, p.round(&x, l.candidates, best), best.neighbor})
		return true
	}
	return false
}

// best returns the first candidate in the ranking that has room and is not forbidden, or
// nil. It examines each once, without sorting.
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
