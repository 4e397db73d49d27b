package backend

import (
	"context"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/store"
)

// NewMatching returns the matchmaker of the same process.
func NewMatching(st *store.Store, s *flexmatch.Service) Matching { return matching{st, s} }

type matching struct {
	st *store.Store
	s  *flexmatch.Service
}

// Start implements Matching.
func (m matching) Start(ctx context.Context, r MatchRequest) error {
	in := flexmatch.StartInput{Configuration: r.Configuration, TicketID: r.TicketID}
	for _, p := range r.Players {
		player := flexmatch.Player{ID: p.ID, Latency: p.Latency, Attributes: map[string]flexmatch.Attribute{}}
		for name, v := range p.Attributes {
			player.Attributes[name] = flexmatch.Attribute(v)
		}
		in.Players = append(in.Players, player)
	}
	_, _, err := m.s.Start(ctx, in)
	return err
}

// Look implements Matching.
func (m matching) Look(r store.Reader, ticketID string) *Found {
	if t := m.s.Live(r, ticketID); t != nil {
		return m.found(r, t)
	}
	return nil
}

// Ended implements Matching.
func (m matching) Ended(ctx context.Context, ticketID string) (*Found, error) {
	d, err := m.s.Get(ctx, ticketID)
	if err != nil || d == nil {
		return nil, err
	}
	return m.found(m.st.View(), d.Ticket), nil
}

// Estimate implements Matching.
func (m matching) Estimate(configuration string) time.Duration {
	return time.Duration(m.s.EstimatedWait(configuration)) * time.Second
}

func (m matching) found(r store.Reader, t *flexmatch.Ticket) *Found {
	f := &Found{
		State: State(strings.ToLower(string(t.Status))), Reason: or(t.Message, t.Reason), MatchID: t.MatchID,
		IP: t.IPAddress, DNSName: t.DNSName, Port: t.Port, SessionID: t.GameSessionID,
	}
	if t.Status.Waits() {
		f.Reason, f.MatchID = "", "" // of a match that was not completed
	}
	if t.Status == flexmatch.RequiresAcceptance {
		f.AcceptBy = m.s.AcceptBy(r, t.MatchID)
	}
	for _, member := range t.Members {
		out := Member{PlayerID: member.PlayerID, Team: member.Team, PlayerSessionID: member.PlayerSessionID}
		if member.Answer != "" {
			out.Accepted = new(member.Answer == flexmatch.Accept)
		}
		f.Members = append(f.Members, out)
	}
	return f
}

// Stop implements Matching.
func (m matching) Stop(ctx context.Context, ticketID string) error { return m.s.Stop(ctx, ticketID) }

// Answer implements Matching.
func (m matching) Answer(ctx context.Context, ticketID, playerID string, accept bool) error {
	answer := flexmatch.Reject
	if accept {
		answer = flexmatch.Accept
	}
	return m.s.Answer(ctx, flexmatch.AcceptInput{TicketID: ticketID, PlayerIDs: []string{playerID}, Answer: answer})
}

// Configuration implements Matching.
func (m matching) Configuration(name string) (Configured, bool) {
	c := m.s.Configurations.Get(m.st.View(), name)
	if c == nil {
		return Configured{}, false
	}
	return Configured{Acceptance: c.AcceptanceRequired}, true
}

// Configurations implements Matching.
func (m matching) Configurations() []string {
	var names []string
	for c := range m.s.Configurations.After(m.st.View(), "") {
		names = append(names, c.Name)
	}
	return names
}
