package instance

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/store"
)

// Reason returns why something in a fleet's location is pending, ending or away, or "" if
// nothing is. shortages is the result of Shortages.
func (pl *planner) Reason(r store.Reader, f *fleet.Fleet, location string, shortages []Shortage) string {
	if f.Managed == nil {
		return pl.reasonAnywhere(r, f, location)
	}
	var reasons []string
	for _, s := range shortages {
		if s.Place == (Place{f.ID, location}) {
			reasons = append(reasons, s.Why)
		}
	}
	phases, ending, away, words := map[Phase]int{}, 0, 0, pending
	if f.Containers != nil {
		words = pendingGroups
	}
	trouble := ""
	for i := range pl.instances.Instances(r, f.ID, location) {
		switch {
		case i.Stop != Keep:
			ending++
		case i.Status == Pending:
			phases[i.Phase]++
		}
		if h := pl.hosts.rows.Get(r, i.HostID); i.Stop == Keep && h != nil && !h.Connected {
			away++
		}
		if i.Code != "" && trouble == "" {
			trouble = fmt.Sprintf("%s on %s: %s", i.Code, i.ID, i.Cause)
		}
	}
	for _, phase := range []Phase{"", Downloading, Validating, Building, Activating} {
		if n := phases[phase]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s %s", plain.Count(n, "instance"), words[phase]))
		}
	}
	if away > 0 {
		reasons = append(reasons, plain.Count(away, "instance")+" on a host whose agent is away; muster hosts shows which")
	}
	if ending > 0 {
		reasons = append(reasons, plain.Count(ending, "instance")+" draining")
	}
	if trouble != "" {
		reasons = append(reasons, trouble)
	}
	return strings.Join(reasons, "; ")
}

// pending describes what an instance in each phase waits for.
var pending = map[Phase]string{
	"":          "assigned to a host that has not begun",
	Downloading: "downloading the build",
	Validating:  "checking the build",
	Building:    "installing the build",
	Activating:  "waiting for a process to call ProcessReady",
}

// pendingGroups describes the same for an instance of a container fleet.
var pendingGroups = map[Phase]string{
	"":          "assigned to a host that has not begun",
	Downloading: "pulling container images",
	Activating:  "waiting for the process of a container group to call ProcessReady",
}

// reasonAnywhere returns why a location of an Anywhere fleet can host nothing.
func (pl *planner) reasonAnywhere(r store.Reader, f *fleet.Fleet, location string) string {
	if f.Status != fleet.Active || pl.Computes.Tally(r, f.ID, location).Active > 0 {
		return ""
	}
	for range pl.Computes.InFleet(r, f.ID, location, "") {
		return "no game server is ready"
	}
	return "no compute is registered; register one with register-compute"
}
