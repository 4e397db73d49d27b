package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/app/lab"
	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/session"
)

// bench is an app with a fleet and a matchmaking configuration, and a key that signs.
type bench struct {
	testing.TB
	*App
	key   auth.Credentials
	fleet *fleet.Fleet
}

const benchLocation = "custom-bench"

func newBench(b testing.TB) *bench {
	ctx := b.Context()
	a, err := New(Options{
		Listen: "127.0.0.1:0", DataDir: b.TempDir(), Store: "memory",
		Limits: map[string]limit.Rate{string(auth.GameBackend): limit.Off},
	})
	t := &bench{TB: b, App: a}
	t.must(err)
	t.must(a.Start(ctx))
	b.Cleanup(func() { t.must(a.Stop(context.Background())) })
	t.key, err = a.home().domain.keys.Create(ctx, auth.Spec{Name: "bench", Role: auth.GameBackend})
	t.must(err)
	_, err = a.home().domain.fleets.Locations.Create(ctx, benchLocation, nil)
	t.must(err)
	t.fleet, err = a.home().domain.fleets.Create.Do(ctx, fleet.CreateInput{Name: "bench", ComputeType: fleet.Anywhere, Locations: []string{benchLocation}})
	t.must(err)
	_, err = a.home().domain.matches.RuleSets.Create(ctx, flexmatch.RuleSetInput{Name: "bench", Body: `{"ruleLanguageVersion": "1.0",
		"playerAttributes": [{"name": "skill", "type": "number"}], "teams": [{"name": "all", "minPlayers": 40, "maxPlayers": 40}],
		"rules": [{"name": "never", "type": "comparison", "operation": "<", "referenceValue": 0, "measurements": ["flatten(teams[*].players.attributes[skill])"]}]}`})
	t.must(err)
	_, err = a.home().domain.matches.Configurations.Create(ctx, flexmatch.ConfigurationInput{Configuration: flexmatch.Configuration{
		Name: "bench", RuleSet: "bench", Mode: flexmatch.Standalone, RequestTimeout: time.Hour,
	}})
	t.must(err)
	return t
}

func (t *bench) must(err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// processes makes n game server processes that are ready for a game session.
func (t *bench) processes(n int) {
	ctx, d := t.Context(), t.home().domain
	for i := range n {
		ref := compute.Ref{FleetID: t.fleet.ID, ComputeName: fmt.Sprint("host-", i/1000), ProcessID: fmt.Sprint("process-", i)}
		if i%1000 == 0 {
			_, err := d.computes.Register(ctx, compute.RegisterInput{FleetID: ref.FleetID, Name: ref.ComputeName, Location: benchLocation, IPAddress: "127.0.0.1"})
			t.must(err)
		}
		_, err := d.computes.Connect(ctx, compute.ConnectInput{Ref: ref}, deaf{})
		t.must(err)
		t.must(d.computes.Ready(ctx, compute.ReadyInput{Ref: ref, Port: 1024 + i%60000}))
		t.must(d.computes.Hearing(ctx, ref))
	}
}

// deaf is the link of a process that does not exist.
type deaf struct{}

func (deaf) StartGameSession(compute.Start)   {}
func (deaf) UpdateGameSession(compute.Update) {}
func (deaf) Terminate(time.Time)              {}
func (deaf) Drop()                            {}

// games makes n active game sessions and returns their ids.
func (t *bench) games(n int) []string {
	t.processes(n)
	ids := make([]string, n)
	for i := range ids {
		g, err := t.home().domain.sessions.Create(t.Context(), session.CreateInput{FleetID: t.fleet.ID, Location: benchLocation, MaxPlayers: 10})
		t.must(err)
		t.must(t.home().domain.sessions.Activate(t.Context(), compute.ParseRef(g.ProcessKey), g.ID))
		ids[i] = g.ID
	}
	return ids
}

// signed returns the bytes of a signed request.
func (t *bench) signed(operation string, in any) []byte {
	body, err := json.Marshal(in)
	t.must(err)
	r, err := http.NewRequest(http.MethodPost, t.URL()+"/", bytes.NewReader(body))
	t.must(err)
	r.Header = http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"GameLift." + operation}}
	hash := sha256.Sum256(body)
	who := aws.Credentials{AccessKeyID: t.key.AccessKeyID, SecretAccessKey: t.key.SecretAccessKey}
	t.must(v4.NewSigner().SignHTTP(t.Context(), who, r, hex.EncodeToString(hash[:]), "gamelift", "us-east-1", time.Now()))
	var wire bytes.Buffer
	t.must(r.Write(&wire))
	return wire.Bytes()
}

// run sends each request once, on 64 connections; the time of the client counts.
func (t *bench) run(b *testing.B, requests [][]byte) {
	var next atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", t.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for pb.Next() {
			if _, err := conn.Write(requests[next.Add(1)-1]); err != nil {
				t.Error(err)
				return
			}
			if err := take(in); err != nil {
				t.Error(err)
				return
			}
		}
	})
}

// take reads a response and returns an error unless it is 200 OK. It allocates nothing.
func take(in *bufio.Reader) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	failed := !bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return err
			}
		}
	}
	if failed {
		body := make([]byte, length)
		_, err := io.ReadFull(in, body)
		return fmt.Errorf("%s (%w)", body, err)
	}
	_, err = in.Discard(length)
	return err
}

// BenchmarkAPI measures signed requests from the socket to the answer, with a store in
// memory: what a request costs besides its transaction on disk.
func BenchmarkAPI(b *testing.B) {
	b.Run("DescribeGameSessions", func(b *testing.B) {
		t := newBench(b)
		id := t.games(1)[0]
		t.run(b, slices.Repeat([][]byte{t.signed("DescribeGameSessions", map[string]any{"GameSessionId": id})}, b.N))
	})
	b.Run("StartMatchmaking", func(b *testing.B) {
		t := newBench(b)
		requests := make([][]byte, b.N)
		for i := range requests {
			requests[i] = t.signed("StartMatchmaking", map[string]any{
				"ConfigurationName": "bench", "TicketId": fmt.Sprint("ticket-", i),
				"Players": []any{map[string]any{
					"PlayerId": fmt.Sprint("player-", i), "PlayerAttributes": map[string]any{"skill": map[string]any{"N": i % 1000}},
					"LatencyInMs": map[string]any{benchLocation: 20 + i%150},
				}},
			})
		}
		t.run(b, requests)
	})
}

// crowded returns a server with 10,000 game sessions of 2 players, as many processes, and 2,000
// open tickets; and the ids of the game sessions.
func crowded(b *testing.B) (t *bench, ids []string) {
	t = newBench(b)
	ids = t.games(10_000)
	for i, id := range ids {
		var in session.ReserveInput
		in.GameSessionID = id
		for n := range 2 {
			in.Players = append(in.Players, session.Joining{PlayerID: fmt.Sprint("player-", 2*i+n)})
		}
		_, err := t.home().domain.sessions.Players.Reserve(t.Context(), in)
		t.must(err)
	}
	skill := 1000.0
	for i := range 2000 {
		_, _, err := t.home().domain.matches.Start(t.Context(), flexmatch.StartInput{Configuration: "bench", Players: []flexmatch.Player{{
			ID: fmt.Sprint("waiting-", i), Attributes: map[string]flexmatch.Attribute{"skill": {N: &skill}},
		}}})
		t.must(err)
	}
	return t, ids
}

// open lets anybody see all views.
var open = pages.Gate{
	Who:   func(*http.Request, auth.Action) (auth.Caller, error) { return auth.Anybody(), nil },
	Allow: func(*http.Request, auth.Action, ...string) (auth.Caller, error) { return auth.Anybody(), nil },
}

// BenchmarkViews measures what one computation of a console's page costs, with 10,000 game
// sessions of 2 players, as many processes, and 2,000 open tickets. A page that is open is
// computed at most once a second (a game session and a queue twice), however many have it open.
func BenchmarkViews(b *testing.B) {
	t, ids := crowded(b)
	views := t.home().domain.pages.Views(open)
	for _, v := range []struct{ name, query string }{
		{"now", ""}, {"now", "range=24h"}, {"now", "range=7d"}, {"world", ""}, {"sessions", ""}, {"sessions", "limit=10000"}, {"sessions", "sort=-players"}, {"session", "id=" + ids[0]},
		{"fleet", "id=" + t.fleet.ID}, {"matchmaker", "name=bench"}, {"matchmakers", ""}, {"matchmakers", "range=7d"}, {"player", "id=player-7"}, {"search", "text=player-19999"},
	} {
		b.Run(v.name+" "+v.query, func(b *testing.B) {
			q, err := url.ParseQuery(v.query)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var size int
			for b.Loop() {
				data, err := views[v.name].Data(b.Context(), auth.Anybody(), q)
				if err != nil {
					b.Fatal(err)
				}
				text, err := json.Marshal(data)
				if err != nil {
					b.Fatal(err)
				}
				size = len(text)
			}
			b.ReportMetric(float64(size), "bytes-sent")
		})
	}
}

// BenchmarkConsoles measures the memory of a server that each of 100 consoles takes that follow
// the same view, from its connection on. The other end of the connection is part of it.
func BenchmarkConsoles(b *testing.B) {
	const consoles = 100
	t, ids := crowded(b)
	memory := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc + m.StackInuse)
	}
	for _, view := range []string{"now?", "sessions?limit=200", "session?id=" + ids[0], "fleet?id=" + t.fleet.ID, "matchmaker?name=bench"} {
		b.Run(view[:strings.IndexByte(view, '?')], func(b *testing.B) {
			door := console.New(console.Options{Last: func() uint64 { return 1 }, Streams: 4 * consoles, Logger: slog.New(slog.DiscardHandler)})
			door.Views(t.home().domain.pages.Views(open))
			server := httptest.NewServer(door)
			defer server.Close()
			defer door.Close()
			for b.Loop() {
				before := memory()
				shown := make(chan error, consoles)
				conns := make([]net.Conn, consoles)
				for i := range conns {
					conn, err := net.Dial("tcp", server.Listener.Addr().String())
					t.must(err)
					conns[i] = conn
					fmt.Fprintf(conn, "GET /console/api/live/%s&every=1000 HTTP/1.1\r\nHost: console\r\n\r\n", view)
					go func() {
						part, first := make([]byte, 4096), true
						for {
							n, err := conn.Read(part)
							if first && (err != nil || bytes.Contains(part[:n], []byte(`"seq"`))) {
								first = false
								shown <- err
							}
							if err != nil {
								return
							}
						}
					}()
				}
				for range conns {
					t.must(<-shown)
				}
				b.ReportMetric((memory()-before)/consoles, "bytes-a-console")
				for _, conn := range conns {
					conn.Close()
				}
			}
		})
	}
}

// BenchmarkBesideSimulation measures game sessions that are created at a fixed pace, in turns
// without and with a simulation of the rules lab in the same server. x-p50 and x-p99 are how
// many times as long they take beside it, ms-p99 is how long: medians over pairs of neighboring turns, since
// machines have moods. unpaced is a simulation that does not give way; none is the same without
// any, which shows how much the figures say.
func BenchmarkBesideSimulation(b *testing.B) {
	for _, c := range []struct {
		name  string
		share float64
	}{{"none", -1}, {"paced", 0}, {"unpaced", 1}} {
		b.Run(c.name, func(b *testing.B) {
			const pairs, each, pace = 12, 100, 10 * time.Millisecond
			t := newBench(b)
			t.processes(2*pairs*each + each)
			request := t.signed("CreateGameSession", map[string]any{"FleetId": t.fleet.ID, "Location": benchLocation, "MaximumPlayerSessionCount": 10})
			conn, err := net.Dial("tcp", t.Addr().String())
			t.must(err)
			defer conn.Close()
			in := bufio.NewReader(conn)
			turn := func() (p50, p99 time.Duration) {
				var took []time.Duration
				tick := time.NewTicker(pace)
				defer tick.Stop()
				for range each {
					<-tick.C
					begun := time.Now()
					_, err := conn.Write(request)
					t.must(err)
					t.must(take(in))
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				return took[each/2], took[each-2]
			}
			turn() // the first ones make connections and caches
			var middle, tail []float64
			var busy []time.Duration
			b.ResetTimer()
			for range b.N {
				for range pairs {
					p50, p99 := turn()
					end := simulate(t, c.share)
					busy50, busy99 := turn()
					end()
					middle, tail = append(middle, float64(busy50)/float64(p50)), append(tail, float64(busy99)/float64(p99))
					busy = append(busy, busy99)
				}
			}
			slices.Sort(middle)
			slices.Sort(tail)
			slices.Sort(busy)
			b.ReportMetric(middle[len(middle)/2], "x-p50")
			b.ReportMetric(tail[len(tail)/2], "x-p99")
			b.ReportMetric(float64(busy[len(busy)/2].Microseconds())/1000, "ms-p99")
		})
	}
}

// simulate begins a simulation with a share of a processor, 0 for that of the server, -1 for none, which
// runs until the function that it returns is called.
func simulate(t *bench, share float64) (end func()) {
	if share < 0 {
		return func() {}
	}
	l := lab.New(nil)
	if share > 0 {
		l.Share = share
	}
	const rules = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number"}],
		"teams": [{"name": "team", "minPlayers": 5, "maxPlayers": 5, "quantity": 2}],
		"rules": [{"name": "Close", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 100},
		{"name": "Fair", "type": "distance", "maxDistance": 30, "measurements": ["avg(teams[*].players.attributes[skill])"], "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))"}]}`
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		l.Simulate(ctx, &console.Simulation{A: rules, B: rules, Minutes: 60, Runs: 20, Players: []byte(
			`{"populations": [{"tickets_per_minute": 900, "attributes": {"skill": {"number": {"normal": {"mean": 1500, "sd": 400}, "min": 0}}}}]}`,
		)}, func(console.Progress) error {
			select {
			case begun <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	<-begun
	return func() { cancel(); <-ended }
}
