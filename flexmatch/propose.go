package flexmatch

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/store"
)

// Proposal is a match that a pass has found.
type Proposal struct {
	Tickets []string    `json:"tickets"`
	Teams   []string    `json:"teams"` // by ticket; "" for the backfill
	Level   int         `json:"level,omitzero"`
	Rules   []RuleCount `json:"rules,omitzero"`
}

// passArgs are what a pass of one configuration's matcher has found.
type passArgs struct {
	Configuration string     `json:"configuration"`
	RuleSet       string     `json:"rule_set"`           // that it was found by
	Searching     []string   `json:"searching,omitzero"` // tickets that are in the pool now and in no proposal
	Proposals     []Proposal `json:"proposals,omitzero"`
	Wait          int        `json:"wait,omitzero"` // EstimatedWaitTime, seconds; 0 is unknown
}

// runPass commits what a pass has found, each match only if all its tickets
// still wait. It gives the tickets of matches that it did not make.
func (s *Service) runPass(tx *store.Tx, a passArgs) ([]string, error) {
	var refused []string
	c := s.t.configurations.Get(tx, a.Configuration)
	for _, id := range a.Searching {
		if t := s.t.tickets.Get(tx, id); t != nil && t.Status == Queued {
			s.search(tx, t.edit(), a.Wait)
		}
	}
	for i := range a.Proposals {
		p := &a.Proposals[i]
		if c == nil || c.RuleSet != a.RuleSet || !s.allWait(tx, c, p.Tickets) {
			refused = append(refused, p.Tickets...)
			continue
		}
		s.propose(tx, c, p, a.Wait)
	}
	return refused, nil
}

func (s *Service) allWait(r store.Reader, c *Configuration, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		t := s.t.tickets.Get(r, id)
		return t == nil || !t.Status.Waits() || t.Configuration != c.Name
	})
}

// search takes a ticket into the pool.
func (s *Service) search(tx *store.Tx, t *Ticket, wait int) {
	t.move(Searching)
	s.put(tx, t)
	s.announceSearching(tx, t, wait)
}

// propose makes a match of tickets that wait, and sends it on its way.
func (s *Service) propose(tx *store.Tx, c *Configuration, p *Proposal, wait int) {
	m := &Match{ID: tx.ID(""), Configuration: c.Name, Created: tx.Now(), Level: p.Level, Rules: p.Rules}
	tickets := s.load(tx, p.Tickets)
	for i, t := range tickets {
		if t.Status == Queued {
			s.search(tx, t, wait)
			tickets[i] = t.edit()
			t = tickets[i]
		}
		t.MatchID, t.Reason, t.Message = m.ID, "", ""
		if t.Backfill {
			m.Backfill = t.ID
			continue
		}
		m.Players += len(t.Members)
		for j := range t.Members {
			t.Members[j].Team = p.Teams[i]
		}
	}
	slices.SortFunc(tickets, func(a, b *Ticket) int { return strings.Compare(a.Arrival, b.Arrival) })
	for _, t := range tickets {
		m.Tickets = append(m.Tickets, t.ID)
	}
	s.announceMatch(tx, m, tickets, matchEvent{kind: "PotentialMatchCreated", asks: true, required: c.AcceptanceRequired, timeout: c.AcceptanceTimeout})
	tx.OnCommit(func() { s.metrics.found(m) })
	if !c.AcceptanceRequired {
		s.proceed(tx, m, tickets)
		return
	}
	m.AcceptBy = tx.Now().Add(c.AcceptanceTimeout)
	s.t.matches.Put(tx, m)
	for _, t := range tickets {
		t.move(RequiresAcceptance)
		s.put(tx, t)
	}
	tx.OnCommit(s.deadlines.Nudge)
}

// proceed gives a match that nobody has to accept, or that everybody accepted,
// to its end: the game session to fill up, the queue, or, standalone, the event.
func (s *Service) proceed(tx *store.Tx, old *Match, tickets []*Ticket) {
	m := *old
	m.AcceptBy = zeroTime
	c := s.t.configurations.Get(tx, m.Configuration)
	session := ""
	for _, t := range tickets {
		if t.ID == m.Backfill {
			session = t.GameSessionID
		}
	}
	switch {
	case session != "" && c.Mode == WithQueue:
		s.fill(tx, c, &m, tickets, session)
	case c.Mode == WithQueue && m.Backfill == "":
		s.place(tx, c, &m, tickets)
	default:
		s.complete(tx, &m, tickets, nil)
	}
}

// close puts a match that is over into the archive.
func (s *Service) close(tx *store.Tx, old *Match, result, gameSessionID string) {
	m := *old
	m.AcceptBy, m.Result, m.Ended, m.GameSessionID = zeroTime, result, tx.Now(), gameSessionID
	s.t.matches.Put(tx, &m)
	s.t.matches.Archive(tx, m.ID)
}
