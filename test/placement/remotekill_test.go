package placement

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/placement/remote"
	"github.com/musterhq/muster/test/node"
)

// mortal is a Muster in a process of its own, which is killed and started again.
type mortal struct {
	*realm
	args    []string
	process *node.Process
	other   *node.Place // another fleet
}

func newMortal(t *testing.T, region, account string, args ...string) *mortal {
	t.Helper()
	m := &mortal{realm: &realm{region: region, account: account}, args: append([]string{
		"--listen", node.Reserve(t), "--data", t.TempDir(), "--region", region, "--account", account, "--log-level", "warn",
	}, args...)}
	m.process = node.Start(t, m.args...)
	m.url = m.process.URL
	m.admin = client.Client{Endpoint: m.url}
	m.client = node.Client(m.url, func(o *gamelift.Options) { o.RetryMaxAttempts = 8 })
	m.furnish(t)
	return m
}

// remotesFile returns a file of a configuration that names other Musters.
func remotesFile(t *testing.T, others ...*mortal) string {
	t.Helper()
	var all []remote.Config
	for _, m := range others {
		all = append(all, m.config)
	}
	file := filepath.Join(t.TempDir(), "remotes.yaml")
	text, err := yaml.Marshal(all)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// furnish creates two fleets.
func (m *mortal) furnish(t *testing.T) {
	t.Helper()
	m.open(t, m.url)
	m.other = node.NewPlace(t, m.client)
	for _, place := range []*node.Place{m.place, m.other} {
		if _, err := m.client.UpdateRuntimeConfiguration(t.Context(), &gamelift.UpdateRuntimeConfigurationInput{ // a start is never sent twice
			FleetId: &place.FleetID, RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(2)},
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// again starts a Muster that was killed.
func (m *mortal) again(t *testing.T) { m.process = node.Start(t, m.args...) }

// live returns the game sessions that have not ended.
func (m *mortal) live(t *testing.T) (all []string) {
	t.Helper()
	for _, place := range []*node.Place{m.place, m.other} {
		found, err := m.client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{FleetId: &place.FleetID, Limit: aws.Int32(100)})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range found.GameSessions {
			if g.Status != types.GameSessionStatusTerminated {
				all = append(all, *g.GameSessionId)
			}
		}
	}
	return all
}

// TestRemotes_Kill kills each side at each step of an attempt at the other one: before and
// after each request is carried out, and when the placement is FULFILLED. Each placement has
// exactly one live game session in the end, and one that was stopped has none.
func TestRemotes_Kill(t *testing.T) {
	node.Path(t)
	there := newMortal(t, "eu-west-1", "222222222222")
	w := newWire(t, there.url, 0)
	there.config.Endpoint, there.config.Timeout = w.url, 10*time.Second
	home := newMortal(t, "us-east-1", "000000000000", "--remotes", remotesFile(t, there))
	s := &siege{homeOf: &homeOf{T: t, realm: home.realm}, home: home, there: there, wire: w}
	s.queue("q", []string{there.place.FleetARN, there.other.FleetARN, home.place.FleetARN}, types.PriorityTypeDestination)
	for range 18 { // none at home: what the remote has is not known at once after a restart
		there.place.Server(t)
		there.other.Server(t)
	}
	for _, victim := range []*mortal{home, there} {
		for _, operation := range []string{"CreateGameSession", "DescribeGameSessions", "CreatePlayerSessions"} {
			for _, carried := range []bool{false, true} {
				s.attempt(victim, operation, carried)
			}
		}
		s.settled(victim)
		for _, carried := range []bool{false, true} {
			s.stopped(victim, carried)
		}
	}
	if n := len(there.live(t)); n < 12 {
		t.Errorf("%d of the placements are at the remote: the test does not test it", n)
	}
}

// siege is two Musters, of which one places at the other.
type siege struct {
	*homeOf
	home, there *mortal
	far         *mortal // nil: there is no third one
	wire        *wire
	begun       int
	placed      []string // game sessions of fulfilled placements
	at          string   // the step, for messages
}

func (s *siege) name(victim *mortal, done, what string, carried bool) string {
	s.begun++
	s.at = fmt.Sprintf("step %d: %s %s at %s, carried out %v", s.begun, victim.region, done, what, carried)
	s.Log(s.at)
	return fmt.Sprintf("p-%d", s.begun)
}

// attempt kills a side at a request of an attempt.
func (s *siege) attempt(victim *mortal, operation string, carried bool) {
	id := s.name(victim, "killed", operation, carried)
	tr := s.wire.set(operation, carried, true, victim.process.Kill)
	s.must(s.start("q", id, nil))
	s.sprung(tr.sprung)
	victim.again(s.T)
	s.fulfilled(id)
	s.check()
}

// settled kills a side as soon as a placement is FULFILLED.
func (s *siege) settled(victim *mortal) {
	id := s.name(victim, "killed", "the end", true)
	s.must(s.start("q", id, nil))
	s.until(id, types.GameSessionPlacementStateFulfilled)
	victim.process.Kill()
	victim.again(s.T)
	s.fulfilled(id)
	s.must(s.start("q", id+"-next", nil))
	s.fulfilled(id + "-next") // the game servers are back
	s.check()
}

// stopped stops a placement whose game session was just created, and kills a side while the
// game session is being ended.
func (s *siege) stopped(victim *mortal, carried bool) {
	id := s.name(victim, "killed", "TerminateGameSession", carried)
	stopped := s.wire.set("CreateGameSession", true, false, func() {
		_, err := s.client.StopGameSessionPlacement(s.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: &id})
		if err != nil {
			s.Errorf("%s: %v", s.at, err)
		}
	})
	tr := s.wire.set("TerminateGameSession", carried, true, func() {
		<-stopped.sprung // else the one who stops the placement may be told nothing, and asks again
		victim.process.Kill()
	})
	s.must(s.start("q", id, nil))
	s.sprung(tr.sprung)
	victim.again(s.T)
	s.until(id, types.GameSessionPlacementStateCancelled)
	s.check()
}

func (s *siege) sprung(sprung <-chan struct{}) {
	s.Helper()
	wait.Done(s, s.at+": such a request", sprung)
}

func (s *siege) fulfilled(id string) {
	s.Helper()
	p := s.until(id, types.GameSessionPlacementStateFulfilled)
	if len(p.PlacedPlayerSessions) != 2 {
		s.Errorf("%s: %d slots for 2 players", s.at, len(p.PlacedPlayerSessions))
	}
	s.placed = append(s.placed, *p.GameSessionArn)
}

// check waits until the live game sessions of both sides are those of the fulfilled
// placements.
func (s *siege) check() {
	s.Helper()
	slices.Sort(s.placed)
	wait.For(s, s.at+": the live game sessions are those that are placed", func() error {
		live := append(s.home.live(s.T), s.there.live(s.T)...)
		if s.far != nil {
			live = append(live, s.far.live(s.T)...)
		}
		if slices.Sort(live); slices.Equal(live, s.placed) {
			return nil
		}
		live = slices.DeleteFunc(live, func(id string) bool { return slices.Contains(s.placed, id) })
		return fmt.Errorf("%d are placed; live besides are %q", len(s.placed), live)
	})
}
