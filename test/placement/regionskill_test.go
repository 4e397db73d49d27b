package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// TestRegions_Kill kills a server with two regions again and again while placements of one are
// made in the other. Each placement is fulfilled with one game session, which is the only one
// that is live for it in the end.
func TestRegions_Kill(t *testing.T) {
	node.Path(t)
	names := threeRegions[:2]
	args := []string{"--listen", node.Reserve(t), "--data", t.TempDir(), "--regions", names[0] + "," + names[1], "--log-level", "warn"}
	process := node.Start(t, args...)
	var all []*realm
	for _, name := range names {
		r := &realm{region: name, account: app.DefaultAccount, url: process.URL, client: node.Client(process.URL, func(o *gamelift.Options) { o.Region, o.RetryMaxAttempts = name, 8 })}
		r.place = node.NewPlace(t, r.client)
		_, err := r.client.UpdateRuntimeConfiguration(t.Context(), &gamelift.UpdateRuntimeConfigurationInput{ // a start is never sent twice
			FleetId: &r.place.FleetID, RuntimeConfiguration: &types.RuntimeConfiguration{GameSessionActivationTimeoutSeconds: aws.Int32(2)},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	h := &homeOf{T: t, realm: all[0]}
	h.queue("q", []string{all[1].place.FleetARN}, types.PriorityTypeDestination)
	const rounds, each = 6, 2
	for range 2 * rounds * each {
		all[1].place.Server(t)
	}
	random := rand.New(rand.NewPCG(3, 5))
	var placed []string
	for round := range rounds {
		var ids []string
		for i := range each {
			ids = append(ids, fmt.Sprintf("p-%d-%d", round, i))
			h.must(h.start("q", ids[i], nil))
		}
		for range random.IntN(40) { // so many requests later
			h.describe(ids[0])
		}
		process.Kill()
		process = node.Start(t, args...)
		for _, id := range ids {
			p := h.until(id, types.GameSessionPlacementStateFulfilled)
			if len(p.PlacedPlayerSessions) != 2 {
				t.Errorf("%s has %d slots for 2 players", id, len(p.PlacedPlayerSessions))
			}
			placed = append(placed, *p.GameSessionArn)
		}
	}
	slices.Sort(placed)
	wait.For(t, "the live game sessions are those that are placed", func() error {
		found, err := all[1].client.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{FleetId: &all[1].place.FleetID, Limit: aws.Int32(100)})
		if err != nil {
			return err
		}
		var live []string
		for _, g := range found.GameSessions {
			if g.Status != types.GameSessionStatusTerminated {
				live = append(live, *g.GameSessionId)
			}
		}
		if slices.Sort(live); !slices.Equal(live, placed) {
			return fmt.Errorf("placed are %q, live %q", placed, live)
		}
		return nil
	})
}
