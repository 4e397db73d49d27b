package lobby

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// hall is a lobby and the services below it.
type hall struct {
	*testing.T
	*Service
	ctx     context.Context
	ids     *identity.Service
	matches *flexmatch.Service
	queues  *placement.Service
	loops   []func(context.Context)
	stops   []func()

	committing func() // called before each commit, if set
}

// studio is an operator's webhook: a token is the name of its account.
type studio struct{}

func (studio) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	var in struct{ Token string }
	if err := json.UnmarshalRead(r.Body, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, err
	}
	err := json.MarshalWrite(w, map[string]string{"subject": in.Token})
	return w.Result(), err
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
	h := &hall{T: t, ctx: context.Background()}
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	h.must(err)
	st := store.New(store.Options{Driver: telling{driver, h}})
	events, tags, home := event.New(st), tag.New(st), arn.Home{Region: "us-east-1", Account: "000000000000"}
	fleets := fleet.New(st, fleet.Deps{Events: events, Tags: tags}, fleet.Options{Home: home})
	computes := compute.New(st, compute.Deps{Events: events, Fleets: fleets, Tags: tags}, compute.Options{Tokens: master})
	sessions := session.New(st, session.Deps{Events: events, Fleets: fleets, Computes: computes}, session.Options{})
	h.queues = placement.New(st, placement.Deps{Events: events, Tags: tags, Fleets: fleets, Computes: computes, Sessions: sessions}, placement.Options{})
	h.matches = flexmatch.New(st, flexmatch.Deps{Home: home, Events: events, Tags: tags, Sessions: sessions, Placements: h.queues}, flexmatch.Options{})
	h.ids, err = identity.New(st, identity.Deps{Events: events, Secrets: master, Client: &http.Client{Transport: studio{}}}, identity.Options{
		Issuer:    func() string { return "https://play.example/player" },
		Providers: []identity.ProviderConfig{{Name: "studio", Kind: identity.Custom, URL: "https://studio.example/who", Secret: "sixteen letters or more"}},
	})
	h.must(err)
	h.Service, err = New(st, Deps{Identity: h.ids, Fleets: fleets, Sessions: sessions, Placements: h.queues, Matches: h.matches}, Options{Offer: Offer{Open: true}})
	h.must(err)
	h.must(st.Open(h.ctx))
	h.loops = []func(context.Context){computes.Run, sessions.Run, h.queues.Run, h.matches.Run, h.Service.Run}
	if h.queues.Queues.Get(st.View(), "empty") == nil {
		h.configure(fleets)
	}
	h.stops = append(h.stops, func() { h.must(st.Close()) })
	return h
}

// configure creates a queue without game servers, and the matchmakers "placed", whose
// matches wait for one, "slow", which searches longer than a ticket is kept after its
// end, "alone", whose matches have no game session, and "asked", whose matches must be
// accepted.
func (h *hall) configure(fleets *fleet.Service) {
	h.Helper()
	_, err := fleets.Locations.Create(h.ctx, "custom-home", nil)
	h.must(err)
	f, err := fleets.Create.Do(h.ctx, fleet.CreateInput{Name: "f", ComputeType: fleet.Anywhere, Locations: []string{"custom-home"}})
	h.must(err)
	_, err = h.queues.Queues.Create.Do(h.ctx, placement.QueueInput{Queue: placement.Queue{
		Name: "empty", Timeout: patient, Destinations: []string{fleets.Home().Of("fleet", f.ID)},
	}})
	h.must(err)
	for name, rules := range map[string]string{"duel": duel, "pairs": pairs} {
		_, err = h.matches.RuleSets.Create(h.ctx, flexmatch.RuleSetInput{Name: name, Body: rules})
		h.must(err)
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
		_, err = h.matches.Configurations.Create(h.ctx, flexmatch.ConfigurationInput{Configuration: c})
		h.must(err)
	}
}

func (h *hall) must(err error) {
	if err != nil {
		h.Helper()
		h.Fatal(err)
	}
}

// begin starts every loop, once.
func (h *hall) begin() {
	ctx, cancel := context.WithCancel(h.ctx)
	var running sync.WaitGroup
	for _, loop := range h.loops {
		running.Go(func() { loop(ctx) })
	}
	h.stops = append(h.stops, func() { cancel(); running.Wait() })
}

// stop ends the loops and closes the store.
func (h *hall) stop() {
	for i := range h.stops {
		h.stops[len(h.stops)-1-i]()
	}
}

// inHall runs f in virtual time, with all loops running.
func inHall(t *testing.T, f func(*hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		h.begin()
		defer h.stop()
		f(h)
		synctest.Wait()
	})
}

// ask requests a match for a player.
func (h *hall) ask(player, matchmaker string) *Ticket {
	h.Helper()
	t, err := h.Tickets.Start(h.ctx, player, identity.ScopeGuest, MatchRequest{Matchmaker: matchmaker})
	h.must(err)
	return t
}

// place requests a game session for a player.
func (h *hall) place(ctx context.Context, player string) *Placement {
	h.Helper()
	p, err := h.Placements.Start(ctx, player, &Pool{Name: "empty", Queue: "empty", MaxPlayers: 2}, SessionRequest{})
	h.must(err)
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
		time.Sleep(commit)
	}
}
