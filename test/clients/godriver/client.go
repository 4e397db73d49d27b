package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/beacon"
	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// skips are the verbs that the Go library does not have.
var skips = map[string]string{}

// client is one client of a story.
type client struct {
	lib  *player.Client
	kept *store
	tell func(event string, data any)
	ctx  context.Context // ends with close
	quit context.CancelFunc

	mu     sync.Mutex
	unpush context.CancelFunc // ends the push; nil: there is none
}

// arguments are the members that calls have.
type arguments struct {
	ID            int64              `json:"id"`
	URL           string             `json:"url"`
	Store         string             `json:"store"`
	NoPush        bool               `json:"no_push"`
	Provider      string             `json:"provider"`
	Token         string             `json:"token"`
	ConflictToken string             `json:"conflict_token"`
	Keep          player.Keep        `json:"keep"`
	All           bool               `json:"all"`
	DisplayName   string             `json:"display_name"`
	PlayerID      string             `json:"player_id"`
	IDs           []string           `json:"ids"`
	Namespace     string             `json:"namespace"`
	Key           string             `json:"key"`
	Value         json.RawMessage    `json:"value"`
	Version       *int64             `json:"version"`
	Matchmaker    string             `json:"matchmaker"`
	PartyID       string             `json:"party_id"`
	Attributes    map[string]any     `json:"attributes"`
	LatencyMs     map[string]float64 `json:"latency_ms"`
	Team          string             `json:"team"`
	Accept        *bool              `json:"accept"`
	TicketID      string             `json:"ticket_id"`
	Active        bool               `json:"active"`
	Code          string             `json:"code"`
	Max           int                `json:"max"`
	Ready         bool               `json:"ready"`
	Pool          string             `json:"pool"`
	Limit         int                `json:"limit"`
	Filter        string             `json:"filter"`
	Sort          string             `json:"sort"`
	Location      string             `json:"location"`
	SessionID     string             `json:"session_id"`
	PlacementID   string             `json:"placement_id"`
	Name          string             `json:"name"`
	MaxPlayers    int                `json:"max_players"`
	Properties    map[string]string  `json:"properties"`
	PlayerData    string             `json:"player_data"`
}

type object = map[string]any

// do carries out a call.
func (c *client) do(ctx context.Context, verb string, with *arguments) (any, error) {
	for _, group := range []func(context.Context, string, *arguments) (any, error){c.account, c.world, c.matchmaking, c.parties, c.sessions} {
		if result, err := group(ctx, verb, with); result != nil || err != nil {
			return result, err
		}
	}
	return nil, fmt.Errorf("%w: there is no verb %q", errUsage, verb)
}

// done returns the result of a call without one.
func done(err error) (any, error) { return object{}, err }

func (c *client) session() object {
	return object{"player_id": c.lib.PlayerID(), "logged_in": c.kept.held().Refresh != ""}
}

func (c *client) loggedIn(t player.Tokens, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object{"player_id": t.PlayerID, "scope": t.Scope, "logged_in": true}, nil
}

func (c *client) account(ctx context.Context, verb string, with *arguments) (any, error) {
	switch verb {
	case "loginGuest":
		return c.loggedIn(c.lib.Login(ctx))
	case "loginProvider":
		return c.loggedIn(c.lib.LoginWith(ctx, with.Provider, player.Credential{Token: with.Token}))
	case "link":
		return c.loggedIn(c.lib.Link(ctx, with.Provider, player.Credential{Token: with.Token}))
	case "unlink":
		return done(c.lib.Unlink(ctx, with.Provider))
	case "merge":
		return c.loggedIn(c.lib.Merge(ctx, with.ConflictToken, with.Keep))
	case "logout":
		return done(c.lib.Logout(ctx, with.All))
	case "session":
		return c.session(), nil
	case "me":
		return found(c.lib.Account(ctx))
	case "changeMe":
		return found(c.lib.Rename(ctx, with.DisplayName))
	case "deleteMe":
		return done(c.lib.DeleteAccount(ctx))
	case "publicPlayer":
		return found(c.lib.Profile(ctx, with.PlayerID))
	case "lookUpPlayers":
		all, err := c.lib.LookUp(ctx, with.IDs...)
		return object{"items": all}, err
	case "connectPush":
		c.connect()
		return object{}, nil
	case "disconnectPush":
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.unpush != nil {
			c.unpush()
			c.unpush = nil
		}
		return object{}, nil
	}
	return c.data(ctx, verb, with)
}

// found passes a result on.
func found[T any](v T, err error) (any, error) { return v, err }

func (c *client) data(ctx context.Context, verb string, with *arguments) (any, error) {
	expected := player.AnyVersion
	if with.Version != nil {
		expected = *with.Version
	}
	switch verb {
	case "getData":
		var value any
		version, err := c.lib.GetData(ctx, with.Namespace, with.Key, &value)
		return object{"value": value, "version": version}, err
	case "putData":
		version, err := c.lib.PutData(ctx, with.Namespace, with.Key, with.Value, expected)
		return object{"version": version}, err
	case "deleteData":
		return done(c.lib.DeleteData(ctx, with.Namespace, with.Key, expected))
	case "allData":
		all, err := c.lib.AllData(ctx, with.Namespace)
		return object{"items": all}, err
	}
	return nil, nil
}

func (c *client) world(ctx context.Context, verb string, with *arguments) (any, error) {
	switch verb {
	case "config":
		return found(c.lib.World(ctx))
	case "locations":
		all, err := c.lib.Locations(ctx)
		return object{"locations": all}, err
	case "measureLatency":
		return c.measure(ctx)
	case "reportLatency":
		var samples []player.Sample
		for where, ms := range with.LatencyMs {
			samples = append(samples, player.Sample{Location: where, RTT: time.Duration(ms * float64(time.Millisecond)), Method: "udp"})
		}
		accepted, err := c.lib.ReportLatency(ctx, samples)
		return object{"accepted": millis(accepted)}, err
	}
	return nil, nil
}

func millis(latency map[string]time.Duration) object {
	out := object{}
	for where, d := range latency {
		out[where] = float64(d) / float64(time.Millisecond)
	}
	return out
}

// measure measures the latency to each location.
func (c *client) measure(ctx context.Context) (any, error) {
	all, err := c.lib.Locations(ctx)
	if err != nil {
		return nil, err
	}
	var endpoints []beacon.Endpoint
	for _, l := range all {
		endpoints = append(endpoints, beacon.Endpoint{Location: l.Name, UDP: l.UDP})
	}
	results, err := beacon.Measure(ctx, endpoints, beacon.MeasureOptions{Deadline: 30 * time.Second})
	out := map[string]time.Duration{}
	for _, r := range results {
		if r.Err == nil {
			out[r.Location] = r.RTT
		}
	}
	return millis(out), err
}

// ask returns a request to be matched.
func (c *client) ask(with *arguments) (session.Matchmaking, session.MatchRequest) {
	p := session.Player{ID: c.lib.PlayerID(), Team: with.Team, Attributes: attributes(with.Attributes), Latency: latency(with.LatencyMs)}
	var m session.Matchmaking = c.lib
	if with.PartyID != "" {
		m = c.lib.ForParty(with.PartyID)
	}
	return m, session.MatchRequest{Configuration: with.Matchmaker, Players: []session.Player{p}}
}

func attributes(in map[string]any) map[string]session.Attribute {
	out := map[string]session.Attribute{}
	for name, v := range in {
		switch v := v.(type) {
		case string:
			out[name] = session.String(v)
		case float64:
			out[name] = session.Number(v)
		case []any:
			var all []string
			for _, s := range v {
				all = append(all, fmt.Sprint(s))
			}
			out[name] = session.StringList(all...)
		case map[string]any:
			numbers := map[string]float64{}
			for key, n := range v {
				numbers[key], _ = n.(float64)
			}
			out[name] = session.StringNumberMap(numbers)
		}
	}
	return out
}

func latency(ms map[string]float64) map[string]time.Duration {
	out := map[string]time.Duration{}
	for where, n := range ms {
		out[where] = time.Duration(n * float64(time.Millisecond))
	}
	return out
}

func (c *client) matchmaking(ctx context.Context, verb string, with *arguments) (any, error) {
	m, request := c.ask(with)
	me := c.lib.PlayerID()
	switch verb {
	case "startMatchmaking":
		t, err := m.StartMatchmaking(ctx, request)
		return ticketOut(t, me), err
	case "getTicket":
		all, err := c.lib.DescribeTickets(ctx, with.TicketID)
		if err == nil && len(all) == 0 {
			err = &player.Problem{Status: 404, Code: "not-found"}
		}
		if err != nil {
			return nil, err
		}
		return ticketOut(all[0], me), nil
	case "tickets":
		all, err := c.lib.Tickets(ctx, with.Active)
		items := []object{}
		for _, t := range all {
			items = append(items, ticketOut(t, me))
		}
		return object{"items": items}, err
	case "stopMatchmaking":
		return done(c.lib.StopMatchmaking(ctx, with.TicketID))
	case "acceptMatch":
		return done(c.lib.AcceptMatch(ctx, with.TicketID, *with.Accept))
	case "findMatch":
		o := session.MatchOptions{OnEvent: c.report}
		if with.Accept != nil {
			o.Accept = func(context.Context, session.Ticket) bool { return *with.Accept }
		}
		place, err := session.FindMatch(ctx, m, c.lib, nil, request, o)
		return connectionOut(place), err
	case "followTicket":
		var last session.TicketEvent
		for last = range c.lib.Track(ctx, with.TicketID) {
			c.report(last)
		}
		if last.Err != nil && last.Last() {
			return nil, last.Err
		}
		return ticketOut(last.Ticket, me), ctx.Err()
	}
	return nil, nil
}

func (c *client) report(e session.TicketEvent) {
	if e.Kind != session.TrackError {
		c.tell("ticket", ticketOut(e.Ticket, c.lib.PlayerID()))
	}
}

func ticketOut(t session.Ticket, me string) object {
	players := []object{}
	for _, p := range t.Players {
		players = append(players, object{"player_id": p.ID, "team": p.Team})
	}
	out := object{"ticket_id": t.ID, "matchmaker": t.ConfigurationName, "state": strings.ToLower(string(t.State)), "reason": t.StatusReason, "players": players}
	if place, ok := t.Connections[me]; ok {
		out["connection"] = connectionOut(place)
	}
	return out
}

func connectionOut(c session.Connection) object {
	host := c.DNSName
	if host == "" {
		host = c.IPAddress
	}
	return object{"session_id": c.SessionID, "host": host, "ip": c.IPAddress, "port": c.Port, "player_session_id": c.PlayerSessionID}
}

func (c *client) parties(ctx context.Context, verb string, with *arguments) (any, error) {
	switch verb {
	case "createParty":
		return found(c.lib.CreateParty(ctx, with.Matchmaker, with.Max))
	case "joinParty":
		return found(c.lib.JoinParty(ctx, with.Code))
	case "getParty":
		return found(c.lib.Party(ctx, with.PartyID))
	case "changeMember":
		return found(c.lib.ChangeMembership(ctx, with.PartyID, player.Membership{Ready: with.Ready, Attributes: attributes(with.Attributes), Latency: latency(with.LatencyMs)}))
	case "leaveParty":
		if with.PlayerID != "" {
			return done(c.lib.PutOut(ctx, with.PartyID, with.PlayerID))
		}
		return done(c.lib.LeaveParty(ctx, with.PartyID))
	}
	return nil, nil
}

func (c *client) sessions(ctx context.Context, verb string, with *arguments) (any, error) {
	me := c.lib.PlayerID()
	target := session.Target{QueueName: with.Pool, Location: with.Location}
	switch verb {
	case "listSessions":
		items := []object{}
		for g, err := range c.lib.Search(ctx, session.SearchRequest{Target: target, Max: with.Limit, Filter: with.Filter, Sort: with.Sort}) {
			if err != nil {
				return nil, err
			}
			items = append(items, gameOut(&g))
		}
		return object{"items": items}, nil
	case "getSession":
		g, err := c.lib.Describe(ctx, with.SessionID)
		return gameOut(&g), err
	case "createSession":
		made, err := c.lib.Create(ctx, session.CreateRequest{Target: target, Name: with.Name, MaxPlayers: with.MaxPlayers, Properties: with.Properties})
		return object{"placement_id": made.PlacementID}, err
	case "followPlacement":
		p, err := c.lib.WaitPlacement(ctx, with.PlacementID)
		return placementOut(p, me), err
	case "stopPlacement":
		return done(c.lib.CancelPlacement(ctx, with.PlacementID))
	case "joinSession":
		place, err := c.lib.Reserve(ctx, session.JoinRequest{SessionID: with.SessionID, PlayerID: me, PlayerData: with.PlayerData})
		return object{"connection": connectionOut(place)}, err
	case "reservations":
		all, err := c.lib.Reservations(ctx)
		items := []object{}
		for _, place := range all {
			items = append(items, object{"connection": connectionOut(place)})
		}
		return object{"items": items}, err
	}
	return nil, nil
}

func gameOut(g *session.Info) object {
	return object{
		"session_id": g.ID, "name": g.Name, "status": g.Status, "properties": g.Properties, "players": g.Players, "max_players": g.MaxPlayers,
		"accepts_players": g.AcceptsPlayers, "location": g.Location,
	}
}

func placementOut(p session.Placement, me string) object {
	out := object{"placement_id": p.ID, "state": strings.ToLower(string(p.Status))}
	if place, ok := p.Connections[me]; ok {
		out["connection"] = connectionOut(place)
	}
	return out
}

// connect begins to report what is pushed, unless it is under way.
func (c *client) connect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unpush == nil {
		var ctx context.Context
		ctx, c.unpush = context.WithCancel(c.ctx)
		go c.watch(ctx)
	}
}

func (c *client) watch(ctx context.Context) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ctx.Err() == nil { // nobody has ended it
			c.unpush()
			c.unpush = nil
		}
		c.tell("push", object{"state": "closed"})
	}()
	for e := range c.lib.Watch(ctx) {
		switch {
		case e.Ticket != nil:
			c.tell("ticket", ticketOut(*e.Ticket, c.lib.PlayerID()))
		case e.Party != nil:
			c.tell("party", e.Party)
		case e.PartyLeft:
			c.tell("partyLeft", protocol.SocketTicketID{})
		case e.Placement != nil:
			c.tell("placement", placementOut(*e.Placement, c.lib.PlayerID()))
		default:
			c.tell("push", object{"state": e.Push})
		}
	}
}
