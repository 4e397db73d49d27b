package sim

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/search"
)

// proposal is a match that waits for acceptance or placement.
type proposal struct {
	*search.Match
	tickets  []*ticket
	game     *game // the game session to backfill; nil for a new one
	formed   time.Duration
	missing  int  // players who have not accepted yet
	decided  bool // accepted, or dissolved
	accepted map[*ticket]int
}

// propose starts the acceptance or placement of a match.
func (r *run) propose(m *search.Match) {
	p := &proposal{Match: m, formed: r.now}
	for _, t := range m.Tickets {
		in := r.tickets[t]
		in.state, in.match = asking, p
		p.tickets = append(p.tickets, in)
		if in.game != nil {
			p.game = in.game
		}
	}
	if !r.Spec.Matchmaking.AcceptanceRequired {
		r.place(p)
		return
	}
	r.ask(p)
}

// ask schedules the answers of the new players and the timeout.
func (r *run) ask(p *proposal) {
	timeout := seconds(r.Spec.Matchmaking.AcceptanceTimeout)
	p.accepted = map[*ticket]int{}
	for _, t := range p.tickets {
		p.missing += t.size()
		if t.come == nil {
			continue
		}
		for _, a := range t.come.answers {
			if a.after < timeout && (a.accept || a.reject) {
				r.at(r.now+a.after, func() { r.answered(p, t, a.accept) })
			}
		}
	}
	r.at(r.now+timeout, func() { r.refuse(p) })
}

func (r *run) answered(p *proposal, t *ticket, accept bool) {
	switch {
	case p.decided:
	case !accept:
		r.refuse(p)
	default:
		p.accepted[t]++
		if p.missing--; p.missing == 0 {
			r.place(p)
		}
	}
}

// refuse drops a match that was rejected or not answered in time. Tickets whose players
// all accepted search again, as does a backfill. The others end.
func (r *run) refuse(p *proposal) {
	if p.decided {
		return
	}
	r.tally.refused++
	willing := func(t *ticket) bool { return t.come == nil || p.accepted[t] == len(t.Players) }
	r.dissolve(p, willing)
	for _, t := range p.tickets {
		if !willing(t) {
			r.end(t, declined)
		}
	}
}

// dissolve drops a match. Those of its tickets for which again returns true search again.
func (r *run) dissolve(p *proposal, again func(*ticket) bool) {
	p.decided = true
	for _, t := range p.tickets {
		if again(t) && t.state == asking {
			r.search(t)
		}
	}
}

// place starts the placement of an accepted match. A backfill needs no placement.
func (r *run) place(p *proposal) {
	p.decided = true
	if p.game != nil {
		if p.game.over {
			r.dissolve(p, func(t *ticket) bool { return t.game == nil })
			return
		}
		r.complete(p)
		return
	}
	for _, t := range p.tickets {
		t.state = placing
	}
	delay := time.Duration(0)
	if c := r.Spec.Matchmaking.Placement; c != nil {
		delay = seconds(c.draw(r.rand))
	}
	if delay == 0 {
		r.complete(p)
		return
	}
	r.at(r.now+delay, func() { r.complete(p) })
}

// complete ends the tickets of a match and moves their players into its game session.
func (r *run) complete(p *proposal) {
	l := p.Lineup(r.RuleSet)
	location := r.bestLocation(p, l)
	r.tally.completed(r, p, l, location)
	for _, t := range p.tickets {
		r.end(t, matched)
	}
	if p.game == nil {
		r.begin(p, location)
		return
	}
	p.game.join(r, p)
	r.refill(p.game)
}

// newcomers returns the match's tickets without backfill.
func (p *proposal) newcomers() []*ticket {
	return slices.DeleteFunc(slices.Clone(p.tickets), func(t *ticket) bool { return t.come == nil })
}
