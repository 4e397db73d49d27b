package backend

import (
	"cmp"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/session"
	"github.com/musterhq/muster/session/filter"
)

// Around the parts of a game session's ARN that its name keeps.
const (
	beforeRegion  = "arn:aws:gamelift:"
	beforeSession = "::gamesession/"
)

// sessionName returns a game session's id in a form for paths, in which people recognize the
// ARN: its region, fleet, custom location if there is one, and id, with colons in between.
func sessionName(arn string) string {
	region, rest, _ := strings.Cut(strings.TrimPrefix(arn, beforeRegion), beforeSession)
	return region + ":" + strings.ReplaceAll(rest, "/", ":")
}

// sessionOf returns the id of the game session that the path names, or "" if it is malformed.
func sessionOf(rq *request) string {
	region, rest, ok := strings.Cut(rq.param("session"), ":")
	if !ok {
		return ""
	}
	return beforeRegion + region + beforeSession + strings.ReplaceAll(rest, ":", "/")
}

// games handles game sessions that players see and join.
type games struct{ *core }

const mostListed = 20

func (h *games) list(rq *request) (answer, error) {
	q := rq.http.URL.Query()
	pool, err := h.Lobby.Games.PoolToList(q.Get("pool"), rq.player.Scope)
	if err != nil {
		return answer{}, err
	}
	if err := message("list")(rq); err != nil {
		return answer{}, err
	}
	query := lobby.ListQuery{Location: q.Get("location"), Limit: mostListed, Name: sessionName}
	if text := q.Get("limit"); text != "" {
		query.Limit, err = strconv.Atoi(text)
		if err != nil || query.Limit < 1 || query.Limit > mostListed {
			return answer{}, refuse("invalid-parameter", "limit: must be 1 to 20")
		}
	}
	if query.Filter, err = expression("filter", q.Get("filter"), filter.Parse); err != nil {
		return answer{}, err
	}
	if query.Sort, err = expression("sort", q.Get("sort"), filter.ParseSort); err != nil {
		return answer{}, err
	}
	out := &protocol.GameSessions{Items: []protocol.GameSession{}}
	for _, g := range h.Lobby.Games.List(pool, query) {
		out.Items = append(out.Items, gameOut(&g))
	}
	return ok(out, nil)
}

// mostExpression is the API's limit in characters (API reference, SearchGameSessions).
const mostExpression = 1024

// expression parses the expression of a parameter; nil if there is none.
func expression[T any](name, text string, parse func(string) (*T, error)) (*T, error) {
	if text == "" {
		return nil, nil
	}
	if utf8.RuneCountInString(text) > mostExpression {
		return nil, refuse("invalid-parameter", name+": at most 1024 characters")
	}
	parsed, err := parse(text)
	if err != nil {
		return nil, refuse("invalid-parameter", name+": "+err.Error())
	}
	return parsed, nil
}

// gameOut returns a game session as players see it.
func gameOut(g *lobby.Game) protocol.GameSession {
	out := protocol.GameSession{
		SessionID: sessionName(g.ID), Status: protocol.GameSessionStatus(g.Status), StatusReason: g.Reason, Name: g.Name, Pool: g.Pool,
		Properties: map[string]string{}, Players: int64(g.Players), MaxPlayers: int64(g.MaxPlayers),
		AcceptsPlayers: g.JoinPolicy == session.AcceptAll, Location: g.Location, CreatedAt: g.Created, EndedAt: g.Ended,
	}
	for _, p := range g.Properties {
		if g.Shows(p) {
			out.Properties[p.Key] = p.Value
		}
	}
	return out
}

func (h *games) get(rq *request) (answer, error) {
	g, err := h.Lobby.Games.Game(rq.player.PlayerID, sessionOf(rq))
	if err != nil {
		return answer{}, err
	}
	return ok(gameOut(&g), nil)
}

// maxPlayerData is the API's limit (API reference, CreatePlayerSession).
const maxPlayerData = 2048

func (h *games) join(rq *request) (answer, error) {
	in := protocol.JoinRequest{}
	if len(rq.body) > 0 {
		if err := decodeText(rq.body, &in, ""); err != nil {
			return answer{}, err
		}
	}
	if len([]rune(in.PlayerData)) > maxPlayerData {
		return answer{}, refuse("validation-failed", "player_data: at most 2048 characters")
	}
	p, made, err := h.Lobby.Games.Join(rq.context(), rq.player.PlayerID, rq.player.Scope, sessionOf(rq), in.PlayerData)
	switch {
	case err != nil:
		return answer{}, err
	case made:
		return answer{status: http.StatusCreated, body: reservationOut(p, rq.from)}, nil
	}
	return ok(reservationOut(p, rq.from), nil)
}

func reservationOut(p *session.PlayerSession, client netip.Addr) *protocol.Reservation {
	out := &protocol.Reservation{
		Connection: connection(lobby.ConnectionOf(p), p.ID, client), Status: protocol.ReservationStatus(p.Status),
	}
	if p.Status == session.Reserved {
		out.ReservedUntil = p.ReservedUntil
	}
	return out
}

func (h *games) reservations(rq *request) (answer, error) {
	all, err := h.Lobby.Games.Reservations(rq.context(), rq.player.PlayerID)
	if err != nil {
		return answer{}, err
	}
	out := &protocol.Reservations{Items: []protocol.Reservation{}}
	for _, p := range all {
		out.Items = append(out.Items, *reservationOut(p, rq.from))
	}
	return ok(out, nil)
}

// connection returns a connection for a client: if that comes over IPv6 and the game server's
// machine has an IPv6 address too, with that one first.
func connection(to lobby.Connection, playerSession string, client netip.Addr) *protocol.Connection {
	if client.Unmap().Is6() {
		to = to.PreferIPv6()
	}
	return &protocol.Connection{
		SessionID: sessionName(to.SessionID), IP: to.IP, Addresses: to.Addresses(), DNSName: to.DNSName, Host: cmp.Or(to.DNSName, to.IP),
		Port: int64(to.Port), PlayerSessionID: playerSession,
	}
}

// placements handles game sessions that players request.
type placements struct{ *core }

func (h *placements) start(rq *request, in *protocol.SessionRequest) (answer, error) {
	pool, err := h.Lobby.Placements.PoolToCreateIn(in.Pool, rq.player.Scope)
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.rates.session, rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	p, err := h.Lobby.Placements.Start(rq.context(), rq.player.PlayerID, pool, lobby.SessionRequest{
		Name: in.Name, MaxPlayers: in.MaxPlayers, Properties: in.Properties, Latency: in.LatencyMs,
	})
	return h.accepted(rq, p, err)
}

func (h *placements) accepted(rq *request, p *lobby.Placement, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: placementOut(p, rq.from), etag: quoted(p.Seq)}, nil
}

func (h *placements) get(rq *request) (answer, error) {
	return h.hub.poll(rq, func() (body any, seq int64, ended bool, err error) {
		p, err := h.Lobby.Placements.Get(rq.player.PlayerID, rq.param("placement"))
		if err != nil {
			return nil, 0, false, err
		}
		return placementOut(p, rq.from), p.Seq, p.Over(), nil
	})
}

func (h *placements) cancel(rq *request) (answer, error) {
	p, err := h.Lobby.Placements.Cancel(rq.context(), rq.player.PlayerID, rq.param("placement"))
	return h.accepted(rq, p, err)
}

func placementOut(p *lobby.Placement, client netip.Addr) *protocol.Placement {
	r := &p.Result
	out := &protocol.Placement{
		PlacementID: p.ID, Pool: p.Pool, State: protocol.PlacementState(r.State), Reason: r.Reason, CreatedAt: p.Created, ExpiresAt: p.Expires, Seq: p.Seq,
	}
	if r.State == lobby.PlacementFulfilled {
		out.Connection = connection(r.Connection, r.PlayerSessionID, client)
	}
	return out
}
