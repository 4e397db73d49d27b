// Package event stores what happened: the durable, ordered log that all packages
// append to and read from.
//
// An event is appended in the transaction that makes it true, so the log has exactly
// the events that were committed. Sequence numbers increase in commit order; readers
// keep a cursor. The fleet events of the API (DescribeFleetEvents) are the subset
// whose codes the API enumerates; the log has many more (sessions, players,
// processes, who called what), for operators and for the packages above.
package event

import (
	"cmp"
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/internal/store"
)

// Retention is how long events are kept by default.
const Retention = 30 * 24 * time.Hour

// Event is one thing that happened. Members that do not apply are empty.
type Event struct {
	ID              string    `json:"id"`
	Time            time.Time `json:"time"`
	Code            Code      `json:"code"`
	FleetID         string    `json:"fleet_id,omitzero"`
	Location        string    `json:"location,omitzero"`
	ComputeName     string    `json:"compute_name,omitzero"`
	ProcessID       string    `json:"process_id,omitzero"`
	GameSessionID   string    `json:"game_session_id,omitzero"`
	PlayerSessionID string    `json:"player_session_id,omitzero"`
	Resource        string    `json:"resource,omitzero"` // ARN or name of a resource without its own member
	Message         string    `json:"message,omitzero"`
	Notice          *Notice   `json:"notice,omitzero"`    // what external subscribers receive
	Principal       string    `json:"principal,omitzero"` // who requested it; empty for Muster itself
}

// Notice is an event of a queue or a matchmaking configuration as AWS publishes it
// (developer guide, "Set up event notification for game session placement").
type Notice struct {
	DetailType string         `json:"detail_type"`     // GameLift Queue Placement Event, …
	Source     string         `json:"source"`          // ARN of the queue or configuration
	Target     string         `json:"target,omitzero"` // its NotificationTarget
	Detail     jsontext.Value `json:"detail"`          // the published payload
}

// Entry is an event with its sequence number.
type Entry = store.Entry[Event]

// Line is an event as it is written to streams and archives, one in a line of JSON.
type Line struct {
	Seq uint64 `json:"seq"`
	Event
}

// Log is the event log of a cell.
type Log struct {
	log       *store.Log[Event]
	retention time.Duration
	onNotable []func(tx *store.Tx, e Entry)
}

// Options configures a Log.
type Options struct {
	Retention time.Duration // how long events are kept; default Retention
}

// New registers the log on the store.
func New(st *store.Store, o Options) *Log {
	kept := cmp.Or(o.Retention, Retention)
	return &Log{retention: kept, log: store.NewLog(st, store.LogSpec[Event]{
		Name:      "event",
		Retention: kept,
		Columns: []store.Column[Event]{
			{Name: "fleet", Value: publishedFleet},
			{Name: "game_session", Value: func(e *Event) string { return e.GameSessionID }, Digest: true},
			{Name: "feed", Value: feed},
			{Name: "notable", Value: notable},
		},
	})}
}

// Append adds an event to the log in tx; id, time and principal are filled in.
func (l *Log) Append(tx *store.Tx, e Event) {
	e.ID = tx.ID("")
	e.Time = tx.Now()
	e.Principal = tx.Actor()
	tx.Concerns(cmp.Or(e.Resource, e.GameSessionID, e.FleetID))
	seq := l.log.Append(tx, &e)
	if notable(&e) == "" {
		return
	}
	for _, f := range l.onNotable {
		f(tx, Entry{Seq: seq, Time: e.Time, Value: &e})
	}
}

// Query selects events.
type Query struct {
	FleetID       string    // only published events of this fleet
	GameSessionID string    // only events of this game session
	Notices       bool      // only events that external subscribers receive
	Notable       Code      // only events of this code, which must be notable
	After         uint64    // only events after this sequence number, in reading direction; 0 = from the beginning
	From, To      time.Time // only events with From <= time < To; zero = open
	NewestFirst   bool
	Limit         int // 1..1000
}

// Read returns the events that q selects.
func (l *Log) Read(ctx context.Context, q Query) ([]Entry, error) {
	var where []store.Eq
	if q.FleetID != "" {
		where = append(where, store.Eq{Column: "fleet", Value: q.FleetID})
	}
	if q.GameSessionID != "" {
		where = append(where, store.Eq{Column: "game_session", Value: q.GameSessionID})
	}
	if q.Notices {
		where = append(where, store.Eq{Column: "feed", Value: noticed})
	}
	if q.Notable != "" {
		where = append(where, store.Eq{Column: "notable", Value: string(q.Notable)})
	}
	return l.log.Read(ctx, store.LogQuery{
		Where: where, AfterSeq: q.After, From: q.From, To: q.To, Desc: q.NewestFirst, Limit: q.Limit,
	})
}

// Last returns the newest committed sequence number.
func (l *Log) Last(r store.Reader) uint64 { return l.log.Last(r) }

// Watch returns a channel that receives a value after events were committed, and a
// function that ends the watch. A slow reader may miss values but no events: it
// continues from its cursor.
func (l *Log) Watch() (<-chan struct{}, func()) { return l.log.Watch() }

// Hold keeps events whose number is above what done returns past their retention, for twice
// the retention at most. It must be called before the store is opened, once.
func (l *Log) Hold(done func(store.Reader) uint64) { l.log.Hold(done, 2*l.retention) }

// publishedFleet returns the value of the column by which DescribeFleetEvents finds
// events.
func publishedFleet(e *Event) string {
	if !e.Code.Published() {
		return ""
	}
	return e.FleetID
}

// noticed is the value of the column by which notices are found.
const noticed = "y"

func feed(e *Event) string {
	if e.Notice == nil {
		return ""
	}
	return noticed
}
