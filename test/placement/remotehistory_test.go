package placement

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

var killsFor = flag.Duration("for", 0, "how long TestRemotes_History kills, and makes sides hang; 0 kills each side once")

// TestRemotes_History places from several clients at once, some of whom change their minds,
// while either side is killed, and checks by the history of what all saw that each placement is
// in one order of events for everybody: it is never lost, and has one game session or none. Only
// a game session that was given up may be live besides, for a while.
func TestRemotes_History(t *testing.T) {
	node.Path(t)
	there := newMortal(t, "eu-west-1", "222222222222")
	there.config.Timeout = 3 * time.Second
	home := newMortal(t, "us-east-1", "000000000000", "--remotes", remotesFile(t, there))
	h := &homeOf{T: t, realm: home.realm}
	h.queue("q", []string{there.place.FleetARN, there.other.FleetARN, home.place.FleetARN}, types.PriorityTypeDestination)
	s := &saga{homeOf: h, home: home, there: there, begun: time.Now()}
	s.run(func(_ context.Context, n int) bool {
		victim := []*mortal{there, home}[n%2]
		if *killsFor > 0 && rand.IntN(2) == 0 {
			victim.hang(t, time.Duration(rand.IntN(6000))*time.Millisecond) // requests time out after 3 s
		} else {
			victim.process.Kill()
			victim.again(t)
		}
		return n == 0 || time.Since(s.begun) < *killsFor
	})
}

// run lets clients place while something is disturbed again and again, for as long as disturb
// returns true, and checks the history. disturb gets the number of the disturbance, from 0.
func (s *saga) run(disturb func(ctx context.Context, n int) bool) {
	t := s.T
	ctx, end := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() { s.client(ctx, i) })
	}
	disturbed := 0
	for more := true; more; disturbed++ {
		seen := s.placed.Load()
		for s.placed.Load() < seen+4 && wake.Sleep(ctx, 10*time.Millisecond) { // the load loads
		}
		wake.Sleep(ctx, time.Duration(rand.IntN(100))*time.Millisecond) // at any instant
		more = disturb(ctx, disturbed)
	}
	end()
	clients.Wait()
	result, saw := s.judge()
	t.Logf("disturbed %d times; %d placements, of which %d are at the remote; %d attempts were given up, and %d placements were seen with two game sessions; %d operations: %s",
		disturbed, s.started.Load(), saw.remote, saw.givenUp, saw.two, len(s.history), result)
	if saw.remote == 0 {
		t.Error("no placement is at the remote: the test does not test it")
	}
}

// tally counts what is in a history.
type tally struct {
	remote  int // placements that are at the remote in the end
	givenUp int // attempts
	two     int // placements that were seen with more than one game session
}

// judge waits until all has settled, and checks the history.
func (s *saga) judge() (porcupine.CheckResult, tally) {
	s.settle()
	lost := s.givenUp()
	s.history = append(s.history, lost...)
	saw := tally{givenUp: len(lost)}
	two := map[string]bool{}
	for _, op := range s.history {
		in, out := op.Input.(request), op.Output.(seen)
		if in.what == "settled" && strings.Contains(strings.Join(out.live, ""), s.there.place.FleetID) {
			saw.remote++
		}
		if len(out.live) > 1 {
			two[in.id] = true
		}
	}
	saw.two = len(two)
	result := porcupine.CheckOperationsTimeout(placements(), s.history, time.Minute)
	if result != porcupine.Ok {
		s.Error("the history is not that of placements with one game session each")
		s.show()
	}
	return result, saw
}

// show logs the histories of placements that are not as they should be.
func (s *saga) show() {
	model := placements()
	for _, part := range model.Partition(s.history) {
		if porcupine.CheckOperationsTimeout(model, part, 10*time.Second) == porcupine.Ok {
			continue
		}
		slices.SortStableFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		last := ""
		for _, op := range part {
			if what := model.DescribeOperation(op.Input, op.Output); what != last {
				s.Logf("%v to %v: %s", time.Duration(op.Call).Round(time.Millisecond), time.Duration(op.Return).Round(time.Millisecond), what)
				last = what
			}
		}
	}
}

// hang stops a Muster for a while.
func (m *mortal) hang(t *testing.T, d time.Duration) {
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(m.process.PID(), signal); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		if signal == syscall.SIGSTOP {
			wake.Sleep(t.Context(), d)
		}
	}
}

// saga is a history of placements at two Musters.
type saga struct {
	*homeOf
	home, there     *mortal
	begun           time.Time
	started, placed atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
}

// request is what a client asked about a placement.
type request struct{ id, what string }

// seen is what it was told.
type seen struct {
	status  types.GameSessionPlacementState // "" if there is no such placement
	session string                          // if it is FULFILLED
	token   string                          // of a game session that was given up
	live    []string                        // its game sessions, of "live" and "settled"
	unknown bool                            // there was no answer
}

// now returns the time by the clock that events have.
func (s *saga) now() time.Duration { return time.Now().Round(0).Sub(s.begun) }

// do records an operation.
func (s *saga) do(client int, in request, act func() seen) seen {
	called := s.now()
	out := act()
	returned := s.now()
	if out.unknown {
		returned = 24 * time.Hour // it may take effect at any later time, or never
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(called), Return: int64(returned)})
	return out
}

// client makes one placement after the other.
func (s *saga) client(ctx context.Context, i int) {
	places := []*node.Place{s.there.place, s.there.other, s.home.place}
	for n := 0; ctx.Err() == nil; n++ {
		s.server(ctx, places[rand.IntN(len(places))]) // for this placement, wherever it gets to
		id := fmt.Sprintf("p-%d-%d", i, n)
		if s.begin(i, id).unknown {
			continue
		}
		if n%4 == 3 {
			s.stop(i, id)
		}
		for looks := 1; ctx.Err() == nil && s.describe(i, id).status == types.GameSessionPlacementStatePending; looks++ {
			if s.live(i, id, "live"); looks%100 == 0 {
				s.server(ctx, s.home.place) // a game session that was given up may have had the other one
			}
		}
		s.placed.Add(1)
	}
}

// begin starts a placement for ann.
func (s *saga) begin(client int, id string) seen {
	s.started.Add(1)
	return s.do(client, request{id, "start"}, func() seen {
		_, err := s.home.client.StartGameSessionPlacement(s.Context(), &gamelift.StartGameSessionPlacementInput{
			GameSessionQueueName: aws.String("q"), PlacementId: &id, GameSessionName: &id, MaximumPlayerSessionCount: aws.Int32(4),
			DesiredPlayerSessions: []types.DesiredPlayerSession{{PlayerId: aws.String("ann")}},
		})
		return seen{unknown: err != nil}
	})
}

// server starts a game server at a place whose Muster may be away.
func (s *saga) server(ctx context.Context, place *node.Place) {
	for ctx.Err() == nil {
		server, err := gameserver.Start(s.Context(), place.Options())
		if err == nil {
			s.Cleanup(server.Kill)
			go s.beat(server)
			return
		}
		wake.Sleep(ctx, 20*time.Millisecond)
	}
}

// beat reports that a game server is healthy, until the test ends: without that its game session is
// ended after three minutes.
func (s *saga) beat(server *gameserver.Process) {
	for wake.Sleep(s.Context(), 30*time.Second) {
		_ = server.Heartbeat(s.Context(), gameserver.Healthy) // its Muster may be away now
	}
}

func (s *saga) stop(client int, id string) {
	s.do(client, request{id, "stop"}, func() seen {
		_, err := s.home.client.StopGameSessionPlacement(s.Context(), &gamelift.StopGameSessionPlacementInput{PlacementId: &id})
		return seen{unknown: err != nil}
	})
}

func (s *saga) describe(client int, id string) seen {
	for {
		out := s.do(client, request{id, "describe"}, func() seen {
			out, err := s.home.client.DescribeGameSessionPlacement(s.Context(), &gamelift.DescribeGameSessionPlacementInput{PlacementId: &id})
			if err != nil {
				return seen{unknown: true}
			}
			p := out.GameSessionPlacement
			return seen{status: p.Status, session: aws.ToString(p.GameSessionArn)}
		})
		if !out.unknown {
			return out
		}
	}
}

// live records which game sessions of a placement are live at the same time. What is live at
// the remote before and after something is live here overlaps with that.
func (s *saga) live(client int, id, what string) seen {
	return s.do(client, request{id, what}, func() seen {
		before, first := s.named(s.there, id)
		here, second := s.named(s.home, id)
		after, third := s.named(s.there, id)
		if first != nil || second != nil || third != nil {
			return seen{unknown: true}
		}
		both := slices.DeleteFunc(before, func(g string) bool { return !slices.Contains(after, g) })
		return seen{live: append(both, here...)}
	})
}

// named returns the game sessions of a name that have not ended.
func (s *saga) named(m *mortal, name string) (all []string, err error) {
	for _, place := range []*node.Place{m.place, m.other} {
		found, err := m.client.SearchGameSessions(s.Context(), &gamelift.SearchGameSessionsInput{FleetId: &place.FleetID, FilterExpression: aws.String("gameSessionName = '" + name + "'")})
		if err != nil {
			return nil, err
		}
		young, err := m.client.DescribeGameSessions(s.Context(), &gamelift.DescribeGameSessionsInput{FleetId: &place.FleetID, StatusFilter: aws.String("ACTIVATING"), Limit: aws.Int32(100)})
		if err != nil {
			return nil, err
		}
		for _, g := range slices.Concat(found.GameSessions, young.GameSessions) {
			if aws.ToString(g.Name) == name && !slices.Contains(all, *g.GameSessionId) {
				all = append(all, *g.GameSessionId)
			}
		}
	}
	return all, nil
}

// settle waits until all placements have ended and nothing else is live, and records what is.
func (s *saga) settle() {
	ids := map[string]bool{}
	for _, op := range s.history {
		if in := op.Input.(request); in.what == "start" && !op.Output.(seen).unknown {
			ids[in.id] = true
		}
	}
	for range ids { // for what still waits
		s.server(s.Context(), s.home.place)
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		var p, last seen
		for begun := time.Now(); time.Since(begun) < settling; wake.Sleep(s.Context(), 20*time.Millisecond) {
			if p = s.describe(0, id); p.status != types.GameSessionPlacementStatePending {
				break
			}
		}
		for begun := time.Now(); time.Since(begun) < settling; wake.Sleep(s.Context(), 100*time.Millisecond) {
			if last = s.live(0, id, "live"); !last.unknown && slices.Equal(last.live, strings.Fields(p.session)) {
				break
			}
		}
		s.do(0, request{id, "settled"}, func() seen { return last })
	}
}

// settling bounds how long a placement takes to end, and what was given up: a remote that could not
// be reached is asked again after up to a minute.
const settling = 3 * time.Minute

// givenUp returns, for each attempt of which home does not know whether it has a game session, an
// operation at the moment when home let the placement go elsewhere.
func (s *saga) givenUp() (lost []porcupine.Operation) {
	s.Helper()
	s.must(s.home.admin.Events(s.Context(), client.EventQuery{Last: math.MaxInt32}, func(e client.Event) error {
		if _, rest, ok := strings.Cut(e.Message, "any game session there with token "); ok && e.Code == "PLACEMENT_RETRIED" {
			token, _, _ := strings.Cut(rest, " ")
			at := int64(e.Time.Sub(s.begun))
			lost = append(lost, porcupine.Operation{Input: request{e.Resource, "give up"}, Output: seen{token: token}, Call: at, Return: at})
		}
		return nil
	}))
	return lost
}

// known is what the history of a placement says of it.
type known struct {
	started, asked bool // asked to be stopped
	stopped        bool
	session        string // once it is FULFILLED
	lost           string // tokens of game sessions that were given up, each after a space
}

// placements models each placement by itself: it is PENDING until it is CANCELLED, if it was
// asked to be, or FULFILLED with a game session, which never changes. It has no two live game
// sessions, with one exception (decision 0031): one that was given up while the placement was PENDING
// may be live besides from then on, is never the one that the players get, and has ended in the end.
func placements() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			byID := map[string][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(request).id
				byID[id] = append(byID[id], op)
			}
			return slices.Collect(maps.Values(byID))
		},
		Init: func() any { return known{} },
		Step: func(state, input, output any) (bool, any) {
			k, in, out := state.(known), input.(request), output.(seen)
			switch in.what {
			case "start":
				k.started = true
				return true, k
			case "stop":
				k.asked = true
				return true, k
			case "describe":
				return k.described(out)
			case "give up":
				k.lost += " " + out.token
				return k.started && !k.over(), k
			case "settled":
				return !out.unknown && k.over() && slices.Equal(out.live, strings.Fields(k.session)), k
			}
			return out.unknown || k.has(out.live), k
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
	}
}

// described returns whether a placement can be as it was described, and what is known then.
func (k known) described(out seen) (bool, known) {
	switch {
	case out.unknown:
		return true, k
	case !k.started:
		return false, k
	}
	switch out.status {
	case types.GameSessionPlacementStatePending:
		return !k.stopped && k.session == "", k
	case types.GameSessionPlacementStateCancelled:
		ok := k.asked && k.session == ""
		k.stopped = true
		return ok, k
	case types.GameSessionPlacementStateFulfilled:
		ok := !k.stopped && out.session != "" && (k.session == "" || k.session == out.session) && !k.lose(out.session)
		k.session = out.session
		return ok, k
	}
	return false, k
}

// over returns whether a placement has ended.
func (k known) over() bool { return k.stopped || k.session != "" }

// lose returns whether a game session was given up. Its id ends with its token.
func (k known) lose(session string) bool {
	return slices.Contains(strings.Fields(k.lost), session[strings.LastIndexByte(session, '/')+1:])
}

// has returns whether a placement can have some live game sessions: at most one that was not given
// up, which is its own once it is FULFILLED.
func (k known) has(live []string) bool {
	live = slices.DeleteFunc(slices.Clone(live), k.lose)
	return len(live) <= 1 && (k.session == "" || len(live) == 0 || live[0] == k.session)
}
