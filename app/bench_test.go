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
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
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
