package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/search"
)

// proposal is a match that waits for acceptance or placement.
type proposal struct {
	*search.Match
	row     *life.Match
	tickets []*ticket
	game    *game // the game session to backfill; nil for a new one
	formed  time.Duration
}

// Ticket implements life.Rows.
func (r *run) Ticket(id string) *life.Ticket { return r.find(id).row }

// Match implements life.Rows.
func (r *run) Match(id string) *life.Match { return r.proposals[id].row }

// change returns a change of tickets now.
func (r *run) change() life.Change { return life.Change{Rows: r, Now: r.time()} }

// do plays steps.
func (r *run) do(steps []life.Step) {
	for i := range steps {
		switch s := &steps[i]; s.Do {
		case life.Write:
			r.write(s.Ticket, s.Cause)
		case life.Notify:
			r.notice(s)
		case life.Ask:
			r.ask(s.Match)
		case life.Place:
			r.place(s.Match, s.Tickets)
		case life.Fill: // always fits: the backfill requested only open slots
			r.do(r.change().Complete(s.Match, s.Tickets, nil))
		case life.Close:
			delete(r.proposals, s.Match.ID)
		case life.Resume:
			r.refill(r.games[s.Ticket.GameSessionID])
		}
	}
}

// propose starts the acceptance or placement of a match.
func (r *run) propose(m *search.Match) {
	p := &proposal{Match: m, formed: r.now, tickets: make([]*ticket, len(m.Tickets))}
	ids, teams := make([]string, len(m.Tickets)), make([]string, len(m.Tickets))
	for i, t := range m.Tickets {
		in := r.tickets[t.Arrival]
		p.tickets[i] = in
		ids[i] = in.row.ID
		if in.game != nil {
			p.game = in.game
			continue
		}
		teams[i] = r.RuleSet.Instances[m.Teams[i]].Name
	}
	r.proposed++
	id := strconv.Itoa(r.proposed)
	r.proposals[id] = p
	r.do(r.change().Propose(r.settings, life.Match{ID: id}, ids, teams))
}

// notice measures a published notice about a match.
func (r *run) notice(s *life.Step) {
	switch {
	case s.Notice == life.AcceptanceEndedNotice && s.Reason != life.AllAccepted:
		r.tally.refused++
	case s.Notice == life.SucceededNotice:
		r.complete(r.proposals[s.Match.ID])
	}
}

// ask schedules the answers of the new players and the timeout.
func (r *run) ask(m *life.Match) {
	p := r.proposals[m.ID]
	p.row = m
	for _, t := range p.tickets {
		if t.come == nil {
			continue
		}
		for i, a := range t.come.answers {
			if a.after < r.settings.AcceptanceTimeout && (a.accept || a.reject) {
				r.at(r.now+a.after, func() { r.answer(m, t, i, a.accept) })
			}
		}
	}
	r.at(r.now+r.settings.AcceptanceTimeout, func() {
		if p.row == m && r.proposals[m.ID] == p {
			r.do(r.change().Unanswered(m))
		}
	})
}

// answer plays the answer of a ticket's player to a match.
func (r *run) answer(m *life.Match, t *ticket, player int, accept bool) {
	if t.row.Status != life.RequiresAcceptance || t.row.MatchID != m.ID {
		return // others have decided
	}
	answer := life.Reject
	if accept {
		answer = life.Accept
	}
	steps, err := r.change().Answer(r.settings, t.row, []string{t.row.Members[player].PlayerID}, answer)
	if err != nil {
		panic(err) // its players are asked
	}
	r.do(steps)
}

// place starts the placement of a match.
func (r *run) place(m *life.Match, tickets []*life.Ticket) {
	for _, t := range tickets {
		r.find(t.ID).row = t
	}
	r.proposals[m.ID].row = m
	delay := time.Duration(0)
	if c := r.Spec.Matchmaking.Placement; c != nil {
		delay = seconds(c.draw(r.rand))
	}
	if delay == 0 {
		r.do(r.change().Complete(m, tickets, nil))
		return
	}
	r.at(r.now+delay, func() { r.do(r.change().Complete(m, tickets, nil)) })
}

// complete measures a match and moves its players into its game session.
func (r *run) complete(p *proposal) {
	l := p.Lineup(r.RuleSet)
	location := r.bestLocation(p, l)
	r.tally.completed(r, p, l, location)
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
