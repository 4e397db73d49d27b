package placement

import (
	"testing"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
)

// A placement counts once for each fleet that its queue leads to, whether by the fleet's
// ARN, by an alias or by both.
func TestWaiting_CountsEachQueueOnce(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		full := c.fleet(fleet.CreateInput{Name: "full", Locations: []string{"custom-a"}})
		other := c.fleet(fleet.CreateInput{Name: "other", Locations: []string{"custom-b"}})
		alias, err := c.Fleets.Aliases.Create.Do(c.Ctx, fleet.AliasInput{Name: "alias", Routing: fleet.Simple, FleetID: full.ID})
		c.Must(err)
		byAlias := c.Fleets.Home().OfAlias(alias.ID)
		for name, destinations := range map[string][]string{"both": {c.fleetARN(full), byAlias}, "alias": {byAlias}, "idle": {c.fleetARN(other)}} {
			c.create(Queue{Name: name, Destinations: destinations})
		}
		for id, queue := range map[string]string{"one": "both", "two": "both", "three": "alias"} {
			_, err := c.places.Start(c.Ctx, StartInput{Queue: queue, Request: Request{ID: id, MaxPlayers: 2}})
			c.Must(err)
		}
		wait.Settle(time.Minute)
		waiting := c.places.Waiting(c.Store.View(), time.Now())
		if got, want := waiting[full.ID], (Depth{3, time.Minute}); got != want {
			t.Errorf("%+v waits for the full fleet, want %+v", got, want)
		}
		if got := waiting[other.ID]; got != (Depth{}) {
			t.Errorf("%+v waits for the other fleet, want nothing", got)
		}
	})
}
