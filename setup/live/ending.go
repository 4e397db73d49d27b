package live

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// NoteEnding notes at each change of a plan that takes instances with game sessions away how many these
// are, and whether the game sessions end.
func (s *Server) NoteEnding(ctx context.Context, state *State, plan setup.Plan) error {
	for _, a := range plan {
		id := state.idOf(a.Resource())
		if a.Op != setup.Update || id == "" {
			continue
		}
		for i := range a.Changes {
			note, err := s.ending(ctx, id, a.Changes[i])
			if err != nil {
				return fmt.Errorf("%s %s: %w", a.Kind, a.Name, err)
			}
			if before := a.Changes[i].Note; before != "" && note != "" {
				note = before + "; " + note
			}
			if note != "" {
				a.Changes[i].Note = note
			}
		}
	}
	return nil
}

// idOf returns the id of a fleet of either kind of the server, "" of all else.
func (s *State) idOf(r setup.Resource) string {
	switch r.Kind {
	case setup.FleetKind:
		return val(s.fleets[r.Name].FleetId)
	case setup.ContainerFleetKind:
		return val(s.containerFleets[r.Name].FleetId)
	}
	return ""
}

// ending is NoteEnding for one change of a fleet. It returns "" if no game session ends.
func (s *Server) ending(ctx context.Context, id string, c setup.Change) (string, error) {
	location, member, ok := setup.CapacityMember(c.Member)
	desired, err := strconv.Atoi(c.To)
	if before, _ := strconv.Atoi(c.From); !ok || member != "DesiredInstances" || err != nil || desired >= before {
		return "", nil
	}
	at, err := s.capacity(ctx, id, location)
	if err != nil {
		return "", err
	}
	counts := val(at.InstanceCounts)
	gone := int(val(counts.ACTIVE)) - desired
	busy := gone - int(val(counts.IDLE))
	if busy <= 0 {
		return "", nil
	}
	location = cmp.Or(location, s.Region)
	free, protected := 0, 0
	for _, status := range []string{"ACTIVATING", "ACTIVE"} {
		for page := gamelift.NewDescribeGameSessionDetailsPaginator(s.API, &gamelift.DescribeGameSessionDetailsInput{FleetId: &id, Location: &location, StatusFilter: &status}); page.HasMorePages(); {
			out, err := page.NextPage(ctx)
			if err != nil {
				return "", err
			}
			for _, d := range out.GameSessionDetails {
				if d.ProtectionPolicy == types.ProtectionPolicyFullProtection {
					protected++
				} else {
					free++
				}
			}
		}
	}
	end := "which end at once"
	switch {
	case free == 0:
		end = "and are kept until these have ended"
	case protected > 0:
		end = "which end at once unless they are protected"
	}
	return setup.Ending(busy, gone) + ", " + end, nil
}
