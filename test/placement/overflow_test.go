package placement

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/placement/remote"
	"github.com/musterhq/muster/test/node"
)

var overflows = flag.Int("overflows", 0, "how many placements TestRemotes_Overflow measures; 0 skips it")

// distance is a round trip to the remote in TestRemotes_Overflow.
const distance = 100 * time.Millisecond

// TestRemotes_Overflow measures what a placement takes that overflows from a queue here to a
// remote at a distance, beside a client here that does the same by the remote's operations:
// creates the game session, looks until it is ACTIVE, and reserves the slots.
func TestRemotes_Overflow(t *testing.T) {
	if *overflows == 0 {
		t.Skip("a measurement: run it with -overflows 20 -v")
	}
	there := inProcess(t, "eu-west-1", "222222222222")
	w := newWire(t, there.url, distance)
	there.config.Endpoint, there.config.Poll = w.url, 5*time.Second
	a := node.InProcess(t, func(o *app.Options) { o.Remotes = []remote.Config{there.config} })
	home := &realm{url: a.URL(), client: node.Client(a.URL())}
	home.place = node.NewPlace(t, home.client)
	h := &homeOf{T: t, realm: home, told: node.Follow(t, home.url)}
	h.queue("q", []string{home.place.FleetARN, there.place.FleetARN}, types.PriorityTypeDestination)
	for range 2**overflows + 1 {
		there.place.Server(t)
	}
	h.placed("q", "first", nil) // from now on it is known what is free there
	home.place.Server(t)
	h.placed("q", "here", nil) // and here is nothing free any more
	far := node.Client(w.url)
	var queued, direct []time.Duration
	requests := -w.total()
	for i := range *overflows {
		begun := time.Now()
		h.placed("q", fmt.Sprint("p-", i), nil)
		queued = append(queued, time.Since(begun))
	}
	requests += w.total()
	for range *overflows {
		direct = append(direct, h.direct(far, there))
	}
	slices.Sort(queued)
	slices.Sort(direct)
	fmt.Printf("\n| a round trip of %v, p50 of %d | time | round trips |\n|---|---|---|\n", distance, *overflows)
	for _, row := range []struct {
		what string
		took time.Duration
	}{{"placement that overflows, to FULFILLED", queued[len(queued)/2]}, {"a client by the operations of the remote", direct[len(direct)/2]}} {
		fmt.Printf("| %s | %v | %.1f |\n", row.what, row.took.Round(time.Millisecond), float64(row.took)/float64(distance))
	}
	fmt.Printf("\n%.1f requests for each placement, surveys included\n", float64(requests)/float64(*overflows))
}

// total returns how many requests went over the wire.
func (w *wire) total() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, some := range w.count {
		n += some
	}
	return n
}

// direct plays a client that places by itself, and returns how long that took.
func (h *homeOf) direct(far *gamelift.Client, there *realm) time.Duration {
	h.Helper()
	begun := time.Now()
	made, err := far.CreateGameSession(h.Context(), &gamelift.CreateGameSessionInput{
		FleetId: &there.place.FleetID, Location: &there.place.Location, MaximumPlayerSessionCount: aws.Int32(4),
	})
	h.must(err)
	for status := made.GameSession.Status; status != types.GameSessionStatusActive; wake.Sleep(h.Context(), time.Millisecond) {
		found, err := far.DescribeGameSessions(h.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: made.GameSession.GameSessionId})
		h.must(err)
		status = found.GameSessions[0].Status
	}
	_, err = far.CreatePlayerSessions(h.Context(), &gamelift.CreatePlayerSessionsInput{GameSessionId: made.GameSession.GameSessionId, PlayerIds: []string{"ann", "bob"}})
	h.must(err)
	return time.Since(begun)
}
