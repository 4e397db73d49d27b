package lobby

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/flexmatch"
)

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
	case s.matches.Configurations.Get(s.st.View(), m.Configuration) == nil:
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

// players returns the players of a ticket: the requesting one, or the party, with the
// party's change at which its members agreed.
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

// player returns a player of a ticket with attributes and latencies.
func (s *Tickets) player(m *Matchmaker, id string, sent map[string]JSON, latency map[string]float64) (flexmatch.Player, error) {
	attributes, err := s.attributes(m, id, sent)
	if err != nil {
		return flexmatch.Player{}, err
	}
	ms, err := s.latencies.forRequest(id, latency, m)
	return flexmatch.Player{ID: id, Attributes: attributes, Latency: ms}, err
}
