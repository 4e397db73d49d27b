package placement

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Retention is how long ended placements can be described by default (choice: AWS publishes
// none).
const Retention = 30 * 24 * time.Hour

// tables are the package's tables and indexes.
type tables struct {
	queues     *store.Table[Queue]
	placements *store.Table[Placement]
	requests   *store.Table[Request]
	attempts   *store.Table[Attempt]
	waiting    *store.Index[Placement] // PENDING without a game session or an attempt at a remote, by queue, oldest first
	pending    *store.Index[Placement] // PENDING, by queue
	bySession  *store.Index[Placement] // by the game session being created
	due        *store.DueIndex[Placement]

	unexplained *store.DueIndex[Placement] // waiting placements for which a round is to be recorded, by when
}

func newTables(st *store.Store, retention time.Duration) tables {
	var t tables
	t.queues = store.NewTable(st, store.TableSpec[Queue]{Name: "queue", Key: func(q *Queue) string { return q.Name }})
	t.requests = store.NewTable(st, store.TableSpec[Request]{
		Name: "placement_request", Key: func(r *Request) string { return r.ID }, Retention: retention,
	})
	t.placements = store.NewTable(st, store.TableSpec[Placement]{
		Name: "placement", Key: func(p *Placement) string { return p.ID }, Retention: retention,
		// The database enforces that a game session belongs to at most one placement.
		Columns: []store.Column[Placement]{{Name: "game_session", Unique: true, Value: tryingSession}},
	})
	t.attempts = store.NewTable(st, store.TableSpec[Attempt]{Name: "placement_attempt", Key: func(a *Attempt) string { return a.Token }})
	t.waiting = store.NewIndex(t.placements, "waiting", func(p *Placement, emit func(string)) {
		if p.Waits() {
			emit(waitingKey(p))
		}
	})
	t.pending = store.NewIndex(t.placements, "pending", func(p *Placement, emit func(string)) {
		if p.Status == Pending {
			emit(store.Key(p.Queue))
		}
	})
	t.bySession = store.NewIndex(t.placements, "session", func(p *Placement, emit func(string)) {
		if p.Trying() {
			emit(p.GameSessionID)
		}
	})
	t.due = store.NewDueIndex(t.placements, "due", (*Placement).due)
	t.unexplained = store.NewDueIndex(t.placements, "unexplained", func(p *Placement) time.Time {
		if p.Waits() {
			return p.RoundAt
		}
		return time.Time{}
	})
	return t
}

// tryingSession returns the game session that is being created for a placement, or "".
func tryingSession(p *Placement) string {
	if !p.Trying() {
		return ""
	}
	return p.GameSessionID
}
