package backend

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/session"
)

// sessionName returns a game session's id in a form for paths: its ARN in base64url.
func sessionName(arn string) string { return base64.RawURLEncoding.EncodeToString([]byte(arn)) }

func sessionARN(name string) (string, bool) {
	text, err := base64.RawURLEncoding.DecodeString(name)
	return string(text), err == nil && len(text) > 0
}

// mostListed limits a list of game sessions.
const mostListed = 20

func (rq *request) listSessions() (answer, error) {
	q := rq.http.URL.Query()
	pool, err := rq.pool(q.Get("pool"), func(p *Pool) bool { return p.CanList })
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.b.rates.message, "list "+rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	limit := mostListed
	if text := q.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > mostListed {
			return answer{}, refuse("invalid-parameter", "limit: must be 1 to 20")
		}
	}
	view := rq.b.st.View()
	out := &protocol.GameSessions{Items: []protocol.GameSession{}}
	for _, fleetID := range rq.b.fleetsOf(view, pool) {
		for _, g := range rq.b.joinable(view, pool, fleetID, q.Get("location"), limit-len(out.Items)) {
			out.Items = append(out.Items, rq.b.gameOut(view, pool.Name, g))
		}
	}
	return ok(out)
}

// fleetsOf returns the fleets of a pool's queue.
func (b *Backend) fleetsOf(view *store.Snapshot, pool *Pool) []string {
	q := b.opts.Placements.Queues.Get(view, pool.Queue)
	if q == nil {
		return nil
	}
	var ids []string
	for _, destination := range q.Destinations {
		f := b.opts.Fleets.Get(view, destination)
		if f == nil {
			var err error
			if f, err = b.opts.Fleets.Aliases.Resolve(view, destination); err != nil {
				continue
			}
		}
		if !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// joinable returns game sessions of a pool in a fleet that have room, oldest first.
func (b *Backend) joinable(view *store.Snapshot, pool *Pool, fleetID, location string, limit int) []*session.GameSession {
	var found []*session.GameSession
	for g := range b.opts.Sessions.Offered(view, fleetID) {
		if len(found) >= limit {
			break
		}
		elsewhere := location != "" && g.Location != location
		if !elsewhere && b.inPool(g, pool) && g.JoinPolicy == session.AcceptAll && b.opts.Sessions.Players(view, g.ID) < g.MaxPlayers {
			found = append(found, g)
		}
	}
	return found
}

// inPool reports whether a game session belongs to a pool. On an open server, those that
// were not matched belong to every pool.
func (b *Backend) inPool(g *session.GameSession, pool *Pool) bool {
	name, marked := g.Property(poolProperty)
	return name == pool.Name || b.Open && !marked && g.Matchmaker == ""
}

// gameOut returns a game session as players see it. Properties are included only if a
// player created it: others are between operator and game server.
func (b *Backend) gameOut(view *store.Snapshot, pool string, g *session.GameSession) protocol.GameSession {
	out := protocol.GameSession{
		SessionID: sessionName(g.ID), Status: protocol.GameSessionStatus(g.Status), StatusReason: g.Reason, Name: g.Name, Pool: pool,
		Properties: map[string]string{}, Players: int64(b.opts.Sessions.Players(view, g.ID)), MaxPlayers: int64(g.MaxPlayers),
		AcceptsPlayers: g.JoinPolicy == session.AcceptAll, Location: g.Location, CreatedAt: g.Created, EndedAt: g.Ended,
	}
	for _, p := range g.Properties {
		if pool != "" && p.Key != poolProperty {
			out.Properties[p.Key] = p.Value
		}
	}
	return out
}

// getSession shows a game session to the players who have a place in it, or had one; for
// others it does not exist. An ended one leaves memory after a while, and is not found
// from then on.
func (rq *request) getSession() (answer, error) {
	if err := rq.limit(rq.b.rates.message, "session "+rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	view := rq.b.st.View()
	g := rq.sessionOfPath(view)
	if g == nil || !rq.b.knows(view, rq.player.PlayerID, g.ID) {
		return answer{}, refuse("not-found", "you have no place in such a game session")
	}
	pool, _ := g.Property(poolProperty)
	return ok(rq.b.gameOut(view, pool, g))
}

// sessionOfPath returns the game session that the path names, or nil.
func (rq *request) sessionOfPath(view *store.Snapshot) *session.GameSession {
	id, good := sessionARN(rq.param("session"))
	if !good || !strings.HasPrefix(id, "arn:") {
		return nil
	}
	return rq.b.opts.Sessions.Live(view, id)
}

// knows reports whether a player has a place in a game session, or had one.
func (b *Backend) knows(view *store.Snapshot, player, gameSessionID string) bool {
	for p := range b.opts.Sessions.PlayersOf(view, gameSessionID) {
		if p.PlayerID == player {
			return true
		}
	}
	return false
}

// maxPlayerData is the API's limit (API reference, CreatePlayerSession).
const maxPlayerData = 2048

func (rq *request) joinSession() (answer, error) {
	in := protocol.JoinRequest{}
	if len(rq.body) > 0 {
		var err error
		if in, err = decode[protocol.JoinRequest](rq); err != nil {
			return answer{}, err
		}
	}
	if len([]rune(in.PlayerData)) > maxPlayerData {
		return answer{}, refuse("validation-failed", "player_data: at most 2048 characters")
	}
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	g, err := rq.joinableSession()
	if err != nil {
		return answer{}, err
	}
	if held := rq.heldIn(g.ID); held != nil { // in it already: returns the same place
		return answer{status: http.StatusOK, body: reservationOut(held)}, nil
	}
	joining := session.Joining{PlayerID: rq.player.PlayerID, Data: in.PlayerData}
	made, err := rq.b.opts.Sessions.Reserve(rq.http.Context(), session.ReserveInput{GameSessionID: g.ID, Players: []session.Joining{joining}})
	if fault.Is(err, fault.InvalidRequest) { // another request of the player came first
		if held := rq.heldIn(g.ID); held != nil {
			return answer{status: http.StatusOK, body: reservationOut(held)}, nil
		}
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: reservationOut(made[0])}, nil
}

// joinableSession returns the game session in the path, if it is in a pool that the
// player may list.
func (rq *request) joinableSession() (*session.GameSession, error) {
	missing := refuse("not-found", "there is no such game session to join")
	view := rq.b.st.View()
	g := rq.sessionOfPath(view)
	if g == nil {
		return nil, missing
	}
	for _, p := range rq.b.pools(view) {
		if p.CanList && allows(p.Scopes, rq.player.Scope) && rq.b.inPool(g, &p) && slices.Contains(rq.b.fleetsOf(view, &p), g.FleetID) {
			return g, nil
		}
	}
	return nil, missing
}

func (rq *request) heldIn(gameSessionID string) *session.PlayerSession {
	for p := range rq.b.opts.Sessions.PlayersOf(rq.b.st.View(), gameSessionID) {
		if p.PlayerID == rq.player.PlayerID && p.Status.HoldsSlot() {
			return p
		}
	}
	return nil
}

func reservationOut(p *session.PlayerSession) *protocol.Reservation {
	out := &protocol.Reservation{
		Connection: connection(p.GameSessionID, p.IPAddress, p.DNSName, p.Port, p.ID), Status: protocol.ReservationStatus(p.Status),
	}
	if p.Status == session.Reserved {
		out.ReservedUntil = p.ReservedUntil
	}
	return out
}

// mostReservations is more than any player has.
const mostReservations = 20

func (rq *request) reservations() (answer, error) {
	out := &protocol.Reservations{Items: []protocol.Reservation{}}
	for _, status := range []session.PlayerStatus{session.Reserved, session.Playing} {
		page, _, err := rq.b.opts.Sessions.ListPlayers(rq.http.Context(), session.PlayerQuery{
			PlayerID: rq.player.PlayerID, Status: status, Limit: mostReservations,
		})
		if err != nil {
			return answer{}, err
		}
		for _, p := range slices.Backward(page) {
			out.Items = append(out.Items, *reservationOut(p))
		}
	}
	return ok(out)
}
