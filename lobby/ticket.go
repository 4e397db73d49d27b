package lobby

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
)

// State is the state of a ticket, spelled as players see it.
type State string

// The states of a ticket, those of flexmatch.
const (
	Queued             State = "queued"
	Searching          State = "searching"
	RequiresAcceptance State = "requires_acceptance"
	Placing            State = "placing"
	Completed          State = "completed"
	Failed             State = "failed"
	Cancelled          State = "cancelled"
	TimedOut           State = "timed_out"
)

// Over reports whether a ticket in this state has ended.
func (s State) Over() bool {
	return s == Completed || s == Failed || s == Cancelled || s == TimedOut
}

// Ticket is a request to be matched, as its players may see it.
type Ticket struct {
	Request
	Matchmaker    string    `json:"matchmaker"`
	Configuration string    `json:"configuration"`
	PartyID       string    `json:"party_id,omitzero"`
	Players       []string  `json:"players"` // who may see it
	Found         Found     `json:"found"`
	Updated       time.Time `json:"updated"`
}

// Found is what players see of the matchmaker's ticket.
type Found struct {
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitzero"`
	MatchID  string    `json:"match_id,omitzero"`
	AcceptBy time.Time `json:"accept_by,omitzero"`
	Members  []Member  `json:"members"`
	Connection
}

// Member is a player of a ticket.
type Member struct {
	PlayerID        string `json:"player_id"`
	Team            string `json:"team,omitzero"`
	Accepted        *bool  `json:"accepted,omitzero"`
	PlayerSessionID string `json:"player_session_id,omitzero"`
}

// Over reports whether the ticket has ended.
func (t *Ticket) Over() bool { return t.Found.State.Over() }

func (t *Ticket) players() []string { return t.Players }

func (t *Ticket) connection() *Connection { return &t.Found.Connection }

func (f *Found) equal(g *Found) bool {
	same := func(a, b Member) bool {
		answered := a.Accepted == b.Accepted || a.Accepted != nil && b.Accepted != nil && *a.Accepted == *b.Accepted
		return answered && a.PlayerID == b.PlayerID && a.Team == b.Team && a.PlayerSessionID == b.PlayerSessionID
	}
	return f.State == g.State && f.Reason == g.Reason && f.MatchID == g.MatchID && f.AcceptBy.Equal(g.AcceptBy) &&
		f.Connection == g.Connection && slices.EqualFunc(f.Members, g.Members, same)
}

// Tickets are the players' tickets.
type Tickets struct {
	requests[Ticket, *Ticket]
	parties *Parties
	changes *prometheus.CounterVec
	start   *store.Command[openArgs, *Ticket]
}

func (s *Tickets) register() {
	s.requests.register("play_ticket")
	s.start = store.NewCommand(s.st, "play.open", s.runOpen)
	s.deps.Matches.OnChanged(s.follow)
}

// MatchRequest is a player's request for a match.
type MatchRequest struct {
	Matchmaker string
	PartyID    string
	Team       string // refused: no matchmaker lets players choose
	Attributes map[string]JSON
	Latency    map[string]float64 // milliseconds by location; nil means the reported ones
}

// Start requests a match for a player or, with PartyID, for the party that the player
// leads.
func (s *Tickets) Start(ctx context.Context, player, scope string, in MatchRequest) (*Ticket, error) {
	m, err := s.catalog.matchmaker(in.Matchmaker)
	if err != nil {
		return nil, err
	}
	switch {
	case s.deps.Matches.Configurations.Get(s.st.View(), m.Configuration) == nil:
		return nil, refuse(NotFound, "there is no matchmaker "+in.Matchmaker+" at the moment")
	case !allows(m.Scopes, scope):
		return nil, refuse(ScopeInsufficient, "link an account elsewhere to be matched by "+m.Name)
	}
	args := openArgs{Ticket: Ticket{Matchmaker: m.Name, Configuration: m.Configuration, PartyID: in.PartyID}}
	if args.Players, args.Agreed, err = s.players(m, player, &in); err != nil {
		return nil, err
	}
	for _, p := range args.Players {
		args.Ticket.Players = append(args.Ticket.Players, p.ID)
	}
	return s.start.Do(ctx, args)
}

// players returns the players of a ticket: the requesting one, or those of the party.
// agreed is the party's Change at which its members agreed.
func (s *Tickets) players(m *Matchmaker, player string, in *MatchRequest) (all []flexmatch.Player, agreed string, err error) {
	if in.Team != "" {
		return nil, "", refuse(Invalid, "team: "+m.Name+" does not let players choose")
	}
	if in.PartyID != "" {
		return s.partyPlayers(m, player, in)
	}
	if m.MinParty > 1 {
		return nil, "", refuse(ValidationFailed, "party_id: "+m.Name+" matches parties of "+strconv.Itoa(m.MinParty)+" or more")
	}
	p, err := s.player(m, player, in.Attributes, in.Latency)
	return []flexmatch.Player{p}, "", err
}

// partyPlayers returns the players of a party's ticket, the leader first.
func (s *Tickets) partyPlayers(m *Matchmaker, leader string, in *MatchRequest) (all []flexmatch.Player, agreed string, err error) {
	p, err := s.parties.Party(leader, in.PartyID)
	switch {
	case err != nil:
		return nil, "", err
	case p.Leader != leader:
		return nil, "", refuse(NotLeader, "only the leader asks for a match")
	case p.Matchmaker != m.Name:
		return nil, "", refuse(ValidationFailed, "matchmaker: the party was made for "+p.Matchmaker)
	case len(p.Members) < m.MinParty || len(p.Members) > m.MaxParty:
		return nil, "", refuse(PartyNotReady, "the party does not have the number of players that "+m.Name+" matches")
	}
	now := time.Now()
	for i := range p.Members {
		member := &p.Members[i]
		sent, latency := member.sent(), member.Latency
		if member.PlayerID == leader {
			if in.Attributes != nil {
				sent = in.Attributes
			}
			if in.Latency != nil {
				latency = in.Latency
			}
		} else if !member.IsReady(now) {
			return nil, "", refuse(PartyNotReady, "not every member has said to be ready within the last minute")
		}
		player, err := s.player(m, member.PlayerID, sent, latency)
		if err != nil {
			return nil, "", err
		}
		all = append(all, player)
	}
	at := slices.IndexFunc(all, func(p flexmatch.Player) bool { return p.ID == leader })
	first := all[at]
	return slices.Insert(slices.Delete(all, at, at+1), 0, first), p.Change, nil
}

func (s *Tickets) player(m *Matchmaker, id string, sent map[string]JSON, latency map[string]float64) (flexmatch.Player, error) {
	attributes, err := s.attributes(m, id, sent)
	if err != nil {
		return flexmatch.Player{}, err
	}
	ms, err := s.latencies.forRequest(id, latency, m)
	return flexmatch.Player{ID: id, Attributes: attributes, Latency: ms}, err
}

type openArgs struct {
	Ticket  Ticket
	Players []flexmatch.Player
	Agreed  string // the party's Change at which its members agreed
}

// runOpen starts the matchmaker's ticket and writes the player's with it. A player is
// on at most one open ticket: FlexMatch cancels the older one (developer guide, "Request
// matchmaking for players"), and its players would not learn of it.
func (s *Tickets) runOpen(tx *store.Tx, a openArgs) (*Ticket, error) {
	t := a.Ticket
	for _, player := range t.Players {
		if err := s.deps.Identity.Accounts.MayPlay(tx, player); err != nil {
			return nil, err
		}
		for old := range s.openOf(tx, player) {
			r := &refusal.Refusal{Code: TicketActive, Message: "a player is on a ticket already; cancel that one first"}
			if slices.Contains(old.Players, t.Players[0]) { // nobody else learns which
				r.TicketID = old.ID
			}
			return nil, r
		}
	}
	if t.PartyID != "" {
		if err := s.parties.useConsent(tx, t.PartyID, a.Agreed); err != nil {
			return nil, err
		}
	}
	t.ID, t.Created = tx.ID(""), tx.Now()
	m, err := s.deps.Matches.StartNow(tx, flexmatch.StartInput{Configuration: t.Configuration, TicketID: t.ID, Players: a.Players})
	if err != nil {
		return nil, err
	}
	t.Found = s.found(tx, m)
	s.put(tx, &t)
	return &t, nil
}

// follow updates the player's ticket in a transaction that changed the matchmaker's.
func (s *Tickets) follow(tx *store.Tx, m *flexmatch.Ticket) {
	if old := s.rows.Get(tx, m.ID); old != nil {
		s.update(tx, old, s.found(tx, m))
	}
}

// update writes what has changed for the players of a ticket, if anything. An end is final.
func (s *Tickets) update(tx *store.Tx, old *Ticket, found Found) {
	if old.Over() || old.Found.equal(&found) {
		return
	}
	t := *old
	t.Found = found
	s.put(tx, &t)
}

// put writes a changed ticket, and counts the change.
func (s *Tickets) put(tx *store.Tx, t *Ticket) {
	t.Updated = tx.Now()
	s.requests.put(tx, t)
	matchmaker, state := t.Matchmaker, t.Found.State
	tx.OnCommit(func() { s.changes.WithLabelValues(matchmaker, string(state)).Inc() })
}

func (s *Tickets) found(r store.Reader, t *flexmatch.Ticket) Found {
	f := Found{
		State: State(strings.ToLower(string(t.Status))), Reason: t.Reason, MatchID: t.MatchID,
		Connection: s.located(r, Connection{SessionID: t.GameSessionID, IP: t.IPAddress, DNSName: t.DNSName, Port: t.Port}),
		Members:    make([]Member, len(t.Members)),
	}
	if t.Message != "" {
		f.Reason = t.Message
	}
	if t.Status.Waits() {
		f.Reason, f.MatchID = "", "" // of a match that was not completed
	}
	if t.Status == flexmatch.RequiresAcceptance {
		f.AcceptBy = s.deps.Matches.AcceptBy(r, t.MatchID)
	}
	for i, m := range t.Members {
		f.Members[i] = Member{PlayerID: m.PlayerID, Team: m.Team, PlayerSessionID: m.PlayerSessionID}
		if m.Answer != "" {
			f.Members[i].Accepted = new(m.Answer == flexmatch.Accept)
		}
	}
	return f
}

// Estimate returns how long a ticket is expected to wait for a match; 0 if that is unknown
// or it does not wait.
func (s *Tickets) Estimate(t *Ticket) time.Duration {
	if t.Found.State != Queued && t.Found.State != Searching {
		return 0
	}
	return time.Duration(s.deps.Matches.EstimatedWait(t.Configuration)) * time.Second
}

// Cancel cancels a ticket of a player. One that has ended stays as it is. Errors:
// NotFound, TicketEnded (it cannot be cancelled any more).
func (s *Tickets) Cancel(ctx context.Context, player, id string) (*Ticket, error) {
	t, err := s.Get(player, id)
	if err != nil || t.Over() {
		return t, err
	}
	err = s.deps.Matches.Stop(ctx, id)
	now := s.current(t)
	switch {
	case err == nil || now.Over():
		return now, nil
	case fault.Is(err, fault.InvalidRequest):
		return nil, refuse(TicketEnded, "the ticket is "+string(now.Found.State)+" and cannot be cancelled any more")
	}
	return nil, err
}

// Answer answers a proposed match of a ticket for one of its players. Errors: NotFound,
// NotAwaitingAnswer.
func (s *Tickets) Answer(ctx context.Context, player, id string, accept bool) (*Ticket, error) {
	t, err := s.Get(player, id)
	if err != nil {
		return nil, err
	}
	answer := flexmatch.Reject
	if accept {
		answer = flexmatch.Accept
	}
	err = s.deps.Matches.Answer(ctx, flexmatch.AcceptInput{TicketID: id, PlayerIDs: []string{player}, Answer: answer})
	if fault.Is(err, fault.InvalidRequest) || fault.Is(err, fault.NotFound) {
		return nil, refuse(NotAwaitingAnswer, "no proposed match of this ticket waits for an answer")
	}
	if err != nil {
		return nil, err
	}
	return s.current(t), nil
}

// expel cancels the open tickets of a player. A match that is being placed continues without
// the player, who is not told where.
func (s *Tickets) expel(tx *store.Tx, player string) {
	for t := range s.openOf(tx, player) {
		if err := s.deps.Matches.StopNow(tx, t.ID); err != nil && !fault.Is(err, fault.InvalidRequest) {
			s.log.Error("ticket of a player who is out not cancelled", "ticket_id", t.ID, "error", err)
		}
	}
}
