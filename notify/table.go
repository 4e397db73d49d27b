package notify

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Cursor is a sink's position in the log.
type Cursor struct {
	Sink       string    `json:"sink"`
	Seq        uint64    `json:"seq"`        // everything up to this number of the log is delivered or dead
	Generation uint64    `json:"generation"` // incremented when the cursor is set back
	Changed    time.Time `json:"changed"`
}

// Subscription entitles an SNS endpoint to the notices of one topic.
type Subscription struct {
	Sink     string    `json:"sink"`
	Topic    string    `json:"topic"`
	ARN      string    `json:"arn"`      // the topic's and a random UUID; knowing it suffices to unsubscribe
	Endpoint string    `json:"endpoint"` // fingerprint of the URL; another URL has to confirm anew
	Token    string    `json:"token"`    // knowing it suffices to confirm
	Status   Status    `json:"status"`
	Changed  time.Time `json:"changed"`
}

// DeadLetter is a delivery that was given up.
type DeadLetter struct {
	Sink       string    `json:"sink"`
	Seq        uint64    `json:"seq"` // in the event log, which contains the notice itself
	EventID    string    `json:"event_id"`
	DetailType string    `json:"detail_type"`
	Topic      string    `json:"topic,omitzero"`
	Error      string    `json:"error"` // of the last attempt
	Attempts   int       `json:"attempts"`
	Time       time.Time `json:"time"`           // of the last attempt
	Again      bool      `json:"again,omitzero"` // to be delivered again
}

// Retention of dead letters.
const (
	DeadLetterRetention = 14 * 24 * time.Hour
	MaxDeadLetters      = 10_000 // per sink; beyond it the oldest are deleted
)

type tables struct {
	cursors *store.Table[Cursor]
	dead    *store.Table[DeadLetter]
	deadOf  *store.Index[DeadLetter] // by sink, oldest first
	again   *store.Index[DeadLetter] // by sink, those to be delivered again
}

func newTables(st *store.Store) tables {
	var t tables
	t.cursors = store.NewTable(st, store.TableSpec[Cursor]{
		Name: "notify_cursor", Key: func(c *Cursor) string { return c.Sink },
	})
	t.dead = store.NewTable(st, store.TableSpec[DeadLetter]{
		Name: "notify_dead_letter", Key: func(d *DeadLetter) string { return deadKey(d.Sink, d.Seq) },
	})
	t.deadOf = store.NewIndex(t.dead, "sink", func(d *DeadLetter, emit func(string)) { emit(d.Sink) })
	t.again = store.NewIndex(t.dead, "again", func(d *DeadLetter, emit func(string)) {
		if d.Again {
			emit(d.Sink)
		}
	})
	return t
}

func subscriptionKey(sink, topic string) string { return sink + " " + topic }

func deadKey(sink string, seq uint64) string { return fmt.Sprintf("%s %020d", sink, seq) }
