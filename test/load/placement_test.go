package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/serversdk"
	"github.com/musterhq/muster/session"
	"github.com/musterhq/muster/test/gameserver"
)

var (
	placements = flag.Int("placements", 0, "how many placements the load of placement makes; 0 skips it")
	sustained  = flag.Duration("sustained", 60*time.Second, "how long 1,000 placements a second are started")
)

// market is a house with a queue that records when each placement is fulfilled.
type market struct {
	*house
	places  *placement.Service
	matches *flexmatch.Service
	fleets  *fleet.Service
	events  *event.Log
	tags    *tag.Service
	stop    context.CancelFunc
	loops   sync.WaitGroup

	mu   sync.Mutex
	when map[string]time.Time // by placement: when it was durably FULFILLED
	met  chan struct{}        // one value for each
}

// openMarket returns a house with placement, a queue to its fleet, and the loops.
func openMarket(t *testing.T) *market {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-load-")
	check(t, err)
	m := newMarket(t, sqlite.New(dir))
	m.dir = dir
	m.open(t)
	return m
}

// newMarket returns a market whose store is not open.
func newMarket(t *testing.T, driver store.Driver) *market {
	t.Helper()
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	check(t, err)
	h := &house{store: store.New(store.Options{Driver: driver})}
	m := &market{house: h, events: event.New(h.store, event.Options{}), tags: tag.New(h.store), when: map[string]time.Time{}, met: make(chan struct{}, 1<<20)}
	h.keys = auth.New(h.store, m.events, master, m.tags.Of)
	m.fleets = fleet.New(h.store, fleet.Deps{Events: m.events, Tags: m.tags}, fleet.Options{Home: home})
	h.computes = compute.New(h.store, compute.Deps{Events: m.events, Fleets: m.fleets, Tags: m.tags}, compute.Options{Tokens: master})
	h.sessions = session.New(h.store, session.Deps{Events: m.events, Fleets: m.fleets, Computes: h.computes}, session.Options{})
	m.places = placement.New(h.store, placement.Deps{Events: m.events, Tags: m.tags, Fleets: m.fleets, Computes: h.computes, Sessions: h.sessions}, placement.Options{})
	m.matches = flexmatch.New(h.store, flexmatch.Deps{Home: home, Events: m.events, Tags: m.tags, Sessions: h.sessions, Placements: m.places}, flexmatch.Options{})
	h.sessions.OnActivated(m.fulfilled)
	h.verifier = sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(id string) (sigv4.Secret, bool) {
		secret, ok := h.keys.Secret(id)
		return sigv4.Secret{Key: secret}, ok
	}})
	return m
}

// open opens the store, makes the fleet and the queue, listens and starts the loops.
func (m *market) open(t *testing.T) {
	t.Helper()
	h, ctx := m.house, context.Background()
	check(t, h.store.Open(ctx))
	check(t, h.furnish(ctx, m.fleets, 0))
	_, err := m.places.Queues.Create.Do(ctx, placement.QueueInput{Queue: placement.Queue{Name: "load", Destinations: []string{home.Of("fleet", h.fleet.ID)}}})
	check(t, err)
	srv, err := awsrpc.New(awsrpc.Options{API: gamelift.API(), Authenticate: h})
	check(t, err)
	api.Register(srv, api.Services{
		Store: h.store, Home: home, Events: m.events, Tags: m.tags, Fleets: m.fleets, Computes: h.computes, Sessions: h.sessions,
		Placements: m.places, Matches: m.matches, GameServerURL: "ws://127.0.0.1",
	})
	servers := serversdk.New(serversdk.Options{Store: h.store, Computes: h.computes, Sessions: h.sessions, Matches: m.matches})
	check(t, h.listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serversdk.Match(r) {
			servers.ServeHTTP(w, r)
			return
		}
		srv.ServeHTTP(w, r)
	})))
	ctx, m.stop = context.WithCancel(ctx)
	for _, loop := range []func(context.Context){h.computes.Run, h.sessions.Run, m.places.Run, m.matches.Run} {
		m.loops.Go(func() { loop(ctx) })
	}
	t.Cleanup(func() { m.stop(); m.loops.Wait(); check(t, h.close()) })
}

func check(t *testing.T, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// fulfilled records when the placement of a game session is durably FULFILLED; it is
// called after placement's own hook.
func (m *market) fulfilled(tx *store.Tx, g *session.GameSession) {
	id := g.ID[strings.LastIndex(g.ID, "/")+1:]
	tx.OnCommit(func() {
		m.mu.Lock()
		m.when[id] = time.Now()
		m.mu.Unlock()
		m.met <- struct{}{}
	})
}

// connect starts n game servers on real sockets.
func (m *market) connect(t *testing.T, n int) {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	tokens := map[string]string{}
	for c := range m.computes.InFleet(m.store.View(), m.fleet.ID, "", "") {
		tokens[c.Name], _ = m.computes.IssueToken(c, time.Now())
	}
	_, err := together(64, n, func(i int) error {
		name := fmt.Sprint("host-", i%computes)
		_, err := gameserver.Start(ctx, gameserver.Options{
			Endpoint: "ws://" + m.address, Token: tokens[name], FleetID: m.fleet.ID, ComputeName: name, Port: 1024 + i%60000,
		})
		return err
	})
	check(t, err)
}

// host creates n processes without sockets that activate immediately.
func (m *market) host(t *testing.T, n int) {
	t.Helper()
	starts := make(chan func(), n)
	var running sync.WaitGroup
	for range computes {
		running.Go(func() {
			for activate := range starts {
				activate()
			}
		})
	}
	t.Cleanup(func() { close(starts); running.Wait() })
	_, err := together(256, n, func(i int) error {
		ref := compute.Ref{FleetID: m.fleet.ID, ComputeName: fmt.Sprint("host-", i%computes), ProcessID: fmt.Sprint("process-", i)}
		if _, err := m.computes.Connect(context.Background(), compute.ConnectInput{Ref: ref}, keen{sessions: m.sessions, ref: ref, starts: starts}); err != nil {
			return err
		}
		if err := m.computes.Ready(context.Background(), compute.ReadyInput{Ref: ref, Port: 1024 + i%60000}); err != nil {
			return err
		}
		return m.computes.Hearing(context.Background(), ref)
	})
	check(t, err)
}

// keen is the link of a process that activates its game session immediately.
type keen struct {
	deaf
	sessions *session.Service
	ref      compute.Ref
	starts   chan<- func() // to long-lived goroutines, like those of connections
}

// StartGameSession implements compute.Link.
func (k keen) StartGameSession(s compute.Start) {
	k.starts <- func() { k.sessions.Activate(context.Background(), k.ref, s.GameSessionID) }
}

// crowd describes the players of a placement request, and for how many locations each
// measured its latency.
type crowd struct{ players, locations int }

// asking returns the input of the i-th StartGameSessionPlacement.
func (c crowd) asking(i int) any {
	var desired, latencies []any
	for p := range c.players {
		id := fmt.Sprintf("player-%d-%d", i, p)
		desired = append(desired, map[string]any{"PlayerId": id})
		for l := range c.locations {
			where := location
			if l > 0 {
				where = fmt.Sprint(location, l)
			}
			latencies = append(latencies, map[string]any{"PlayerId": id, "RegionIdentifier": where, "LatencyInMilliseconds": 20 + (i+p*7+l*31)%150})
		}
	}
	return map[string]any{
		"PlacementId": placementID(i), "GameSessionQueueName": "load", "MaximumPlayerSessionCount": max(10, c.players),
		"GameSessionName": "load", "GameSessionData": gameData, "DesiredPlayerSessions": desired, "PlayerLatencies": latencies,
	}
}

func placementID(i int) string { return fmt.Sprintf("placement-%07d", i) }

// signedStarts signs n requests.
func (m *market) signedStarts(t *testing.T, n int, c crowd) [][]byte {
	t.Helper()
	return m.signed(t, "StartGameSessionPlacement", n, c.asking)
}

// flat starts n placements as fast as the callers can, and returns how many per
// second are FULFILLED, from the first start to the last.
func (m *market) flat(t *testing.T, callers int, requests [][]byte) float64 {
	t.Helper()
	begin := time.Now()
	m.send(t, callers, requests)
	m.await(t, len(requests))
	return float64(len(requests)) / time.Since(begin).Seconds()
}

func (m *market) await(t *testing.T, n int) {
	t.Helper()
	patience := time.After(2 * time.Minute)
	for range n {
		select {
		case <-m.met:
		case <-patience:
			t.Fatal("not all placements are fulfilled after two minutes")
		}
	}
}

// steady starts placements at a rate and returns the times from each planned start to
// FULFILLED, sorted.
func (m *market) steady(t *testing.T, rate float64, requests [][]byte) []time.Duration {
	t.Helper()
	conns, err := dial(m.address, 128)
	check(t, err)
	defer conns.close()
	planned := make([]time.Time, len(requests))
	var sending sync.WaitGroup
	begin := time.Now()
	for i := range requests {
		planned[i] = begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		time.Sleep(time.Until(planned[i])) // the rate of the load
		sending.Go(func() {
			if _, err := conns.send(requests[i]); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	m.await(t, len(requests))
	took := make([]time.Duration, len(requests))
	for i := range requests {
		took[i] = m.when[placementID(i)].Sub(planned[i])
	}
	slices.Sort(took)
	return took
}

func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))].Round(100 * time.Microsecond)
}

// TestPlacement measures placements end to end over HTTP, SigV4 and real sockets,
// next to the store's limit for the same writes in the same run, and the times at
// half load.
func TestPlacement(t *testing.T) {
	measured(t, *placements, "-placements 4000")
	n, c := *placements, crowd{players: 2, locations: 1}
	m := openMarket(t)
	m.connect(t, n)
	rate := m.flat(t, 128, m.signedStarts(t, n, c))
	limit := limitOf(t, 128, n, m.sizes(t, placementID(n/2)))
	fmt.Printf("| placements a second, end to end | store's limit for the same writes | ratio |\n|---|---|---|\n| %.0f | %.0f | %.2f |\n", rate, limit, rate/limit)

	half := openMarket(t)
	half.connect(t, n)
	took := half.steady(t, rate/2, half.signedStarts(t, n, c))
	fmt.Printf("\n| at half load, %.0f a second | p50 | p99 | slowest |\n|---|---|---|---|\n| start to FULFILLED | %v | %v | %v |\n",
		rate/2, percentile(took, .5), percentile(took, .99), took[len(took)-1].Round(100*time.Microsecond))
}

// TestPlacement_Sustained is workload W8: 1,000 starts a second with latencies of 20
// players to 5 locations, for a minute.
func TestPlacement_Sustained(t *testing.T) {
	measured(t, *placements, "-placements 4000")
	n := int(1000 * sustained.Seconds())
	m := openMarket(t)
	m.host(t, n)
	requests := m.signedStarts(t, n, crowd{players: 20, locations: 5})
	begin := time.Now()
	took := m.steady(t, 1000, requests)
	fmt.Printf("\n| W8: 1,000 starts a second for %v, 20 players × 5 locations | fulfilled a second | p50 | p99 | slowest |\n|---|---|---|---|---|\n| start to FULFILLED | %.0f | %v | %v | %v |\n",
		*sustained, float64(n)/time.Since(begin).Seconds(), percentile(took, .5), percentile(took, .99), took[len(took)-1].Round(100*time.Microsecond))
}

// TestPlacement_Sessions runs workloads W1 and W2: game sessions on 4,000 idle
// processes that activate immediately, by 40 callers and by one, 100 each.
func TestPlacement_Sessions(t *testing.T) {
	measured(t, *placements, "-placements 4000")
	fmt.Printf("\n| W1, W2: 4,000 idle processes | callers × calls | game sessions a second | p50 | p99 |\n|---|---|---|---|---|\n")
	for _, w := range []struct{ callers, each int }{{40, 100}, {1, 100}} {
		n := w.callers * w.each
		for _, way := range []string{"in process", "HTTP, JSON 1.1"} {
			m := openMarket(t)
			m.host(t, 4000)
			rate, took := m.sessionsBy(t, way, w.callers, n)
			fmt.Printf("| %s | %d × %d | %.0f | %v | %v |\n", way, w.callers, w.each, rate, percentile(took, .5), percentile(took, .99))
		}
	}
}

func (m *market) sessionsBy(t *testing.T, way string, callers, n int) (float64, []time.Duration) {
	t.Helper()
	took := make([]time.Duration, n)
	call := func(i int) error {
		_, err := m.sessions.Create(context.Background(), session.CreateInput{FleetID: m.fleet.ID, Location: location, MaxPlayers: 10})
		return err
	}
	if way != "in process" {
		requests := m.signed(t, "CreateGameSession", n, func(int) any {
			return map[string]any{"FleetId": m.fleet.ID, "Location": location, "MaximumPlayerSessionCount": 10}
		})
		conns, err := dial(m.address, callers)
		check(t, err)
		defer conns.close()
		call = func(i int) error { _, err := conns.send(requests[i]); return err }
	}
	rate, err := together(callers, n, func(i int) error {
		begin := time.Now()
		defer func() { took[i] = time.Since(begin) }()
		return call(i)
	})
	check(t, err)
	slices.Sort(took)
	return rate, took
}

// sizes are the sizes in bytes of the documents that a placement writes.
type sizes struct{ placement, request, session, process int }

func (m *market) sizes(t *testing.T, id string) sizes {
	t.Helper()
	p, r, err := m.places.Get(context.Background(), id)
	check(t, err)
	g := m.sessions.Live(m.store.View(), p.GameSessionID)
	size := func(v any) int {
		raw, err := json.Marshal(v)
		check(t, err)
		return len(raw)
	}
	return sizes{size(p), size(r), size(g), size(m.computes.Process(m.store.View(), g.ProcessKey))}
}

// document is a row of a given size.
type document struct {
	Key  string `json:"key"`
	Body string `json:"body"`
}

// limitOf returns how many times per second the bare store, without rules, loop, wire
// or index, executes the three transactions of a placement, in order for each: the
// request and the placement; the process, the game session and the placement; all of
// them again with two player sessions; and their events.
func limitOf(t *testing.T, callers, n int, s sizes) float64 {
	t.Helper()
	dir := t.TempDir()
	st := store.New(store.Options{Driver: sqlite.New(dir)})
	table := func(name string) *store.Table[document] {
		return store.NewTable(st, store.TableSpec[document]{Name: name, Key: func(d *document) string { return d.Key }})
	}
	requests, rows, games, processes, players := table("request"), table("placement"), table("game_session"), table("process"), table("player")
	events := store.NewLog(st, store.LogSpec[document]{Name: "event"})
	put := func(tx *store.Tx, to *store.Table[document], key string, size int) {
		to.Put(tx, &document{key, strings.Repeat("x", size)})
	}
	tell := func(tx *store.Tx, key string, size int) { events.Append(tx, &document{key, strings.Repeat("x", size)}) }
	begin := store.NewCommand(st, "begin", func(tx *store.Tx, key string) (struct{}, error) {
		put(tx, requests, key, s.request)
		put(tx, rows, key, 300)
		tell(tx, key, 200)
		return struct{}{}, nil
	})
	place := store.NewCommand(st, "place", func(tx *store.Tx, key string) (struct{}, error) {
		put(tx, processes, key, s.process)
		put(tx, games, key, s.session)
		put(tx, rows, key, s.placement)
		tell(tx, key, 300)
		return struct{}{}, nil
	})
	activate := store.NewCommand(st, "activate", func(tx *store.Tx, key string) (struct{}, error) {
		put(tx, processes, key, s.process)
		put(tx, games, key, s.session)
		put(tx, players, key+"a", 400)
		put(tx, players, key+"b", 400)
		put(tx, rows, key, s.placement)
		tell(tx, key, 300)
		tell(tx, key, 900)
		return struct{}{}, nil
	})
	ctx := context.Background()
	check(t, st.Open(ctx))
	defer st.Close()
	rate, err := together(callers, n, func(i int) error {
		for _, step := range []*store.Command[string, struct{}]{begin, place, activate} {
			if _, err := step.Do(ctx, placementID(i)); err != nil {
				return err
			}
		}
		return nil
	})
	check(t, err)
	return rate
}
