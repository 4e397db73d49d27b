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
	rows    []*life.Ticket // of row
	tickets []*ticket      // of Match
	game    *game          // the game session to backfill; nil for a new one
	formed  time.Duration
}

func (r *run) change() life.Change { return life.Change{Effects: r, Now: r.time()} }

// Match implements life.Effects, as do the methods below.
func (r *run) Match(id string) *life.Match { return r.proposals[id].row }

func (r *run) Tickets(m *life.Match) []*life.Ticket { return r.proposals[m.ID].rows }

// Edit returns t itself: nobody else reads the tickets of a simulation.
func (r *run) Edit(t *life.Ticket) *life.Ticket { return t }

// Notify measures events about matches.
func (r *run) Notify(n life.Notice) {
	switch {
	case n.Type == life.AcceptanceEndedNotice && n.Result != life.AllAccepted:
		r.tally.refused++
		r.tally.batch(r.now).refused++
	case n.Type == life.SucceededNotice:
		r.complete(r.proposals[n.Match.ID])
	}
}

// Fill completes a match: the backfill requested only open slots.
func (r *run) Fill(m *life.Match, tickets []*life.Ticket) { r.change().Complete(m, tickets, nil) }

func (r *run) Close(m *life.Match) { delete(r.proposals, m.ID) }

func (r *run) UpdateServer(*life.Ticket, string) {}

func (r *run) Resume(t *life.Ticket) { r.refill(r.games[t.GameSessionID]) }

func (r *run) propose(m *search.Match) {
	n := len(m.Tickets)
	p := &proposal{Match: m, formed: r.now, rows: make([]*life.Ticket, n), tickets: make([]*ticket, n)}
	teams := make([]string, n)
	for i, t := range m.Tickets {
		in := r.tickets[t.ID]
		p.tickets[i], p.rows[i] = in, &in.row
		if in.game != nil {
			p.game = in.game
			continue
		}
		teams[i] = r.RuleSet.Instances[m.Teams[i]].Name
	}
	r.proposed++
	id := strconv.Itoa(r.proposed)
	r.proposals[id] = p
	r.change().Propose(r.settings, life.Match{ID: id}, p.rows, teams)
}

// AwaitAnswers schedules the answers of the new players and the timeout.
func (r *run) AwaitAnswers(m *life.Match) {
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
			r.change().Unanswered(m)
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
	if err := r.change().Answer(r.settings, &t.row, []string{t.row.Members[player].PlayerID}, answer); err != nil {
		panic(err) // its players are asked
	}
}

// Place starts the placement of a match.
func (r *run) Place(m *life.Match, tickets []*life.Ticket) {
	r.proposals[m.ID].row = m
	delay := time.Duration(0)
	if c := r.Spec.Matchmaking.Placement; c != nil {
		delay = seconds(c.draw(r.rand))
	}
	if delay == 0 {
		r.change().Complete(m, tickets, nil)
		return
	}
	r.at(r.now+delay, func() { r.change().Complete(m, tickets, nil) })
}

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
