package pages

import (
	"cmp"
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
	Reason     string         `json:"reason,omitempty"` // the GameSessionStatusReason, or else the code of the event by which its process ended
	How        string         `json:"how,omitempty"`    // its process ended, for people
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
	Sessions []SessionRow   `json:"sessions"`
	From     int            `json:"from"`   // the place of the first one in Sessions, from 0
	Found    int            `json:"found"`  // how many the filter finds
	All      int            `json:"all"`    // without the filter
	Counts   map[string]int `json:"counts"` // of all, by status
}

const (
	sessionsUsual = 500    // game sessions that a page gets
	sessionsMost  = 10_000 // if it asks for more
)

// SessionQuery says which game sessions a page shows, and in what order.
type SessionQuery struct {
	FleetID string
	Status  session.Status // "" means all
	Text    string         // in the id, name, location or address; "" means all
	Sort    string         // created, status, players, location, address or fleet; after "-" the other way round. "" means the newest first. Those that are equal: the newest first
	From    int            // the place of the first one, from 0
	Limit   int            // 0 means 500; at most 10,000
}

// sessionOrders are the orders of game sessions, by the column that shows what they compare.
var sessionOrders = map[string]func(p *Pages, a, b *session.GameSession) int{
	"created": func(_ *Pages, a, b *session.GameSession) int { return a.Created.Compare(b.Created) },
	"status": func(_ *Pages, a, b *session.GameSession) int {
		return strings.Compare(string(a.Status), string(b.Status))
	},
	"location": func(_ *Pages, a, b *session.GameSession) int { return strings.Compare(a.Location, b.Location) },
	"address":  func(_ *Pages, a, b *session.GameSession) int { return strings.Compare(a.IPAddress, b.IPAddress) },
	"fleet":    func(_ *Pages, a, b *session.GameSession) int { return strings.Compare(a.FleetID, b.FleetID) },
	"players": func(p *Pages, a, b *session.GameSession) int {
		view := p.Store.View()
		return p.Sessions.Players.Count(view, a.ID) - p.Sessions.Players.Count(view, b.ID)
	},
}

// GameSessions returns the game sessions that a query selects, in the places that the caller
// reaches. Errors: InvalidRequest.
func (p *Pages) GameSessions(ctx context.Context, caller auth.Caller, q SessionQuery) (*SessionList, error) {
	order, down := sessionOrders["created"], true
	if q.Sort != "" {
		name, other := strings.CutPrefix(q.Sort, "-")
		if order, down = sessionOrders[name], other; order == nil {
			return nil, fault.Invalid("sort: %.40q is no column that game sessions are sorted by", q.Sort)
		}
	}
	if q.Limit == 0 {
		q.Limit = sessionsUsual
	}
	view := p.Store.View()
	out := &SessionList{Sessions: []SessionRow{}, Counts: map[string]int{}}
	text := strings.ToLower(q.Text)
	var found []*session.GameSession
	reaches := p.locationsOf(caller)
	for f := range p.Fleets.All(view, "") {
		if q.FleetID != "" && f.ID != p.Home.FleetID(q.FleetID) || !caller.Reaches(p.Home.OfFleet(f.ID)) {
			continue
		}
		for g := range p.Sessions.All(view, f.ID) {
			if !reaches(g.Location) {
				continue
			}
			out.All++
			out.Counts[string(g.Status)]++
			if (q.Status == "" || g.Status == q.Status) && (text == "" || has(text, g.ID, g.Name, g.Location, g.IPAddress)) {
				found = append(found, g)
			}
		}
	}
	slices.SortFunc(found, func(a, b *session.GameSession) int {
		first := order(p, a, b)
		if down {
			first = -first
		}
		return cmp.Or(first, b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	out.Found = len(found)
	out.From = min(q.From, len(found))
	for _, g := range found[out.From:min(len(found), out.From+min(q.Limit, sessionsMost))] {
		out.Sessions = append(out.Sessions, p.sessionRow(g))
	}
	return out, ctx.Err()
}

// has reports whether one of the names contains text, which is in lower case.
func has(text string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), text) })
}

func (p *Pages) sessionRow(g *session.GameSession) SessionRow {
	return SessionRow{
		ID: g.ID, Name: g.Name, FleetID: g.FleetID, Location: g.Location, Status: g.Status, Reason: reasonOf(g), How: g.How,
		Created: g.Created, Ended: g.Ended, Players: p.Sessions.Players.Count(p.Store.View(), g.ID), MaxPlayers: g.MaxPlayers,
		Protected: g.Protection == "FullProtection", Address: g.IPAddress, Port: g.Port,
	}
}

// reasonOf returns why a game session ended, "" if its process ended it.
func reasonOf(g *session.GameSession) string { return cmp.Or(g.Reason, string(g.Cause)) }

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
		on := *c
		on.HostID = p.HostOf(c)
		out.Process, out.Host = &on, c.ComputeName
		if h := p.Instances.Host(view, on.HostID); h != nil {
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

// locationsOf returns a function that reports whether a location is in a caller's scope. It is
// for many calls by one goroutine.
func (p *Pages) locationsOf(caller auth.Caller) func(location string) bool {
	known := map[string]bool{}
	return func(location string) bool {
		if !caller.Scoped() {
			return true
		}
		reaches, ok := known[location]
		if !ok {
			reaches = caller.ReachesBeside(p.Home.Of("location", location))
			known[location] = reaches
		}
		return reaches
	}
}

// reachesSession reports whether a game session is in a caller's scope.
func (p *Pages) reachesSession(caller auth.Caller, gameSessionID string) bool {
	return caller.Reaches(p.fleetOf(gameSessionID)) && caller.ReachesBeside(p.Home.Of("location", arn.SessionLocation(gameSessionID)))
}
