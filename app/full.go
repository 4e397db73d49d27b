package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
)

// fullness returns why no game server of a fleet's location can take a game session though some
// host one, and what to do; "" if one can, or none hosts one. l is the state of the location.
func (d *domain) fullness(r store.Reader, f *fleet.Fleet, at fleet.LocationState, l client.FleetLocation) string {
	n := d.computes.Tally(r, f.ID, at.Location)
	why := ""
	switch {
	case n.Hosting == 0 || n.Hosting+n.Unavailable < n.Active:
		return ""
	case n.Active == 1:
		why = "the only game server has a game session"
	case n.Unavailable == 0:
		why = fmt.Sprintf("all %d game servers have game sessions", n.Active)
	default:
		why = fmt.Sprintf("of %d game servers, %d have a game session and %d cannot take one (not connected, in doubt, or on a host in trouble)", n.Active, n.Hosting, n.Unavailable)
	}
	if more := growth(f, at, l); more != "" {
		why += "; " + more
	}
	return why
}

// growth returns how a location can have more game servers, or that some are to come; "" if the reason of the
// location says it.
func growth(f *fleet.Fleet, at fleet.LocationState, l client.FleetLocation) string {
	if l.Scaling == nil {
		return "start more game servers there"
	}
	if l.Short > 0 || !f.Scalable(at) {
		return ""
	}
	if l.Pending > 0 {
		return plain.Count(l.Pending, "more instance") + " will run game servers there soon"
	}
	remedy := oneMore(f.ID, l)
	switch {
	case l.Desired >= l.Scaling.Max:
		return fmt.Sprintf("it cannot grow, because DesiredInstances is at MaxSize, %d: '%s' adds an instance", l.Scaling.Max, remedy)
	case len(l.Scaling.Policies) > 0:
		return fmt.Sprintf("scaling policies (%s) may add instances, up to MaxSize, %d: '%s' adds one now", strings.Join(l.Scaling.Policies, ", "), l.Scaling.Max, remedy)
	}
	return fmt.Sprintf("no scaling policy adds instances: '%s' adds one", remedy)
}

// oneMore returns the command with which a location is to have one more instance.
func oneMore(fleetID string, l client.FleetLocation) string {
	n := l.Desired + 1
	command := fmt.Sprintf("muster fleets scale %s --location %s --desired %d", fleetID, l.Location, n)
	if n > l.Scaling.Max {
		command += fmt.Sprintf(" --max %d", n)
	}
	return command
}

// explainPlacement explains a placement; of each fleet without a free game server it says why it has
// none.
func (d *domain) explainPlacement(ctx context.Context, id string) (*placement.Explanation, error) {
	e, err := d.placements.Explain(ctx, id)
	if err != nil || e.Now == nil {
		return e, err
	}
	states := map[placement.Place]client.FleetLocation{}
	for _, f := range d.fleetStates() {
		for _, l := range f.Locations {
			states[placement.Place{FleetID: f.ID, Location: l.Location}] = l
		}
	}
	for i, c := range e.Now.Candidates {
		if l, known := states[c.Place]; known && c.Outcome == placement.NoFreeProcess {
			e.Now.Candidates[i].Text = strings.Join(append([]string{c.Text}, emptiness(c.Place.FleetID, l)...), "; ")
		}
	}
	return e, nil
}

// emptiness returns why a location of a fleet has no free game server.
func emptiness(fleetID string, l client.FleetLocation) (why []string) {
	if l.Scaling != nil && l.Desired == 0 && l.Processes == 0 {
		why = append(why, fmt.Sprintf("the location is to have no instances (DesiredInstances is 0): '%s' adds one", oneMore(fleetID, l)))
	}
	for _, text := range []string{l.Full, l.Reason} {
		if text != "" {
			why = append(why, text)
		}
	}
	return why
}
