package session

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// PlayerSession is one slot of a game session, reserved or used by a player.
type PlayerSession struct {
	ID            string       `json:"id"`
	GameSessionID string       `json:"game_session_id"`
	FleetID       string       `json:"fleet_id"`
	PlayerID      string       `json:"player_id"`
	Data          string       `json:"data,omitzero"`
	Status        PlayerStatus `json:"status"`
	Created       time.Time    `json:"created"`
	Ended         time.Time    `json:"ended,omitzero"`

	compute.Address     // where it was, once it has ended; before that it is where its game session is (Players.Located)
	Port            int `json:"port,omitzero"` // like Address

	ReservedUntil time.Time `json:"reserved_until"`
	ArchiveAt     time.Time `json:"archive_at,omitzero"`
}

// due returns when the reservation times out or, once ended, the player session is
// archived, or zero.
func (p *PlayerSession) due() time.Time {
	switch p.Status {
	case Reserved:
		return p.ReservedUntil
	case Completed, TimedOut:
		return p.ArchiveAt
	}
	return time.Time{}
}

// Players are the player sessions of game sessions.
type Players struct {
	st       *store.Store
	opts     Options
	events   *event.Log
	computes *compute.Service
	games    *Games

	table    *store.Table[PlayerSession]
	ofGame   *store.Index[PlayerSession] // by game session
	slots    *store.Index[PlayerSession] // only those that hold a slot, by game session
	ofPlayer *store.Index[PlayerSession] // by player id
	due      *store.DueIndex[PlayerSession]
	changed  func(*store.Tx, *PlayerSession) // called for each player session that changes
	playing  *store.Sum[PlayerSession]       // number that hold a slot, by fleet and location ("" is all)

	reserve *store.Command[ReserveInput, []*PlayerSession]
	accept  *store.Command[playerArgs, *PlayerSession]
	remove  *store.Action[playerArgs]
}

func newPlayers(games *Games, computes *compute.Service, o Options) *Players {
	st := games.st
	s := &Players{st: st, opts: o, events: games.events, computes: computes, games: games}
	gameOf := func(p *PlayerSession) string { return p.GameSessionID }
	playerOf := func(p *PlayerSession) string { return p.PlayerID }
	s.table = store.NewTable(st, store.TableSpec[PlayerSession]{
		Name: "player_session", Key: func(p *PlayerSession) string { return p.ID }, Retention: o.Retention,
		Columns: []store.Column[PlayerSession]{{Name: "game_session", Value: gameOf, Digest: true}, {Name: "player", Value: playerOf}},
	})
	s.ofGame = store.NewIndex(s.table, "game", func(p *PlayerSession, emit func(string)) { emit(p.GameSessionID) })
	s.slots = store.NewIndex(s.table, "slots", func(p *PlayerSession, emit func(string)) {
		if p.Status.HoldsSlot() {
			emit(p.GameSessionID)
		}
	})
	s.ofPlayer = store.NewIndex(s.table, "player", func(p *PlayerSession, emit func(string)) { emit(p.PlayerID) })
	s.playing = store.NewSum(s.table, "playing", func(p *PlayerSession, add func(string, int)) {
		if p.Status.HoldsSlot() {
			add(store.Key(p.FleetID, arn.SessionLocation(p.GameSessionID)), 1)
			add(store.Key(p.FleetID, ""), 1)
		}
	})
	s.due = store.NewDueIndex(s.table, "due", (*PlayerSession).due)
	s.reserve = store.NewCommand(st, "session.reserve", s.ReserveNow)
	s.accept = store.NewCommand(st, "player.accept", s.runAccept)
	s.remove = store.NewAction(st, "player.remove", s.runRemove)
	return s
}

// Count returns the number of slots in use: reserved and active player sessions, and players
// without one, where a program says how many there are.
func (s *Players) Count(r store.Reader, gameSessionID string) int {
	n := s.slots.Count(r, gameSessionID)
	if g := s.games.Live(r, gameSessionID); g != nil {
		n += g.Others
	}
	return n
}

// Holding yields the player sessions that hold a slot of a game session: those that are RESERVED or
// ACTIVE.
func (s *Players) Holding(r store.Reader, gameSessionID string) iter.Seq[*PlayerSession] {
	return s.slots.Equal(r, gameSessionID)
}

// OfPlayer yields the player sessions of a player that are in memory.
func (s *Players) OfPlayer(r store.Reader, playerID string) iter.Seq[*PlayerSession] {
	return s.ofPlayer.Equal(r, playerID)
}

// Of returns an iterator over the player sessions of a game session that are in memory.
func (s *Players) Of(r store.Reader, gameSessionID string) iter.Seq[*PlayerSession] {
	return s.ofGame.Equal(r, gameSessionID)
}

func (s *Players) put(tx *store.Tx, p *PlayerSession) {
	s.table.Put(tx, p)
	if !p.due().IsZero() {
		tx.OnCommit(s.games.nudge)
	}
	s.changed(tx, p)
}

// end ends a player session.
func (s *Players) end(tx *store.Tx, old *PlayerSession, to PlayerStatus) {
	p := *old
	p.move(to)
	p.Ended = tx.Now()
	p.ArchiveAt = tx.Now().Add(s.opts.Linger)
	if g := s.games.Live(tx, p.GameSessionID); g != nil {
		p.Address, p.Port = g.Address, g.Port
	}
	s.put(tx, &p)
}

// Located returns a player session with the address and the port at which the player reaches
// the game session. Rows of player sessions that hold a slot do not have them.
func (s *Players) Located(r store.Reader, p *PlayerSession) *PlayerSession {
	g := s.games.Live(r, p.GameSessionID)
	if g == nil || !p.Status.HoldsSlot() {
		return p
	}
	at := *p
	at.Address, at.Port = g.Address, g.Port
	return &at
}

// endAll ends the player sessions of a game session that has ended.
func (s *Players) endAll(tx *store.Tx, gameSessionID string) {
	for p := range s.slots.Equal(tx, gameSessionID) {
		to := Completed
		if p.Status == Reserved {
			to = TimedOut
		}
		s.end(tx, p, to)
	}
}

// sweep times out unused reservations, and archives player sessions that have ended.
func (s *Players) sweep(tx *store.Tx) {
	for p := range s.due.Due(tx, tx.Now()) {
		if p.Status != Reserved {
			s.table.Archive(tx, p.ID)
			continue
		}
		s.end(tx, p, TimedOut)
		s.record(tx, event.PlayerSessionTimedOut, p)
	}
}

func (s *Players) record(tx *store.Tx, code event.Code, p *PlayerSession) {
	s.events.Append(tx, event.Event{Code: code, FleetID: p.FleetID, GameSessionID: p.GameSessionID, PlayerSessionID: p.ID})
}

// ReserveInput lists the players for whom to reserve slots in a game session.
type ReserveInput struct {
	GameSessionID string
	Players       []Joining
}

// Joining is a player who is about to join.
type Joining struct {
	PlayerID, Data string
}

// Reserve creates a RESERVED player session for each player, or for none. For a player
// who holds a reservation with the same data it returns that one, so that a request whose
// response was lost can be repeated. A program without an SDK does not accept players, so
// its player sessions are ACTIVE immediately, until the game session ends.
// Errors: NotFound, InvalidGameSessionStatus (not ACTIVE, DENY_ALL, or away),
// GameSessionFull, InvalidRequest (a player is in the session already).
func (s *Players) Reserve(ctx context.Context, in ReserveInput) ([]*PlayerSession, error) {
	players, err := s.reserve.Do(ctx, in)
	view := s.st.View()
	for i, p := range players {
		players[i] = s.Located(view, p)
	}
	return players, s.games.asEnded(ctx, in.GameSessionID, err)
}

// ReserveNow is like Reserve, in a transaction of the caller. It returns rows, not Located.
func (s *Players) ReserveNow(tx *store.Tx, in ReserveInput) ([]*PlayerSession, error) {
	g, err := s.games.living(tx, in.GameSessionID)
	if err != nil {
		return nil, err
	}
	held, err := s.checkReserve(tx, g, in.Players)
	if err != nil {
		return nil, err
	}
	host := s.computes.Process(tx, g.ProcessKey)
	players := make([]*PlayerSession, 0, len(in.Players))
	for _, j := range in.Players {
		if p := held[j.PlayerID]; p != nil {
			players = append(players, p)
			continue
		}
		p := &PlayerSession{
			ID: tx.ID("psess-"), GameSessionID: g.ID, FleetID: g.FleetID, PlayerID: j.PlayerID, Data: j.Data,
			Created: tx.Now(), ReservedUntil: tx.Now().Add(s.opts.ReservationTimeout),
		}
		p.move(Reserved)
		if host != nil && host.Wrapped() {
			p.move(Playing)
			s.record(tx, event.PlayerSessionAccepted, p)
		}
		s.put(tx, p)
		players = append(players, p)
	}
	return players, nil
}

// checkReserve validates a request, and returns the reservations that its players hold
// already.
func (s *Players) checkReserve(tx *store.Tx, g *GameSession, players []Joining) (held map[string]*PlayerSession, err error) {
	if g.Status != Active {
		return nil, fault.New(fault.InvalidGameSessionStatus, "game session %s is %s; it must be ACTIVE", g.ID, g.Status)
	}
	if held, err = s.heldBy(tx, g, players); err != nil {
		return nil, err
	}
	wanted := len(players) - len(held)
	if wanted > 0 && g.JoinPolicy == DenyAll {
		return nil, fault.New(fault.InvalidGameSessionStatus, "game session %s takes no new players (DENY_ALL)", g.ID)
	}
	if p := s.computes.Process(tx, g.ProcessKey); wanted > 0 && p != nil && p.Unreachable() {
		return nil, fault.New(fault.InvalidGameSessionStatus,
			"game session %s is away: its game server lost its connection at %s and is waited for; try again, or another game session",
			g.ID, p.Away.UTC().Format(time.RFC3339))
	}
	if free := g.MaxPlayers - s.Count(tx, g.ID); free < wanted {
		return nil, fault.New(fault.GameSessionFull, "game session %s has %d free slots; %d were asked for", g.ID, max(free, 0), wanted)
	}
	return held, nil
}

// heldBy returns the reservations that players of a repeated request hold: for the same
// player with the same data, and still RESERVED. It refuses players who hold any other
// player session in the game session, and players who are listed twice.
func (s *Players) heldBy(tx *store.Tx, g *GameSession, players []Joining) (map[string]*PlayerSession, error) {
	asking := make(map[string]string, len(players))
	for _, j := range players {
		if _, twice := asking[j.PlayerID]; twice {
			return nil, fault.Invalid("PlayerIds: player %s is listed twice", j.PlayerID)
		}
		asking[j.PlayerID] = j.Data
	}
	held := map[string]*PlayerSession{}
	for p := range s.slots.Equal(tx, g.ID) {
		data, asks := asking[p.PlayerID]
		if !asks {
			continue
		}
		if p.Status != Reserved || p.Data != data || !tx.Now().Before(p.ReservedUntil) {
			return nil, fault.Invalid("PlayerId: player %s holds player session %s in game session %s already", p.PlayerID, p.ID, g.ID)
		}
		held[p.PlayerID] = p
	}
	return held, nil
}

type playerArgs struct {
	ProcessKey, GameSessionID, PlayerSessionID string
}

// Accept validates a player who connected: the RESERVED player session becomes
// ACTIVE.
// Errors: NotFound, InvalidRequest (not RESERVED, or of another session).
func (s *Players) Accept(ctx context.Context, ref compute.Ref, gameSessionID, playerSessionID string) (*PlayerSession, error) {
	return s.accept.Do(ctx, playerArgs{ref.Key(), gameSessionID, playerSessionID})
}

func (s *Players) runAccept(tx *store.Tx, a playerArgs) (*PlayerSession, error) {
	old, err := s.hosted(tx, a)
	if err != nil {
		return nil, err
	}
	if old.Status != Reserved {
		return nil, fault.Invalid("PlayerSessionId: player session %s is %s; it must be RESERVED", old.ID, old.Status)
	}
	if !tx.Now().Before(old.ReservedUntil) {
		return nil, fault.Invalid("PlayerSessionId: the reservation of player session %s ended", old.ID)
	}
	p := *old
	p.move(Playing)
	s.put(tx, &p)
	s.record(tx, event.PlayerSessionAccepted, &p)
	return &p, nil
}

// Remove ends the player session of a player who left, which frees the slot.
// Errors: NotFound, InvalidRequest (ended already, or of another session).
func (s *Players) Remove(ctx context.Context, ref compute.Ref, gameSessionID, playerSessionID string) error {
	return s.remove.Do(ctx, playerArgs{ref.Key(), gameSessionID, playerSessionID})
}

func (s *Players) runRemove(tx *store.Tx, a playerArgs) error {
	p, err := s.hosted(tx, a)
	if err != nil {
		return err
	}
	if !p.Status.HoldsSlot() {
		return fault.Invalid("PlayerSessionId: player session %s is %s; it must be ACTIVE", p.ID, p.Status)
	}
	s.end(tx, p, Completed)
	s.record(tx, event.PlayerSessionRemoved, p)
	return nil
}

// hosted returns the player session if it belongs to the process's game session.
func (s *Players) hosted(r store.Reader, a playerArgs) (*PlayerSession, error) {
	if _, err := s.games.hostedBy(r, a.ProcessKey, a.GameSessionID); err != nil {
		return nil, err
	}
	p := s.table.Get(r, a.PlayerSessionID)
	if p == nil {
		return nil, fault.Missing("PlayerSessionId: player session %s does not exist", a.PlayerSessionID)
	}
	if p.GameSessionID != a.GameSessionID {
		return nil, fault.Invalid("PlayerSessionId: player session %s belongs to another game session", p.ID)
	}
	return p, nil
}

// PlayerQuery selects player sessions. Exactly one of its first three members is set.
type PlayerQuery struct {
	PlayerSessionID, GameSessionID, PlayerID string
	Games                                    func(gameSessionID string) bool // condition on the game session; nil means all
	Status                                   PlayerStatus                    // "" means all
	After                                    string                          // last id of the previous page
	Limit                                    int
}

// List returns player sessions in order of creation, and whether more follow. For
// a single player session that does not exist it returns an empty page.
func (s *Players) List(ctx context.Context, q PlayerQuery) (page []*PlayerSession, more bool, err error) {
	live := s.live(q)
	where := store.Eq{Column: "game_session", Value: q.GameSessionID}
	switch {
	case q.PlayerSessionID != "":
		where = store.Eq{Column: "key", Value: q.PlayerSessionID}
	case q.PlayerID != "":
		where = store.Eq{Column: "player", Value: q.PlayerID}
	}
	ended, err := s.archived(ctx, q, where)
	if err != nil {
		return nil, false, err
	}
	all := append(ended, live...)
	slices.SortFunc(all, func(a, b *PlayerSession) int { return strings.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b *PlayerSession) bool { return a.ID == b.ID })
	page, more = cut(all, q.Limit)
	view := s.st.View()
	for i, p := range page {
		page[i] = s.Located(view, p)
	}
	return page, more, nil
}

func (q PlayerQuery) wants(p *PlayerSession) bool {
	return (q.Status == "" || p.Status == q.Status) && p.ID > q.After && (q.Games == nil || q.Games(p.GameSessionID))
}

func (s *Players) live(q PlayerQuery) []*PlayerSession {
	view := s.st.View()
	if q.PlayerSessionID != "" {
		if p := s.table.Get(view, q.PlayerSessionID); p != nil && q.wants(p) {
			return []*PlayerSession{p}
		}
		return nil
	}
	all := s.ofGame.Equal(view, q.GameSessionID)
	if q.PlayerID != "" {
		all = s.ofPlayer.Equal(view, q.PlayerID)
	}
	var found []*PlayerSession
	for p := range all {
		if q.wants(p) {
			found = append(found, p)
		}
		if len(found) > q.Limit {
			break
		}
	}
	return found
}

func (s *Players) archived(ctx context.Context, q PlayerQuery, where store.Eq) ([]*PlayerSession, error) {
	if q.Status.HoldsSlot() {
		return nil, nil // those that hold a slot are in memory
	}
	read := store.Query{Where: []store.Eq{where}, Limit: q.Limit + 1, AfterKey: q.After}
	return archived(ctx, s.table, read, q.wants, func(p *PlayerSession) (string, string) { return "", p.ID })
}
