package setup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/setup/live"
)

// The next fleet stands beside the one that serves. Where the hosts have no room for both, the
// deployment says so before it makes anything, and waits; so does a rollback.
func TestDeploy_SaysThatThereIsNoRoom(t *testing.T) {
	t.Parallel()
	g := newGame(t, "custom-lab") // each machine has room for 4 instances of c5.4xlarge
	writes := func(version int) {
		g.writes(version, "    HomeRegion: {MinSize: 0, MaxSize: 4, DesiredInstances: 1}\n    Locations: {custom-lab: {MinSize: 0, MaxSize: 4, DesiredInstances: 3}}")
		g.file = strings.Replace(g.file, "c5.large", "c5.4xlarge", 1)
	}
	const short = "needs 3 more instances of c5.4xlarge in custom-lab beside those that serve, and the hosts there have room for 1 now. Until there is room it waits: let another host join there, "
	writes(1)
	g.apply()

	writes(2)
	g.told = nil
	want := g.describes()
	g.stopped("ACTIVE instances: ", func(ctx context.Context) error { return g.Deploy(ctx, want, "game", live.Canary{}) })
	if said := strings.Join(g.told, "\n"); !strings.HasPrefix(said, "fleet game: game (next) "+short) || strings.Count(said, "have room for") != 1 {
		t.Errorf("it does not say at first that there is no room in custom-lab alone:\n%s", said)
	}
	g.rollback()

	// As much as there is room for, the instances of the next fleet that are there already included.
	g.operator("custom-lab", 0, 2, 4)
	g.instances(2) // those that are not desired, and of the fleet that was taken out, have ended
	said := g.deploy(live.Canary{})
	if strings.Contains(said, "have room for") {
		t.Errorf("there is room, and it says\n%s", said)
	}

	g.instances(2) // those of the fleet before have ended
	g.operator("custom-lab", 0, 3, 4)
	g.instances(3)
	g.told = nil
	g.stopped("ACTIVE instances: ", func(ctx context.Context) error { return g.Rollback(ctx, "game", nil) })
	g.says(strings.Join(g.told, "\n"), "fleet game: game (returning) "+short)
}

// instances waits until there are so many instances of c5.4xlarge in custom-lab.
func (g *game) instances(n int32) {
	g.Helper()
	wait.For(g, fmt.Sprintf("there are %d instances", n), func() error {
		out, err := g.API.DescribeEC2InstanceLimits(g.Context(), &gamelift.DescribeEC2InstanceLimitsInput{EC2InstanceType: "c5.4xlarge", Location: aws.String("custom-lab")})
		if err != nil {
			g.Fatal(err)
		}
		if now := *out.EC2InstanceLimits[0].CurrentInstances; now != n {
			return fmt.Errorf("there are %d", now)
		}
		return nil
	})
}
