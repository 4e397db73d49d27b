package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/plain"
)

// mostCrashes and crashingFor are the crashes of game servers, over all instances of a fleet, after
// which its becoming ACTIVE is not waited for any more, and how long they must have gone on. A host
// starts a game server again 2, 4, 8 and 16 seconds after its crashes: in 30 seconds each has had
// several tries, so that something that starts together with it, or is away for a moment, does not
// end a deployment. With one game server the fifth crash comes after about as long.
const (
	mostCrashes = 5
	crashingFor = 30 * time.Second
)

// crashing watches whether the game servers of a fleet crash while it becomes ACTIVE.
type crashing struct {
	*Server
	id    string // of the fleet
	begun bool
	old   map[string]bool // events of before, by id
}

// look returns an error once they have crashed so often and for so long that they will not work.
func (c *crashing) look(ctx context.Context) error {
	all, err := c.failures(ctx, c.id)
	if err != nil {
		return err
	}
	if !c.begun {
		c.begun, c.old = true, map[string]bool{}
		for _, e := range all {
			c.old[*e.EventId] = true
		}
	}
	all = slices.DeleteFunc(all, func(e types.Event) bool { return c.old[*e.EventId] })
	if len(all) < mostCrashes {
		return nil
	}
	slices.SortStableFunc(all, func(a, b types.Event) int { return a.EventTime.Compare(*b.EventTime) })
	least, last := c.Crashing, all[len(all)-1]
	if least == 0 {
		least = crashingFor
	}
	lasted := last.EventTime.Sub(*all[0].EventTime)
	if lasted < least {
		return nil
	}
	return fmt.Errorf("its game servers have failed %s within %s, and none has become ready. The last one: %s: %s", plain.Count(len(all), "time"), lasted.Round(time.Second), last.EventCode, val(last.Message))
}

// failures are the events of a fleet since its creation that say that its build is bad.
func (s *Server) failures(ctx context.Context, id string) (all []types.Event, err error) {
	for page := gamelift.NewDescribeFleetEventsPaginator(s.API, &gamelift.DescribeFleetEventsInput{FleetId: &id, Limit: aws.Int32(100)}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range out.Events {
			if slices.Contains(failures, e.EventCode) {
				all = append(all, e)
			}
		}
	}
	return all, nil
}
