package pages

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// SessionRow is a game session in a list.
type SessionRow struct {
	ID         string         `json:"id"`
	Name       string         `json:"name,omitempty"`
	FleetID    string         `json:"fleet_id"`
	Location   string         `json:"location"`
	Status     session.Status `json:"status"`
	Reason     string         `json:"reason,omitempty"`
	Created    time.Time      `json:"created"`
	Ended      time.Time      `json:"ended,omitzero"`
	Players    int            `json:"players"`
	MaxPlayers int            `json:"max_players"`
	Protected  bool           `json:"protected,omitempty"`
	Address    string         `json:"address"`
	Port       int            `json:"port"`
}

// SessionList is the page of all game sessions: those that have not ended, and those that
// ended a short time ago.
type SessionList struct {
	Sessions []SessionRow   `json:"sessions"` // newest first, at most 10,000
	All      int            `json:"all"`
	Counts   map[string]int `json:"counts"` // by status
}

// sessionsMost bounds how many game sessions a page gets.
const sessionsMost = 10_000

// GameSessions returns the game sessions of a fleet, or of all if fleetID is "", in the
// places that the caller reaches.
func (p *Pages) GameSessions(ctx context.Context, caller auth.Caller, fleetID string) (*SessionList, error) {
	view := p.Store.View()
	out := &SessionList{Sessions: []SessionRow{}, Counts: map[string]int{}}
	for f := range p.Fleets.All(view, "") {
		if fleetID != "" && f.ID != p.Home.FleetID(fleetID) || !caller.Reaches(p.Home.OfFleet(f.ID)) {
			continue
		}
		for g := range p.Sessions.All(view, f.ID) {
			if !caller.ReachesBeside(p.Home.Of("location", g.Location)) {
				continue
			}
			out.All++
			out.Counts[string(g.Status)]++
			out.Sessions = append(out.Sessions, p.sessionRow(g))
		}
	}
	slices.SortFunc(out.Sessions, func(a, b SessionRow) int {
		if d := b.Created.Compare(a.Created); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	out.Sessions = out.Sessions[:min(len(out.Sessions), sessionsMost)]
	return out, ctx.Err()
}

func (p *Pages) sessionRow(g *session.GameSession) SessionRow {
	return SessionRow{
		ID: g.ID, Name: g.Name, FleetID: g.FleetID, Location: g.Location, Status: g.Status, Reason: g.Reason,
		Created: g.Created, Ended: g.Ended, Players: p.Sessions.Players.Count(p.Store.View(), g.ID), MaxPlayers: g.MaxPlayers,
		Protected: g.Protection == "FullProtection", Address: g.IPAddress, Port: g.Port,
	}
}

// Lane is a player's time in a game session.
type Lane struct {
	ID       string               `json:"id,omitempty"` // of the player session
	PlayerID string               `json:"player_id"`
	Status   session.PlayerStatus `json:"status"`
	Created  time.Time            `json:"created"`
	Accepted time.Time            `json:"accepted,omitzero"`
	Ended    time.Time            `json:"ended,omitzero"`
	Until    time.Time            `json:"until,omitzero"` // of a reservation
}

// SessionPage is a game session's page.
type SessionPage struct {
	SessionRow
	DNSName    string             `json:"dns_name,omitempty"`
	CreatorID  string             `json:"creator_id,omitempty"`
	JoinPolicy session.JoinPolicy `json:"join_policy"`
	Data       string             `json:"data,omitempty"`
	Properties []session.Property `json:"properties,omitempty"`
	Matchmaker string             `json:"matchmaker_data,omitempty"`
	Process    *compute.Process   `json:"process,omitempty"`
	Host       string             `json:"host,omitempty"`
	Lanes      []Lane             `json:"lanes"`
	Events     []EventRow         `json:"events"` // oldest first
}

// GameSession returns a game session's page. Errors: NotFound.
func (p *Pages) GameSession(ctx context.Context, caller auth.Caller, id string) (*SessionPage, error) {
	view := p.Store.View()
	g, err := p.Sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if g == nil || !caller.ReachesBeside(p.Home.Of("location", g.Location)) {
		return nil, fault.Missing("GameSessionId: game session %.256q does not exist", id)
	}
	out := &SessionPage{
		SessionRow: p.sessionRow(g), DNSName: g.DNSName, CreatorID: g.CreatorID, JoinPolicy: g.JoinPolicy, Data: g.Data,
		Properties: g.Properties, Matchmaker: g.Matchmaker, Lanes: []Lane{}, Events: []EventRow{},
	}
	if c := p.Computes.Process(view, g.ProcessKey); c != nil {
		out.Process, out.Host = c, c.ComputeName
		if h := p.Instances.Host(view, c.HostID); h != nil {
			out.Host = h.Name
		}
	}
	players, _, err := p.Sessions.Players.List(ctx, session.PlayerQuery{GameSessionID: id, Limit: 500})
	if err != nil {
		return nil, err
	}
	entries, err := p.Events.Read(ctx, event.Query{GameSessionID: id, Limit: 500})
	if err != nil {
		return nil, err
	}
	accepted := map[string]time.Time{}
	for _, e := range entries {
		if e.Value.Code == event.PlayerSessionAccepted {
			accepted[e.Value.PlayerSessionID] = e.Value.Time
		}
		out.Events = append(out.Events, EventRow{Seq: e.Seq, At: e.Value.Time, Code: e.Value.Code, Text: e.Value.Message})
	}
	hide := caller.Has(auth.ReadPlayerSessionIDs) != nil
	for _, s := range players {
		l := Lane{ID: s.ID, PlayerID: s.PlayerID, Status: s.Status, Created: s.Created, Ended: s.Ended, Accepted: accepted[s.ID]}
		if s.Status == session.Reserved {
			l.Until = s.ReservedUntil
		}
		if hide {
			l.ID = ""
		}
		out.Lanes = append(out.Lanes, l)
	}
	return out, nil
}

// fleetOf returns the ARN of a game session's fleet.
func (p *Pages) fleetOf(gameSessionID string) string {
	return p.Home.OfFleet(arn.SessionFleet(gameSessionID))
}
