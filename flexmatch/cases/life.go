package cases

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/flexmatch/search"
)

// searching puts a ticket into the pool. A ticket that returns after its deadline times
// out.
func (g *game) searching(t *ticket, reason string) {
	t.status, t.reason, t.match = "SEARCHING", reason, nil
	t.accepted = map[string]bool{}
	if reason != "" && t.deadline <= g.now {
		g.expire(t)
		return
	}
	g.emit("MatchmakingSearching", "", t)
}

func (g *game) expire(t *ticket) {
	if t.deadline > g.now {
		return
	}
	t.status, t.reason = "TIMED_OUT", "TimedOut"
	g.emit("MatchmakingTimedOut", "TimedOut", t)
}

func (g *game) cancel(t *ticket) {
	t.status, t.reason, t.match = "CANCELLED", "Cancelled", nil
	g.emit("MatchmakingCancelled", "Cancelled", t)
}

// propose starts the next stage of a match: acceptance, placement or, if standalone, the
// end.
func (g *game) propose(m *search.Match) {
	p := &proposal{}
	for _, t := range m.Tickets {
		in := g.find(t.ID)
		in.match = p
		p.tickets = append(p.tickets, in)
	}
	byArrival(p.tickets)
	g.emit("PotentialMatchCreated", "", p.tickets...)
	if !g.c.Config.AcceptanceRequired {
		g.place(p)
		return
	}
	timeout := 60.0
	if g.c.Config.AcceptanceTimeoutSeconds != nil {
		timeout = *g.c.Config.AcceptanceTimeoutSeconds
	}
	p.deadline = g.now + timeout
	for _, t := range p.tickets {
		t.status = "REQUIRES_ACCEPTANCE"
	}
	g.asking = append(g.asking, p)
}

// place passes a match to the simulated queue. A backfilled game session exists already,
// and a standalone match needs none.
func (g *game) place(p *proposal) {
	p.deadline = g.now
	backfill := slices.ContainsFunc(p.tickets, func(t *ticket) bool { return t.search.Backfill })
	if g.c.Config.FlexMatchMode != "WITH_QUEUE" || backfill {
		g.finish(p, "COMPLETED", "MatchmakingSucceeded", "")
		return
	}
	if g.c.Config.Placement != nil {
		p.deadline += g.c.Config.Placement.DelaySeconds
	}
	for _, t := range p.tickets {
		t.status = "PLACING"
	}
	if p.deadline <= g.now {
		g.placed(p)
		return
	}
	g.placing = append(g.placing, p)
}

func (g *game) placed(p *proposal) {
	if g.c.Config.Placement != nil && g.c.Config.Placement.Result == "FAILED" {
		g.finish(p, "FAILED", "MatchmakingFailed", "UNEXPECTED_ERROR")
		return
	}
	g.finish(p, "COMPLETED", "MatchmakingSucceeded", "")
}

func (g *game) finish(p *proposal, status, event, reason string) {
	for _, t := range p.tickets {
		t.status, t.reason, t.match = status, reason, nil
	}
	g.emit(event, reason, p.tickets...)
}

// decided ends an acceptance that was rejected or timed out. Tickets whose players all
// accepted search again, as do backfill tickets. The others are cancelled.
func (g *game) decided(p *proposal, how string) {
	g.drop(p)
	g.emit("AcceptMatchCompleted", how, p.tickets...)
	for _, t := range p.tickets {
		if t.search.Backfill || t.allAccepted() {
			g.searching(t, "AcceptanceFailed")
		} else {
			g.cancel(t)
		}
	}
}

func (g *game) drop(p *proposal) {
	g.asking = slices.DeleteFunc(g.asking, func(o *proposal) bool { return o == p })
}

func (t *ticket) allAccepted() bool { return len(t.accepted) == len(t.search.Players) }

// dissolve takes a ticket out of its proposed match. The others search again.
func (g *game) dissolve(t *ticket) {
	p := t.match
	if p == nil || t.status != "REQUIRES_ACCEPTANCE" {
		return
	}
	g.drop(p)
	for _, other := range p.tickets {
		if other != t {
			g.searching(other, "AcceptanceFailed")
		}
	}
}

// act plays a call for a ticket.
func (g *game) act(a Action) {
	t := g.find(a.TicketID)
	key := fmt.Sprintf("%s@%v", a.Op, a.At)
	switch {
	case t == nil:
		g.errors[key] = "NotFoundException"
	case a.Op == "StopMatchmaking":
		if !t.waiting() && t.status != "REQUIRES_ACCEPTANCE" {
			g.errors[key] = "InvalidRequestException"
			return
		}
		g.dissolve(t)
		g.cancel(t)
	case !g.accept(t, a):
		g.errors[key] = "InvalidRequestException"
	}
}

// accept plays AcceptMatch. It returns false if the call is refused.
func (g *game) accept(t *ticket, a Action) bool {
	known := func(id string) bool {
		return slices.ContainsFunc(t.search.Players, func(p search.Player) bool { return p.ID == id })
	}
	if a.AcceptanceType != "ACCEPT" && a.AcceptanceType != "REJECT" || t.search.Backfill { // only new players are asked to accept
		return false
	}
	if t.status != "REQUIRES_ACCEPTANCE" || slices.ContainsFunc(a.PlayerIDs, func(id string) bool { return !known(id) }) {
		return false
	}
	p := t.match
	if a.AcceptanceType == "ACCEPT" {
		for _, id := range a.PlayerIDs {
			t.accepted[id] = true
		}
	} else {
		for _, id := range a.PlayerIDs {
			delete(t.accepted, id)
		}
	}
	g.emit("AcceptMatch", "", p.tickets...)
	switch {
	case a.AcceptanceType != "ACCEPT":
		g.decided(p, "Rejected")
	case !slices.ContainsFunc(p.tickets, func(t *ticket) bool { return !t.search.Backfill && !t.allAccepted() }):
		g.drop(p)
		g.emit("AcceptMatchCompleted", "Accepted", p.tickets...)
		g.place(p)
	}
	return true
}
