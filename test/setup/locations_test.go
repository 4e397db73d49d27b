package setup

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// Locations without a machine are waited for together and named in one line; one with a machine gets
// its capacity before they are ACTIVE.
func TestApply_LocationsWait(t *testing.T) {
	t.Parallel()
	g := newGame(t, "custom-z")
	for _, name := range []string{"custom-a", "custom-b"} {
		if _, err := g.API.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	const capacity = ": {MinSize: 0, MaxSize: 3, DesiredInstances: 2}"
	g.writes(1, "    HomeRegion: {MaxSize: 1}\n    Locations: {custom-a"+capacity+", custom-b"+capacity+", custom-z"+capacity+"}")
	g.stopped("fleet game: waiting for custom-a, custom-b to be ACTIVE", func(ctx context.Context) error {
		want, state, plan := read(t, g.Server, g.file, false)
		return g.Apply(ctx, want, state, plan)
	})
	g.sizes("game", "custom-z", 0, 2, 3)
	g.sizes("game", "custom-a", 0, 1, 1)

	for _, name := range []string{"custom-b", "custom-a"} {
		machine(t, g.Endpoint, name)
	}
	g.told = nil
	g.apply()
	g.sizes("game", "custom-a", 0, 2, 3)
	g.sizes("game", "custom-b", 0, 2, 3)
	if said := strings.Join(g.told, "\n"); strings.Contains(said, "custom-z") {
		t.Errorf("a location that has its capacity is waited for:\n%s", said)
	}
}
