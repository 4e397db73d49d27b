package session

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
)

// Retention is how long ended sessions can be read (API reference, DescribeGameSessions).
const Retention = 30 * 24 * time.Hour

// tables are the package's tables and indexes.
type tables struct {
	games      *store.Table[GameSession]
	byFleet    *store.Index[GameSession] // by fleet, then creation
	active     *store.Index[GameSession] // only ACTIVE, by fleet, then creation
	activating *store.Index[GameSession] // only ACTIVATING, by fleet and compute
	byCreator  *store.Index[GameSession] // by fleet and creator, then creation
	gameDue    *store.Index[GameSession]
	gameTally  *store.Sum[GameSession] // by kind of count, fleet and location ("" is all)

	players   *store.Table[PlayerSession]
	ofGame    *store.Index[PlayerSession] // by game session
	slots     *store.Index[PlayerSession] // only those that hold a slot, by game session
	ofPlayer  *store.Index[PlayerSession] // by player id
	playerDue *store.Index[PlayerSession]
	playing   *store.Sum[PlayerSession] // number that hold a slot, by fleet and location ("" is all)
}

func newTables(st *store.Store) tables {
	var t tables
	newGameTables(st, &t)
	newPlayerTables(st, &t)
	return t
}

func newGameTables(st *store.Store, t *tables) {
	t.games = store.NewTable(st, store.TableSpec[GameSession]{
		Name: "game_session", Key: func(g *GameSession) string { return g.ID }, Retention: Retention,
		Columns: []store.Column[GameSession]{
			// The database enforces that a process has at most one game session.
			{Name: "process", Unique: true, Value: playedOn},
			{Name: "fleet_created", Value: fleetCreated},
		},
	})
	t.byFleet = store.NewIndex(t.games, "fleet", func(g *GameSession, emit func(string)) { emit(fleetCreated(g)) })
	t.active = store.NewIndex(t.games, "active", func(g *GameSession, emit func(string)) {
		if g.Status == Active {
			emit(fleetCreated(g))
		}
	})
	t.activating = store.NewIndex(t.games, "activating", func(g *GameSession, emit func(string)) {
		if g.Status == Activating {
			ref := compute.ParseRef(g.ProcessKey)
			emit(store.Key(ref.FleetID, ref.ComputeName))
		}
	})
	t.byCreator = store.NewIndex(t.games, "creator", func(g *GameSession, emit func(string)) {
		if g.CreatorID != "" {
			emit(store.Key(g.FleetID, g.CreatorID) + store.TimeKey(g.Created))
		}
	})
	t.gameDue = store.NewIndex(t.games, "due", func(g *GameSession, emit func(string)) { emitDue(g.due(), emit) })
	t.gameTally = store.NewSum(t.games, "tally", func(g *GameSession, add func(string, int)) {
		for _, location := range []string{g.Location, ""} {
			switch g.Status {
			case Active:
				add(store.Key(countActive, g.FleetID, location), 1)
				add(store.Key(countSlots, g.FleetID, location), g.MaxPlayers)
			case Activating:
				add(store.Key(countActivating, g.FleetID, location), 1)
			}
		}
	})
}

func newPlayerTables(st *store.Store, t *tables) {
	gameOf := func(p *PlayerSession) string { return p.GameSessionID }
	playerOf := func(p *PlayerSession) string { return p.PlayerID }
	t.players = store.NewTable(st, store.TableSpec[PlayerSession]{
		Name: "player_session", Key: func(p *PlayerSession) string { return p.ID }, Retention: Retention,
		Columns: []store.Column[PlayerSession]{{Name: "game_session", Value: gameOf}, {Name: "player", Value: playerOf}},
	})
	t.ofGame = store.NewIndex(t.players, "game", func(p *PlayerSession, emit func(string)) { emit(p.GameSessionID) })
	t.slots = store.NewIndex(t.players, "slots", func(p *PlayerSession, emit func(string)) {
		if p.Status.HoldsSlot() {
			emit(p.GameSessionID)
		}
	})
	t.ofPlayer = store.NewIndex(t.players, "player", func(p *PlayerSession, emit func(string)) { emit(p.PlayerID) })
	t.playing = store.NewSum(t.players, "playing", func(p *PlayerSession, add func(string, int)) {
		if p.Status.HoldsSlot() {
			add(store.Key(p.FleetID, arn.SessionLocation(p.GameSessionID)), 1)
			add(store.Key(p.FleetID, ""), 1)
		}
	})
	t.playerDue = store.NewIndex(t.players, "due", func(p *PlayerSession, emit func(string)) { emitDue(p.due(), emit) })
}

// playedOn returns the process of a game session that has not ended, or "".
func playedOn(g *GameSession) string {
	if g.Status.Ended() {
		return ""
	}
	return g.ProcessKey
}

// fleetCreated returns a key that orders a fleet's sessions by creation, in memory and in
// the archive.
func fleetCreated(g *GameSession) string { return fleetPrefix(g.FleetID) + store.TimeKey(g.Created) }

func fleetPrefix(fleetID string) string { return fleetID + "|" }

func emitDue(at time.Time, emit func(string)) {
	if !at.IsZero() {
		emit(store.TimeKey(at))
	}
}
