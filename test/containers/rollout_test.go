package containers

import (
	"context"
	"flag"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/bots"
)

var sessions = flag.Int("sessions", 12, "how many game sessions TestRollout has played during rollouts")

// silence is how long neither players nor game servers of TestRollout miss each other.
const silence = 3 * time.Minute

// Versions of a container group definition are rolled out on two instances while players play
// in protected game sessions. The agent and the engine are killed during the first rollout;
// the second one, of a version that does not work, is rolled back by itself. No game session
// ends before its player leaves, and no player loses the game server.
func TestRollout(t *testing.T) {
	const instances = 2
	w := build(startDocker(t))
	w.small, w.instanceType = true, "c5.12xlarge"
	idle := max(*sessions/4, 4)
	copies := (*sessions + idle + instances - 1) / instances
	groups := copies * instances

	begun := time.Now()
	did := func(what string) { t.Logf("%s: %s", time.Since(begun).Round(time.Second), what) }
	w.define(w.push("/arena", "server", "--port", "7777", "--ticks", "2", "--silent", silence.String()))
	r := &rollout{world: w, fleetID: w.create(int32(copies))}
	_, err := w.c.UpdateFleetCapacity(t.Context(), &gamelift.UpdateFleetCapacityInput{FleetId: &r.fleetID, DesiredInstances: aws.Int32(instances), MaxSize: aws.Int32(instances)})
	if err != nil {
		t.Fatal(err)
	}
	r.awaitIdle(groups)
	did(strconv.Itoa(groups) + " groups are ready")
	if r.program, err = bots.StartProgram(context.WithoutCancel(t.Context()), w.program); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.program.Close(); err != nil {
			t.Error(err)
		}
	})

	// A new version.
	all := r.play(*sessions)
	did(strconv.Itoa(*sessions) + " game sessions are played")
	two := w.define(w.push("/arena", "server", "--port", "7777", "--ticks", "1", "--silent", silence.String()))
	deployment := w.rollOut(r.fleetID, two, types.DeploymentProtectionStrategyWithProtection)
	r.awaitVersion(two, 1)
	w.restartAgent()
	did("the agent is connected again")
	w.Kill()
	w.Start()
	did("the engine runs again")
	r.awaitVersion(two, groups-*sessions)
	did("groups without a game session are of the new version")
	r.check(all)
	if s := w.deployment(r.fleetID, deployment); s != types.DeploymentStatusInProgress {
		t.Errorf("while protected game sessions are played, the deployment is %s", s)
	}
	r.leave(all)
	did("the players have left")
	if s := w.deployed(r.fleetID, deployment); s != types.DeploymentStatusComplete {
		t.Fatalf("the deployment is %s", s)
	}
	did("the deployment is complete")
	r.awaitIdle(groups)
	w.idle(r.fleetID, groups)
	if n := r.count(two); n != groups {
		t.Errorf("%d groups are of the new version, want %d", n, groups)
	}

	// A version that does not work.
	all = r.play(*sessions)
	did("game sessions are played on the new version")
	three := w.define(w.push("/arena", "no-such-command"))
	if s := w.deploy(r.fleetID, three, types.DeploymentProtectionStrategyWithProtection); s != types.DeploymentStatusRollbackComplete {
		t.Fatalf("the deployment of a version that does not work is %s", s)
	}
	did("the version that does not work is rolled back")
	r.check(all)
	r.leave(all)
	r.awaitIdle(groups)
	w.idle(r.fleetID, groups)
	if n := r.count(two); n != groups {
		t.Errorf("%d groups are of the version that works, want %d", n, groups)
	}
	did("all groups are ready")
}

// rollout is a container fleet whose versions are replaced while bots play on it.
type rollout struct {
	*world
	fleetID string
	program *bots.Program
}

// game is a game session with its player.
type game struct {
	id    string
	leave context.CancelFunc
	heard atomic.Int64  // rises with each snapshot of the game
	over  chan struct{} // closed when how is set
	how   string        // the game ended for the player
}

// awaitIdle waits until as many groups are ready for a game session.
func (r *rollout) awaitIdle(n int) {
	r.t.Helper()
	for {
		d, err := r.c.DescribeFleetCapacity(r.t.Context(), &gamelift.DescribeFleetCapacityInput{FleetIds: []string{r.fleetID}})
		if err != nil {
			r.t.Fatal(err)
		}
		if c := d.FleetCapacity[0].GameServerContainerGroupCounts; c != nil && aws.ToInt32(c.IDLE) == int32(n) {
			return
		}
		r.pause("idle groups")
	}
}

// count returns how many groups of a version run, by their images. While the engine is away
// it is 0.
func (r *rollout) count(v *types.ContainerGroupDefinition) int {
	out, _ := r.try("ps", "--no-trunc", "--format", "{{.Image}}")
	return strings.Count(out, aws.ToString(v.GameServerContainerDefinition.ResolvedImageDigest))
}

// awaitVersion waits until at least n groups of a version run.
func (r *rollout) awaitVersion(v *types.ContainerGroupDefinition, n int) {
	r.t.Helper()
	for r.count(v) < n {
		r.pause("groups of the version")
	}
}

// play creates game sessions, each with one player, and returns them when all play.
func (r *rollout) play(n int) []*game {
	r.t.Helper()
	var all []*game
	for len(all) < n {
		all = append(all, r.join(r.session(r.fleetID)))
	}
	return all
}

// join has a bot play in a game session until it is told to leave.
func (r *rollout) join(session *types.GameSession) *game {
	r.t.Helper()
	made, err := r.c.CreatePlayerSession(r.t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: session.GameSessionId, PlayerId: aws.String("player")})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, leave := context.WithCancel(r.t.Context())
	g := &game{id: *session.GameSessionId, leave: leave, over: make(chan struct{})}
	joined := make(chan struct{})
	go func() {
		defer close(g.over)
		ending, reason, err := r.program.Play(ctx, bots.Game{
			Address:         net.JoinHostPort(*session.IpAddress, strconv.Itoa(int(*session.Port))),
			PlayerSessionID: *made.PlayerSession.PlayerSessionId,
			ActEvery:        time.Second, SilentFor: silence,
			Joined: func() { close(joined) }, Progress: func(n int) { g.heard.Store(int64(n)) },
		})
		if g.how = string(ending) + " " + reason; err != nil {
			g.how = err.Error()
		}
	}()
	select {
	case <-joined:
	case <-g.over:
		r.t.Fatalf("the player of %s: %s", g.id, g.how)
	}
	return g
}

// check checks that all game sessions are ACTIVE, and that each player hears the game it has
// joined.
func (r *rollout) check(all []*game) {
	r.t.Helper()
	active := map[string]bool{}
	pages := gamelift.NewDescribeGameSessionsPaginator(r.c, &gamelift.DescribeGameSessionsInput{FleetId: &r.fleetID, StatusFilter: aws.String("ACTIVE")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range page.GameSessions {
			active[*s.GameSessionId] = true
		}
	}
	before := make([]int64, len(all))
	for n, g := range all {
		if before[n] = g.heard.Load(); !active[g.id] {
			r.t.Errorf("game session %s is lost", g.id)
		}
	}
	for n, g := range all {
		for g.heard.Load() == before[n] {
			if g.isOver() {
				r.t.Fatalf("the player of %s has lost the game: %s", g.id, g.how)
			}
			r.pause("a snapshot of " + g.id)
		}
	}
}

func (g *game) isOver() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

// leave has all players leave, and waits until their game sessions have ended.
func (r *rollout) leave(all []*game) {
	r.t.Helper()
	if i := slices.IndexFunc(all, (*game).isOver); i >= 0 {
		r.t.Fatalf("the player of %s has lost the game: %s", all[i].id, all[i].how)
	}
	for _, g := range all {
		g.leave()
	}
	for _, g := range all {
		<-g.over
		if g.how = strings.TrimSpace(g.how); g.how != string(bots.Played) {
			r.t.Errorf("the player of %s: %s", g.id, g.how)
		}
	}
	for _, g := range all {
		for !r.hasEnded(g.id) {
			r.pause("the end of " + g.id)
		}
	}
}

// hasEnded reports whether a game session has ended in order.
func (r *rollout) hasEnded(id string) bool {
	r.t.Helper()
	found, err := r.c.DescribeGameSessions(r.t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: &id})
	if err != nil {
		r.t.Fatal(err)
	}
	s := found.GameSessions[0]
	if s.StatusReason != "" {
		r.t.Errorf("game session %s is %s: %s", id, s.Status, s.StatusReason)
	}
	return s.Status == types.GameSessionStatusTerminated
}
