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

// passArgs are the results of a pass of one configuration's matcher.
type passArgs struct {
	Configuration string     `json:"configuration"`
	RuleSet       string     `json:"rule_set"`           // the rule set that the matches follow
	Searching     []string   `json:"searching,omitzero"` // QUEUED tickets that are now in the pool and in no proposal
	Proposals     []Proposal `json:"proposals,omitzero"`
	Wait          int        `json:"wait,omitzero"` // EstimatedWaitTime in seconds; 0 means unknown
}

// runPass commits the results of a pass, each match only if all its tickets still wait.
// It returns the tickets of matches that were not created.
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

// search moves a ticket to SEARCHING.
func (s *Service) search(tx *store.Tx, t *Ticket, wait int) {
	t.move(Searching)
	s.put(tx, t)
	s.announceSearching(tx, t, wait)
}

// propose creates a match of waiting tickets and starts its acceptance or what follows.
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

// proceed continues with a match that all players accepted or that needs no acceptance:
// it fills up the game session, places a new one by the queue or, if standalone,
// completes the match.
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

// close archives a match that has ended.
func (s *Service) close(tx *store.Tx, old *Match, result, gameSessionID string) {
	m := *old
	m.AcceptBy, m.Result, m.Ended, m.GameSessionID = zeroTime, result, tx.Now(), gameSessionID
	s.t.matches.Put(tx, &m)
	s.t.matches.Archive(tx, m.ID)
}
