package scenario

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

var (
	rounds = flag.Int("rounds", 100, "how often to kill the server")
	seed   = flag.Uint64("seed", 0, "seed of the load and of the instants of death; 0 picks one")
)

// How many game servers and workers a timeline has; a third of them if it is one of several.
const (
	slots   = 24
	workers = 8
)

// What a server acknowledged is there after each of many deaths under load.
func TestKill(t *testing.T) {
	node.Path(t)
	pickSeed(t)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		kill(t)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		kill(t, "--store", url, "--cell", pgtest.Cell(t, url))
	})
}

// pickSeed picks a seed unless one is set, and logs it.
func pickSeed(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
}

// timeline is one server that is killed and restarted, and what is known about it.
type timeline struct {
	t       *testing.T
	args    []string // of the server
	state   []string // those of args that locate the state
	rand    *rand.Rand
	few     bool // it is one of several
	moves   bool // another server may take over at any time
	server  *node.Process
	place   *node.Place
	host    *host
	workers []*worker
	slowest time.Duration // from the start of the process to the ready line
}

// kill kills the server in each round at a random instant under load.
func kill(t *testing.T, args ...string) {
	tl := newTimeline(t, args)
	for round := range *rounds {
		tl.work()
		tl.restart()
		if err := tl.check(t.Context()); err != nil {
			t.Fatalf("round %d of seed %d: %v", round+1, *seed, err)
		}
	}
	tl.verify()
	tl.report()
}

// verify runs `muster admin verify` on what the last kill left.
func (tl *timeline) verify() {
	tl.server.Kill()
	out, err := exec.Command(node.Path(tl.t), append([]string{"admin", "verify"}, tl.state...)...).CombinedOutput()
	if err != nil {
		tl.t.Errorf("muster admin verify: %v\n%s", err, out)
	}
}

func newTimeline(t *testing.T, args []string) *timeline {
	tl := &timeline{t: t, rand: rand.New(rand.NewPCG(*seed, 1))}
	tl.state = append([]string{"--data", t.TempDir()}, args...)
	tl.args = append([]string{"--listen", node.Reserve(t), "--log-level", "warn"}, tl.state...)
	tl.server = node.Start(t, tl.args...)
	tl.people(tl.server.URL)
	return tl
}

// people starts game servers and workers for a Muster.
func (tl *timeline) people(url string, change ...func(*gamelift.Options)) {
	t := tl.t
	client := node.Client(url, append(change, func(o *gamelift.Options) { o.RetryMaxAttempts = 1 })...)
	share := 1
	if tl.few {
		share = 3
	}
	tl.place = node.NewPlace(t, client)
	quick(t, tl.place)
	ctx, cancel := context.WithCancel(context.Background())
	tl.host = newHost(ctx, tl.place, slots/share)
	t.Cleanup(func() {
		cancel()
		tl.host.running.Wait()
	})
	for i := range workers / share {
		tl.workers = append(tl.workers, &worker{number: i, place: tl.place, host: tl.host, patient: tl.few, rand: rand.New(rand.NewPCG(*seed, uint64(i)+2))})
	}
}

// quick makes a fleet give up soon a game session whose start was lost, because a
// start is never sent twice.
func quick(t *testing.T, place *node.Place) {
	if _, err := place.Client.UpdateRuntimeConfiguration(t.Context(), &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &place.FleetID, RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(5)},
	}); err != nil {
		t.Fatal(err)
	}
}

// work runs the workers until the server is killed.
func (tl *timeline) work() { tl.workUntil(func() { tl.server.Kill() }) }

// workUntil runs the workers, and others concurrently, for a random time until Muster
// is disturbed and for as long as that takes.
func (tl *timeline) workUntil(disturb func(), others ...func(context.Context)) {
	ctx, cancel := context.WithCancel(tl.t.Context())
	var running sync.WaitGroup
	for _, run := range append(others, tl.run) {
		running.Go(func() { run(ctx) })
	}
	<-time.After(time.Duration(20+tl.rand.IntN(400)) * time.Millisecond)
	disturb()
	cancel()
	running.Wait()
}

// run runs the workers until ctx ends.
func (tl *timeline) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range tl.workers {
		running.Go(func() { w.run(ctx) })
	}
	running.Wait()
}

func (tl *timeline) restart() {
	tl.server = node.Start(tl.t, tl.args...)
	tl.slowest = max(tl.slowest, tl.server.Ready)
}

// check compares the server with everything it ever acknowledged.
func (tl *timeline) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	if err := tl.host.back(ctx); err != nil {
		return err
	}
	if err := tl.host.checkHosted(); err != nil {
		return err
	}
	for _, w := range tl.workers {
		for _, g := range w.games {
			w.learn(g) // before reading: what is acknowledged now must be there then
		}
	}
	now, err := tl.read(ctx)
	if err != nil {
		return err
	}
	if err := onePort(now); err != nil {
		return err
	}
	for _, w := range tl.workers {
		if err := tl.checkWorker(ctx, w, now); err != nil {
			return err
		}
	}
	return nil
}

// read returns every game session of the fleet by id.
func (tl *timeline) read(ctx context.Context) (map[string]types.GameSession, error) {
	now := map[string]types.GameSession{}
	pages := gamelift.NewDescribeGameSessionsPaginator(tl.place.Client, &gamelift.DescribeGameSessionsInput{FleetId: &tl.place.FleetID, Limit: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, retried)
		if err != nil {
			return nil, err
		}
		for _, g := range page.GameSessions {
			now[*g.GameSessionId] = g
		}
	}
	return now, nil
}

// onePort checks that no process, identified by its port, has two game sessions.
func onePort(now map[string]types.GameSession) error {
	at := map[int32]string{}
	for id, g := range now {
		if other, twice := at[*g.Port]; twice {
			return fmt.Errorf("the process at port %d has two game sessions, %s and %s", *g.Port, other, id)
		}
		at[*g.Port] = id
	}
	return nil
}

func (tl *timeline) checkWorker(ctx context.Context, w *worker, now map[string]types.GameSession) error {
	w.settle(now)
	for _, g := range w.games {
		found, ok := now[g.id]
		if !ok {
			return fmt.Errorf("game session %s was acknowledged and is gone", g.id)
		}
		if err := g.check(found); err != nil {
			return err
		}
		if !g.touched {
			continue
		}
		if err := tl.checkPlayers(ctx, g); err != nil {
			return err
		}
		if g.touched = false; g.live() {
			if err := tl.join(ctx, w, g); err != nil {
				return fmt.Errorf("game session %s was ACTIVE before the server died, and now takes no player: %w", g.id, err)
			}
		}
	}
	return nil
}

// join lets a player join a game. If another server takes over, which breaks connections, the
// player comes back.
func (tl *timeline) join(ctx context.Context, w *worker, g *game) error {
	for {
		err := w.join(ctx, g)
		var refused smithy.APIError
		if !tl.moves || ctx.Err() != nil || !errors.Is(err, gameserver.ErrDisconnected) && (!asError(err, &refused) || refused.ErrorFault() != smithy.FaultServer) {
			return err
		}
		pause(ctx)
	}
}

// settle finds out what became of the creations without an answer.
func (w *worker) settle(now map[string]types.GameSession) {
	for _, token := range w.doubts {
		for id, g := range now {
			if len(id) > len(token) && id[len(id)-len(token)-1:] == "/"+token {
				w.games = append(w.games, adopted(&g))
			}
		}
	}
	w.doubts = nil
}

// learn adopts what was acknowledged to the game's server.
func (w *worker) learn(g *game) {
	if p := w.host.on(g.port); p != nil && len(p.Hosted()) == 1 && p.Hosted()[0] == g.id {
		activated, ended := p.acknowledged()
		g.activated = g.activated || activated
		g.ended = ended
	}
}

// checkPlayers compares the player sessions of a game with what was acknowledged.
func (tl *timeline) checkPlayers(ctx context.Context, g *game) error {
	found := map[string]bool{}
	pages := gamelift.NewDescribePlayerSessionsPaginator(tl.place.Client, &gamelift.DescribePlayerSessionsInput{GameSessionId: &g.id, Limit: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, retried)
		if err != nil {
			return err
		}
		for _, p := range page.PlayerSessions {
			found[*p.PlayerSessionId] = true
			if err := g.checkPlayer(p); err != nil {
				return err
			}
		}
	}
	for id := range g.players {
		if !found[id] {
			return fmt.Errorf("player session %s in %s was acknowledged and is gone", id, g.id)
		}
	}
	return nil
}

// report logs how much was tested.
func (tl *timeline) report() {
	games, players, calls, connections := 0, 0, 0, 0
	for _, w := range tl.workers {
		games += len(w.games)
		calls += w.calls
		for _, g := range w.games {
			players += len(g.players)
		}
	}
	for _, p := range tl.host.all() {
		connections += p.Connections()
	}
	tl.t.Logf("%d rounds: %d acknowledged calls, %d game sessions, %d player sessions, %d processes with %d connections; slowest start %s",
		*rounds, calls, games, players, len(tl.host.all()), connections, tl.slowest.Round(time.Millisecond))
	if games < *rounds || players < *rounds {
		tl.t.Errorf("%d game sessions and %d player sessions in %d rounds: the load does not load", games, players, *rounds)
	}
}

// retried is for reads: sometimes AWS's SDK itself closes the connection during a
// large answer, and relies on its retries.
func retried(o *gamelift.Options) { o.RetryMaxAttempts = 5 }

func asError[E any](err error, target *E) bool { return errors.As(err, target) }
