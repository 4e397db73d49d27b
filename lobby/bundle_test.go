package lobby

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement"
)

// hall is a lobby and the services below it.
type hall struct {
	*celltest.Cell
	*Service
	ids     *identity.Service
	matches *flexmatch.Service
	queues  *placement.Service

	committing func() // called before each commit, if set
}

const (
	patient = time.Minute // of a request for a match
	duel    = `{"name":"duel","ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`
	pairs   = `{"name":"pairs","ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":2,"maxPlayers":4}]}`
)

// accounts are the players anna, bert, carl and dora.
var accounts = []string{`{"id":"anna"}`, `{"id":"bert"}`, `{"id":"carl"}`, `{"id":"dora"}`}

// newHall returns a hall with its state in a database that has the accounts.
func newHall(t *testing.T) *hall {
	t.Helper()
	return hallOf(t, map[string][]string{"player": accounts})
}

// hallOf returns a hall whose database has rows, as JSON by table; configure is called
// once it is open.
func hallOf(t *testing.T, rows map[string][]string) *hall {
	t.Helper()
	driver := store.NewMemory()
	writeRows(t, driver, rows)
	h := &hall{}
	h.Cell = celltest.New(t, celltest.Options{Driver: telling{driver, h}})
	h.queues = placement.New(h.Store, placement.Deps{Events: h.Events, Tags: h.Tags, Fleets: h.Fleets, Computes: h.Computes, Sessions: h.Sessions}, placement.Options{})
	h.matches = flexmatch.New(h.Store, flexmatch.Deps{Home: celltest.Home, Events: h.Events, Tags: h.Tags, Sessions: h.Sessions, Placements: h.queues}, flexmatch.Options{})
	h.ids = h.Accounts()
	var err error
	h.Service, err = New(h.Store, Deps{Identity: h.ids, Fleets: h.Fleets, Sessions: h.Sessions, Placements: h.queues, Matches: h.matches}, Options{Offer: Offer{Open: true}})
	h.Must(err)
	h.Open()
	if h.queues.Queues.Get(h.Store.View(), "empty") == nil {
		h.configure()
	}
	return h
}

// configure creates a queue without game servers, and the matchmakers "placed", whose
// matches wait for one, "slow", which searches longer than a ticket is kept after its
// end, "alone", whose matches have no game session, and "asked", whose matches must be
// accepted.
func (h *hall) configure() {
	h.Helper()
	f := h.Anywhere("f", "custom-home")
	_, err := h.queues.Queues.Create.Do(h.Ctx, placement.QueueInput{Queue: placement.Queue{
		Name: "empty", Timeout: patient, Destinations: []string{h.Fleets.Home().Of("fleet", f.ID)},
	}})
	h.Must(err)
	for name, rules := range map[string]string{"duel": duel, "pairs": pairs} {
		_, err = h.matches.RuleSets.Create(h.Ctx, flexmatch.RuleSetInput{Name: name, Body: rules})
		h.Must(err)
	}
	for _, c := range []flexmatch.Configuration{
		{Name: "placed", Queues: []string{h.queues.Queues.ARN("empty")}, RequestTimeout: patient},
		{Name: "slow", Mode: flexmatch.Standalone, RequestTimeout: 2 * requestKept},
		{Name: "alone", Mode: flexmatch.Standalone, RequestTimeout: patient},
		{Name: "asked", RuleSet: "pairs", Mode: flexmatch.Standalone, RequestTimeout: patient, AcceptanceRequired: true, AcceptanceTimeout: 20 * time.Second},
	} {
		if c.RuleSet == "" {
			c.RuleSet = "duel"
		}
		_, err = h.matches.Configurations.Create(h.Ctx, flexmatch.ConfigurationInput{Configuration: c})
		h.Must(err)
	}
}

// begin starts every loop.
func (h *hall) begin() {
	h.Start(h.Computes.Run, h.Sessions.Run, h.queues.Run, h.matches.Run, h.Service.Run)
}

// inHall runs f in virtual time, with all loops running.
func inHall(t *testing.T, f func(*hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		h.begin()
		defer h.Close()
		f(h)
		synctest.Wait()
	})
}

// ask requests a match for a player.
func (h *hall) ask(player, matchmaker string) *Ticket {
	h.Helper()
	t, err := h.Tickets.Start(h.Ctx, player, identity.ScopeGuest, MatchRequest{Matchmaker: matchmaker})
	h.Must(err)
	return t
}

// place requests a game session for a player.
func (h *hall) place(ctx context.Context, player string) *Placement {
	h.Helper()
	p, err := h.Placements.Start(ctx, player, &Pool{Name: "empty", Queue: "empty", MaxPlayers: 2}, SessionRequest{})
	h.Must(err)
	return p
}

// state returns what the players of a ticket would see; "" if there is none.
func (h *hall) state(id string) State {
	h.Helper()
	synctest.Wait()
	if t := h.Tickets.rows.Get(h.st.View(), id); t != nil {
		return t.Found.State
	}
	return ""
}

func (h *hall) wants(id string, want State) {
	h.Helper()
	if got := h.state(id); got != want {
		h.Errorf("the ticket is %q, want %q", got, want)
	}
}

// telling is a database that calls a function before each commit.
type telling struct {
	store.Driver
	h *hall
}

type tellingDB struct {
	store.DB
	h *hall
}

// Open returns the database that makes these calls.
func (t telling) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := t.Driver.Open(ctx, cell, schema)
	return tellingDB{db, t.h}, err
}

// Commit calls the function, if it is set, before it commits.
func (t tellingDB) Commit(ctx context.Context, b *store.Batch) error {
	if t.h.committing != nil {
		t.h.committing()
	}
	return t.DB.Commit(ctx, b)
}

// slowly makes the next commit take a while; during is called when the commit begins.
func (h *hall) slowly(commit time.Duration, during func()) {
	synctest.Wait()
	h.committing = func() {
		h.committing = nil
		during()
		wait.Pass(commit)
	}
}

// anyRow is a row whose members the writer chose.
type anyRow map[string]any

// writeRows puts rows into a database as JSON, by table.
func writeRows(t *testing.T, driver store.Driver, rows map[string][]string) {
	t.Helper()
	st := store.New(store.Options{Driver: driver})
	tables := map[string]*store.Table[anyRow]{}
	for name := range rows {
		tables[name] = store.NewTable(st, store.TableSpec[anyRow]{Name: name, Key: func(r *anyRow) string { return (*r)["id"].(string) }})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(st.Open(t.Context()))
	must(st.Update(t.Context(), func(tx *store.Tx) error {
		for table, rows := range rows {
			for _, text := range rows {
				var row anyRow
				if err := json.Unmarshal([]byte(text), &row); err != nil {
					return err
				}
				tables[table].Put(tx, &row)
			}
		}
		return nil
	}))
	must(st.Close())
}
