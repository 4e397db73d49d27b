package flexmatch

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Retention is how long ended tickets can be described by default (choice: AWS publishes none).
const Retention = 24 * time.Hour

type tables struct {
	ruleSets       *store.Table[RuleSet]
	configurations *store.Table[Configuration]
	tickets        *store.Table[Ticket]
	requests       *store.Table[Request]
	matches        *store.Table[Match]
	hosted         *store.Table[Hosted]

	byRuleSet *store.Index[Configuration]
	active    *store.Index[Ticket] // not ended, by configuration
	waiting   *store.Index[Ticket] // by configuration, oldest first
	byPlayer  *store.Index[Ticket] // not ended, by player; without automatic backfill
	bySession *store.Index[Ticket] // backfill, not ended, by game session
	due       *store.DueIndex[Ticket]
	matchDue  *store.DueIndex[Match]
	autoID    *store.Index[Hosted] // by id of its automatic tickets
	ofPlayer  *store.Index[Hosted] // by player whom automatic backfill counts
}

func newTables(st *store.Store, retention time.Duration) *tables {
	t := &tables{}
	t.ruleSets = store.NewTable(st, store.TableSpec[RuleSet]{Name: "matchmaking_rule_set", Key: func(r *RuleSet) string { return r.Name }})
	t.configurations = store.NewTable(st, store.TableSpec[Configuration]{Name: "matchmaking_configuration", Key: func(c *Configuration) string { return c.Name }})
	t.requests = store.NewTable(st, store.TableSpec[Request]{Name: "ticket_request", Key: func(r *Request) string { return r.ID }, Retention: retention})
	t.tickets = store.NewTable(st, store.TableSpec[Ticket]{
		Name: "ticket", Key: func(t *Ticket) string { return t.ID }, Retention: retention,
		Columns: []store.Column[Ticket]{{Name: traceColumn, Value: traceKey}},
	})
	t.matches = store.NewTable(st, store.TableSpec[Match]{Name: "match", Key: func(m *Match) string { return m.ID }, Retention: retention})
	t.hosted = store.NewTable(st, store.TableSpec[Hosted]{Name: "matched_session", Key: func(h *Hosted) string { return h.GameSessionID }})
	t.index()
	return t
}

func (t *tables) index() {
	t.byRuleSet = store.NewIndex(t.configurations, "rule_set", func(c *Configuration, emit func(string)) { emit(c.RuleSet) })
	t.active = store.NewIndex(t.tickets, "active", func(t *Ticket, emit func(string)) {
		if !t.Status.Over() {
			emit(t.Configuration)
		}
	})
	t.waiting = store.NewIndex(t.tickets, "waiting", func(t *Ticket, emit func(string)) {
		if t.Status.Waits() {
			emit(store.Key(t.Configuration, t.Arrival))
		}
	})
	t.byPlayer = store.NewIndex(t.tickets, "player", func(t *Ticket, emit func(string)) {
		if t.Status.Over() || t.Automatic {
			return
		}
		for _, m := range t.Members {
			emit(m.PlayerID)
		}
	})
	t.bySession = store.NewIndex(t.tickets, "session", func(t *Ticket, emit func(string)) {
		if t.Backfill && !t.Status.Over() && t.GameSessionID != "" {
			emit(t.GameSessionID)
		}
	})
	t.due = store.NewDueIndex(t.tickets, "due", (*Ticket).Due)
	t.matchDue = store.NewDueIndex(t.matches, "due", func(m *Match) time.Time { return m.AcceptBy })
	t.ofPlayer = store.NewIndex(t.hosted, "player", func(h *Hosted, emit func(string)) {
		for i := range h.Players {
			emit(h.Players[i].ID)
		}
	})
	t.autoID = store.NewIndex(t.hosted, "ticket", func(h *Hosted, emit func(string)) {
		for _, id := range h.Tickets {
			emit(id)
		}
	})
}

// traceColumn orders the tickets of a configuration for traces.
const traceColumn = "configuration_started"

func traceKey(t *Ticket) string {
	if t.Backfill {
		return ""
	}
	return tracePrefix(t.Configuration) + store.TimeKey(t.Started)
}

// tracePrefix returns the prefix of one configuration's keys. Names cannot contain a bar.
func tracePrefix(configuration string) string { return configuration + "|" }
