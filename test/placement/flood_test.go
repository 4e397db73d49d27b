package placement

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

var total = flag.Int("placements", 10_000, "how many placements wait in TestFlood")

// kills is how often the server is killed while placements are pending.
const kills = 4

// flood is the state of TestFlood: a server that is killed and restarted, and its
// clients.
type flood struct {
	*testing.T
	path     string
	args     []string
	server   *node.Process
	client   *gamelift.Client
	operator client.Client
	place    *node.Place
	kill     chan struct{} // requests a kill

	mu     sync.Mutex
	hosted map[string]string // game session → process
}

// TestFlood starts 10,000 placements, then processes for them in bursts, and kills the
// server several times: every placement is fulfilled, in the order in which they were
// started, no process hosts two game sessions, and no game session is on two processes.
func TestFlood(t *testing.T) {
	f := &flood{T: t, path: node.Path(t), hosted: map[string]string{}, kill: make(chan struct{}, 2*kills)}
	f.open()
	f.startAll(*total)
	watch := make(chan map[string]bool, 1)
	go func() { watch <- f.untilFulfilled(*total) }()
	f.bursts(watch)
	f.checkOrder()
}

// open starts the server and creates a queue and a place whose game sessions must
// become active within five seconds.
func (f *flood) open() {
	f.args = []string{"local", "--demo=false", "--data", f.TempDir(), "--listen", node.Reserve(f)} // to which processes reconnect
	f.run()
	f.operator = client.Client{Endpoint: f.server.URL}
	f.place = node.NewPlace(f, f.client)
	_, err := f.client.UpdateRuntimeConfiguration(f.Context(), &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &f.place.FleetID, RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(5)},
	})
	f.must(err)
	_, err = f.client.CreateGameSessionQueue(f.Context(), &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("flood"), TimeoutInSeconds: aws.Int32(600),
		Destinations: []types.GameSessionQueueDestination{{DestinationArn: &f.place.FleetARN}},
	})
	f.must(err)
	f.Cleanup(func() { f.server.Kill() })
}

func (f *flood) run() {
	server, err := node.Run(f.path, f.args...)
	f.must(err)
	f.server, f.client = server, node.Client(server.URL)
}

func (f *flood) must(err error) {
	if err != nil {
		f.Helper()
		f.Fatal(err)
	}
}

// startAll starts n placements from concurrent callers, and kills the server once half
// of them are started.
func (f *flood) startAll(n int) {
	for half := range 2 {
		ids := make(chan string)
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				for id := range ids {
					if err := f.start(id); err != nil {
						f.Error(err)
					}
				}
			})
		}
		for i := half * n / 2; i < (half+1)*n/2; i++ {
			ids <- fmt.Sprintf("p-%x", i*7919%65536)
		}
		close(ids)
		callers.Wait()
		if half == 0 {
			f.server.Kill()
			f.run()
		}
	}
}

func (f *flood) start(id string) error {
	_, err := f.client.StartGameSessionPlacement(f.Context(), &gamelift.StartGameSessionPlacementInput{
		PlacementId: &id, GameSessionQueueName: aws.String("flood"), MaximumPlayerSessionCount: aws.Int32(4),
		DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("ann")}},
	})
	return err
}

// bursts starts processes, a few hundred at a time, until all placements are fulfilled,
// and kills the server when asked to.
func (f *flood) bursts(done <-chan map[string]bool) {
	ctx, end := context.WithCancel(f.Context())
	var servers sync.WaitGroup
	defer servers.Wait()
	defer end()
	room := make(chan struct{}, 300) // processes at a time
	for {
		select {
		case fulfilled := <-done:
			if len(fulfilled) != *total {
				f.Errorf("%d placements are fulfilled, want %d", len(fulfilled), *total)
			}
			return
		case <-f.kill:
			f.server.Kill()
			f.run()
		case room <- struct{}{}:
			servers.Go(func() { defer func() { <-room }(); f.serve(ctx) })
		}
	}
}

// serve runs one process: it waits for a game session to become active and ends.
func (f *flood) serve(ctx context.Context) {
	o := f.place.Options()
	p, err := gameserver.Start(ctx, o)
	if err != nil {
		wake.Sleep(ctx, 100*time.Millisecond) // the server is being killed
		return
	}
	defer p.Kill()
	select {
	case g := <-p.Started():
		f.note(g.GameSessionID, p.ID())
	case <-p.Done():
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-p.Activated():
	case <-p.Done():
	case <-ctx.Done():
	}
	if hosted := p.Hosted(); len(hosted) != 1 {
		f.Errorf("process %s was given %v", p.ID(), hosted)
	}
	_ = p.End(ctx) // the server may be down; it then counts the process as lost
}

func (f *flood) note(gameSession, process string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.hosted[gameSession]; other != "" {
		f.Errorf("game session %s was given to %s and to %s", gameSession, other, process)
	}
	f.hosted[gameSession] = process
	if every := *total / kills; len(f.hosted)%every == every/2 {
		f.kill <- struct{}{} // never blocks: the channel has room for all kills
	}
}

// untilFulfilled follows the event log, across kills, until n placements are fulfilled,
// and returns their ids.
func (f *flood) untilFulfilled(n int) map[string]bool {
	fulfilled, enough := map[string]bool{}, errors.New("enough")
	err := f.operator.Events(f.Context(), client.EventQuery{Last: math.MaxInt32, Follow: true}, func(e client.Event) error {
		switch e.Code {
		case "PLACEMENT_FULFILLED":
			fulfilled[e.Resource] = true
		case "PLACEMENT_FAILED", "PLACEMENT_TIMED_OUT", "PLACEMENT_CANCELLED":
			f.Errorf("%s: %s", e.Code, e.Resource)
			fulfilled[e.Resource] = true
		}
		if len(fulfilled) == n {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		f.Error(err)
	}
	return fulfilled
}

// checkOrder checks that the first game sessions of the placements were created in the
// order in which the placements were started.
func (f *flood) checkOrder() {
	var came, made []string
	seen := map[string]bool{}
	f.must(f.operator.Events(f.Context(), client.EventQuery{Last: math.MaxInt32}, func(e client.Event) error {
		switch e.Code {
		case "PLACEMENT_STARTED":
			came = append(came, e.Resource)
		case "GAME_SESSION_CREATED":
			id := e.GameSessionID[strings.LastIndex(e.GameSessionID, "/")+1:]
			parts := strings.SplitN(id, "-", 3) // a later attempt has one more part
			if id = parts[0] + "-" + parts[1]; !seen[id] {
				seen[id] = true
				made = append(made, id)
			}
		}
		return nil
	}))
	if diff := cmp.Diff(came, made); diff != "" {
		f.Errorf("game sessions are not in the order of their placements (-placements +game sessions):\n%s", diff)
	}
	f.Logf("%d placements, %d game sessions given to processes", len(came), len(f.hosted))
}
