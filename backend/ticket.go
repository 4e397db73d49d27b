package backend

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Matching is the backend's interface to matchmaking.
type Matching interface {
	// Start requests a match. Errors are faults.
	Start(ctx context.Context, r MatchRequest) error
	// Look returns the state of a ticket as of r, without the estimate; nil if it ended
	// a while ago, or does not exist.
	Look(r store.Reader, ticketID string) *Found
	// Ended returns a ticket that ended a while ago; nil if there is none.
	Ended(ctx context.Context, ticketID string) (*Found, error)
	// Estimate returns how long a ticket is expected to wait.
	Estimate(configuration string) time.Duration
	// Stop requests that a ticket be canceled.
	Stop(ctx context.Context, ticketID string) error
	// Answer accepts or rejects a proposed match for a player.
	Answer(ctx context.Context, ticketID, playerID string, accept bool) error
	// Configuration returns what players have to know of one.
	Configuration(name string) (Configured, bool)
	// Configurations returns all names.
	Configurations() []string
}

// Configured is what players have to know of a matchmaking configuration.
type Configured struct {
	Acceptance bool // matches must be accepted
}

// MatchRequest is a request for a match.
type MatchRequest struct {
	TicketID      string
	Configuration string
	Players       []MatchPlayer
}

// MatchPlayer is a player of a request.
type MatchPlayer struct {
	ID         string
	Attributes map[string]Value
	Latency    map[string]int // milliseconds by location
}

// Found is what the matchmaker reports of a ticket.
type Found struct {
	State     State         `json:"state"`
	Reason    string        `json:"reason,omitzero"`
	MatchID   string        `json:"match_id,omitzero"`
	AcceptBy  time.Time     `json:"accept_by,omitzero"`
	Estimate  time.Duration `json:"estimate,omitzero"`
	Members   []Member      `json:"members"`
	SessionID string        `json:"session_id,omitzero"`
	IP        string        `json:"ip,omitzero"`
	DNSName   string        `json:"dns_name,omitzero"`
	Port      int           `json:"port,omitzero"`
}

// Member is a player of a ticket.
type Member struct {
	PlayerID        string `json:"player_id"`
	Team            string `json:"team,omitzero"`
	Accepted        *bool  `json:"accepted,omitzero"`
	PlayerSessionID string `json:"player_session_id,omitzero"`
}

// State is the state of a ticket, spelled as players see it.
type State = protocol.TicketState

func over(s State) bool {
	switch s {
	case protocol.TicketStateCompleted, protocol.TicketStateFailed, protocol.TicketStateCancelled, protocol.TicketStateTimedOut:
		return true
	}
	return false
}

// Ticket is a request to be matched, as its players may see it.
type Ticket struct {
	ID            string    `json:"id"`
	Matchmaker    string    `json:"matchmaker"`
	Configuration string    `json:"configuration"`
	PartyID       string    `json:"party_id,omitzero"`
	Players       []string  `json:"players"` // who may see it
	Found         Found     `json:"found"`
	Seq           int64     `json:"seq"`
	Change        string    `json:"change"` // orders the changes of all rows
	Created       time.Time `json:"created"`
	Updated       time.Time `json:"updated"`
	Expires       time.Time `json:"expires"`           // set if it has ended
	Expelled      bool      `json:"expelled,omitzero"` // a player of it was banned or deleted: to be stopped
}

// How long tickets are kept.
const (
	ticketKept = time.Hour        // after its end, and until it has one
	lostAfter  = 30 * time.Second // a ticket that the matchmaker does not know
)

func (t *Ticket) of(player string) bool { return slices.Contains(t.Players, player) }

type openArgs struct {
	Ticket Ticket
	Agreed string // the party's change at which its members agreed
}

// runOpen writes a ticket before the matchmaker is called, so that no event can come for
// an unknown one. A player is on at most one open ticket: FlexMatch cancels the older
// one (developer guide, "Request matchmaking for players"), and nobody would be told.
func (b *Backend) runOpen(tx *store.Tx, a openArgs) (*Ticket, error) {
	for _, player := range a.Ticket.Players {
		for old := range b.t.ticketsOf.Equal(tx, player) {
			if !over(old.Found.State) {
				p := refuse("ticket-active", "a player is on a ticket already; cancel that one first")
				if old.of(a.Ticket.Players[0]) {
					p.ticket = old.ID
				}
				return nil, p
			}
		}
	}
	if party := a.Ticket.PartyID; party != "" {
		if err := b.useConsent(tx, party, a.Agreed); err != nil {
			return nil, err
		}
	}
	t := a.Ticket
	t.ID, t.Created = tx.ID(""), tx.Now()
	t.Found.State = protocol.TicketStateQueued
	for _, player := range t.Players {
		t.Found.Members = append(t.Found.Members, Member{PlayerID: player})
	}
	b.putTicket(tx, &t)
	return &t, nil
}

// putTicket writes a changed ticket, and wakes what waits for its players.
func (b *Backend) putTicket(tx *store.Tx, t *Ticket) {
	t.Seq++
	t.Updated, t.Change = tx.Now(), tx.ID("")
	t.Expires = tx.Now().Add(ticketKept)
	b.t.tickets.Put(tx, t)
	players, state := t.Players, t.Found.State
	tx.OnCommit(func() {
		b.hub.wake(players)
		b.metrics.ticket(t.Matchmaker, state)
	})
}

// observation is what the matchmaker reported of a ticket.
type observation struct {
	ID    string
	Found Found
}

// runObserve updates tickets to the matchmaker's current state. What was seen before the
// transaction may be out of date; it is used only if the matchmaker no longer has the
// ticket in memory. An end is final.
func (b *Backend) runObserve(tx *store.Tx, seen []observation) (struct{}, error) {
	for _, o := range seen {
		old := b.t.tickets.Get(tx, o.ID)
		if old == nil || over(old.Found.State) {
			continue
		}
		found := o.Found
		if now := b.matching.Look(tx, o.ID); now != nil {
			found = *now
			found.Estimate = o.Found.Estimate
		} else if !over(found.State) {
			continue
		}
		if old.Found.equal(&found) {
			continue
		}
		t := *old
		t.Found = found
		b.putTicket(tx, &t)
	}
	return struct{}{}, nil
}

func (f *Found) equal(g *Found) bool {
	same := func(a, b Member) bool {
		answered := a.Accepted == b.Accepted || a.Accepted != nil && b.Accepted != nil && *a.Accepted == *b.Accepted
		return answered && a.PlayerID == b.PlayerID && a.Team == b.Team && a.PlayerSessionID == b.PlayerSessionID
	}
	return f.State == g.State && f.Reason == g.Reason && f.MatchID == g.MatchID && f.AcceptBy.Equal(g.AcceptBy) && f.Port == g.Port &&
		f.SessionID == g.SessionID && f.IP == g.IP && f.DNSName == g.DNSName && slices.EqualFunc(f.Members, g.Members, same)
}

// out returns a ticket as one of its players sees it: each player learns only their own
// player session.
func (t *Ticket) out(player string) *protocol.Ticket {
	f := &t.Found
	out := &protocol.Ticket{
		TicketID: t.ID, Matchmaker: t.Matchmaker, PartyID: t.PartyID, State: f.State, Reason: f.Reason, CreatedAt: t.Created,
		UpdatedAt: t.Updated, ExpiresAt: t.Expires, MatchID: f.MatchID, Seq: t.Seq,
		Players: make([]protocol.TicketPlayer, len(f.Members)),
	}
	if f.State == protocol.TicketStateQueued || f.State == protocol.TicketStateSearching {
		out.EstimatedWaitSeconds = int64(f.Estimate / time.Second)
	}
	for i, m := range f.Members {
		out.Players[i] = protocol.TicketPlayer{PlayerID: m.PlayerID, Team: m.Team, Accepted: m.Accepted}
		if m.PlayerID != player {
			continue
		}
		switch f.State {
		case protocol.TicketStateRequiresAcceptance:
			out.Acceptance = &protocol.Acceptance{Deadline: f.AcceptBy, Mine: m.Accepted}
		case protocol.TicketStateCompleted:
			if m.PlayerSessionID != "" || f.SessionID != "" {
				out.Connection = connection(f.SessionID, f.IP, f.DNSName, f.Port, m.PlayerSessionID)
			}
		}
	}
	return out
}

func connection(sessionARN, ip, dns string, port int, playerSession string) *protocol.Connection {
	return &protocol.Connection{
		SessionID: sessionName(sessionARN), IP: ip, DNSName: dns, Host: or(dns, ip), Port: int64(port), PlayerSessionID: playerSession,
	}
}
