package session

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Retention is how long ended sessions can be read by default (API reference,
// DescribeGameSessions).
const Retention = 30 * 24 * time.Hour

// JoinPolicy says whether a game session accepts new players
// (PlayerSessionCreationPolicy).
type JoinPolicy string

// The join policies of the API.
const (
	AcceptAll JoinPolicy = "ACCEPT_ALL"
	DenyAll   JoinPolicy = "DENY_ALL"
)

// Reasons of a game session that was ended by request (GameSessionStatusReason).
const (
	ReasonTriggered = "TRIGGERED_ON_PROCESS_TERMINATE"
	ReasonForced    = "FORCE_TERMINATED"
)

// Property is one GameProperty.
type Property struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// GameSession is one game session, running or ended.
type GameSession struct {
	ID         string           `json:"id"` // its ARN
	FleetID    string           `json:"fleet_id"`
	Location   string           `json:"location"`
	Name       string           `json:"name,omitzero"`
	Status     Status           `json:"status"`
	Reason     string           `json:"reason,omitzero"`
	Cause      event.Code       `json:"cause,omitzero"` // the event that ended its process, or GAME_SESSION_ACTIVATION_TIMEOUT; "" if its process ended it, or did as it was told
	How        string           `json:"how,omitzero"`   // what happened, for people; at most longestHow bytes
	Created    time.Time        `json:"created"`
	Ended      time.Time        `json:"ended,omitzero"`
	MaxPlayers int              `json:"max_players"`
	Others     int              `json:"others,omitzero"` // players without a player session, where its program says how many there are
	Properties []Property       `json:"properties,omitzero"`
	Data       string           `json:"data,omitzero"`
	Matchmaker string           `json:"matchmaker_data,omitzero"`
	JoinPolicy JoinPolicy       `json:"join_policy"`
	Protection fleet.Protection `json:"protection"`
	CreatorID  string           `json:"creator_id,omitzero"`
	Origin     string           `json:"origin,omitzero"` // the region of this deployment whose queue placed it, if another one

	compute.Address     // of its compute, as of now or, once ended, as of then
	Port            int `json:"port"`

	ProcessKey  string `json:"process"`
	Fingerprint string `json:"fingerprint,omitzero"` // of the request, if it had an idempotency token

	ActivateBy time.Time `json:"activate_by,omitzero"` // while ACTIVATING
	ArchiveAt  time.Time `json:"archive_at,omitzero"`  // once ended
}

// Property returns the value of a game property, and whether it exists.
func (g *GameSession) Property(key string) (string, bool) {
	at := slices.IndexFunc(g.Properties, func(p Property) bool { return p.Key == key })
	if at < 0 {
		return "", false
	}
	return g.Properties[at].Value, true
}

// due returns when the session must be activated or, once ended, archived, or zero.
func (g *GameSession) due() time.Time {
	switch g.Status {
	case Activating:
		return g.ActivateBy
	case Terminated:
		return g.ArchiveAt
	}
	return time.Time{}
}

// start returns the session as it is sent to its process.
func (g *GameSession) start() compute.Start {
	properties := make(map[string]string, len(g.Properties))
	for _, p := range g.Properties {
		properties[p.Key] = p.Value
	}
	return compute.Start{
		GameSessionID: g.ID, Name: g.Name, Data: g.Data, MatchmakerData: g.Matchmaker, MaxPlayers: g.MaxPlayers,
		IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Properties: properties,
	}
}

// merge returns game properties with changes added or replaced by key. None is removed.
func merge(old, changes []Property) []Property {
	merged := slices.Clone(old)
	for _, c := range changes {
		at := slices.IndexFunc(merged, func(p Property) bool { return p.Key == c.Key })
		if at < 0 {
			merged = append(merged, c)
		} else {
			merged[at] = c
		}
	}
	return merged
}

// Kinds of counts in the sum of game sessions.
const (
	countActive     = "active"
	countActivating = "activating"
	countSlots      = "slots"
	countOthers     = "others"
)

// Games is the table of game sessions, and their archive.
type Games struct {
	st         *store.Store
	events     *event.Log
	nudge      func() // makes the loop look at the next deadline
	table      *store.Table[GameSession]
	byPlace    *store.Index[GameSession] // by fleet, location and status, then creation
	activating *store.Index[GameSession] // only ACTIVATING, by fleet and compute
	byCreator  *store.Index[GameSession] // by fleet and creator, then creation
	due        *store.DueIndex[GameSession]
	tally      *store.Sum[GameSession] // by kind of count, fleet and location ("" is all)
}

func newGames(st *store.Store, events *event.Log, o Options, nudge func()) *Games {
	g := &Games{st: st, events: events, nudge: nudge}
	g.table = store.NewTable(st, store.TableSpec[GameSession]{
		Name: "game_session", Key: func(g *GameSession) string { return g.ID }, Retention: o.Retention,
		Columns: []store.Column[GameSession]{
			// The database enforces that a process has at most one game session.
			{Name: "process", Unique: true, Value: playedOn},
			{Name: "fleet_created", Value: fleetCreated},
		},
	})
	g.byPlace = store.NewIndex(g.table, "place", func(g *GameSession, emit func(string)) {
		emit(store.Key(g.FleetID, g.Location, string(g.Status)) + store.TimeKey(g.Created))
	})
	g.activating = store.NewIndex(g.table, "activating", func(g *GameSession, emit func(string)) {
		if g.Status == Activating {
			ref := compute.ParseRef(g.ProcessKey)
			emit(store.Key(ref.FleetID, ref.ComputeName))
		}
	})
	g.byCreator = store.NewIndex(g.table, "creator", func(g *GameSession, emit func(string)) {
		if g.CreatorID != "" {
			emit(store.Key(g.FleetID, g.CreatorID) + store.TimeKey(g.Created))
		}
	})
	g.due = store.NewDueIndex(g.table, "due", (*GameSession).due)
	g.tally = store.NewSum(g.table, "tally", func(g *GameSession, add func(string, int)) {
		for _, location := range []string{g.Location, ""} {
			if g.Others > 0 {
				add(store.Key(countOthers, g.FleetID, location), g.Others)
			}
			switch g.Status {
			case Active:
				add(store.Key(countActive, g.FleetID, location), 1)
				add(store.Key(countSlots, g.FleetID, location), g.MaxPlayers)
			case Activating:
				add(store.Key(countActivating, g.FleetID, location), 1)
			}
		}
	})
	return g
}

// playedOn returns the process of a game session that has not ended, or "".
func playedOn(g *GameSession) string {
	if g.Status.Ended() {
		return ""
	}
	return g.ProcessKey
}

// fleetCreated returns a key that orders a fleet's archived sessions by creation.
func fleetCreated(g *GameSession) string { return fleetPrefix(g.FleetID) + store.TimeKey(g.Created) }

func fleetPrefix(fleetID string) string { return fleetID + "|" }

// Live returns a game session in memory, running or recently ended, or nil.
func (s *Games) Live(r store.Reader, id string) *GameSession { return s.table.Get(r, id) }

// Get returns a game session that is running or ended within Retention.
// Errors: NotFound.
func (s *Games) Get(ctx context.Context, id string) (*GameSession, error) {
	if g := s.Live(s.st.View(), id); g != nil {
		return g, nil
	}
	g, err := s.archived(ctx, id)
	if err == nil && g == nil {
		err = fault.Missing("GameSessionId: game session %s does not exist", id)
	}
	return g, err
}

// archived returns a game session from the archive, or nil.
func (s *Games) archived(ctx context.Context, id string) (*GameSession, error) {
	rows, err := s.table.Archived(ctx, store.Query{Where: []store.Eq{{Column: "key", Value: id}}, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// living returns a game session that is in memory. Errors: NotFound.
func (s *Games) living(r store.Reader, id string) (*GameSession, error) {
	if g := s.Live(r, id); g != nil {
		return g, nil
	}
	return nil, fault.Missing("GameSessionId: game session %s does not exist", id)
}

// changeable returns a game session that has not ended.
func (s *Games) changeable(r store.Reader, id string) (*GameSession, error) {
	g, err := s.living(r, id)
	if err == nil && g.Status.Ended() {
		return nil, over(id)
	}
	return g, err
}

// hostedBy returns the game session if the process hosts it.
func (s *Games) hostedBy(r store.Reader, processKey, gameSessionID string) (*GameSession, error) {
	g := s.Live(r, gameSessionID)
	if g == nil || g.ProcessKey != processKey || g.Status.Ended() {
		return nil, fault.Missing("GameSessionId: the process hosts no game session %s", gameSessionID)
	}
	return g, nil
}

// asEnded replaces a NotFound error by that of an ended session, if the session is
// archived.
func (s *Games) asEnded(ctx context.Context, id string, err error) error {
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	if old, archiveErr := s.archived(ctx, id); archiveErr == nil && old != nil {
		return over(id)
	}
	return err
}

func over(id string) error {
	return fault.New(fault.InvalidGameSessionStatus, "game session %s is over", id)
}

func (s *Games) put(tx *store.Tx, g *GameSession) {
	s.table.Put(tx, g)
	if !g.due().IsZero() {
		tx.OnCommit(s.nudge)
	}
}

// countActivating returns the number of ACTIVATING game sessions of a compute.
func (s *Games) countActivating(r store.Reader, fleetID, computeName string) int {
	return s.activating.Count(r, store.Key(fleetID, computeName))
}

func (s *Games) record(tx *store.Tx, code event.Code, g *GameSession, text string) {
	ref := compute.ParseRef(g.ProcessKey)
	s.events.Append(tx, event.Event{
		Code: code, FleetID: g.FleetID, Location: g.Location, GameSessionID: g.ID,
		ComputeName: ref.ComputeName, ProcessID: ref.ProcessID, Message: text,
	})
}
