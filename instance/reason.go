package instance

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Place is a location of a fleet.
type Place struct{ FleetID, Location string }

// Shortages returns, for each location of a managed fleet that waits for a host, why
// none takes its instances, with the remedy.
func (s *Service) Shortages(r store.Reader) map[Place]string {
	short := map[Place]string{}
	for _, sh := range s.provider.Plan(s.world(r)).Short {
		short[Place{sh.Wish.FleetID, sh.Wish.Location}] = sh.Why
	}
	return short
}

// Reason says why something in a fleet's location is pending or ending, or "" if
// nothing is. shortages is the result of Shortages.
func (s *Service) Reason(r store.Reader, f *fleet.Fleet, location string, shortages map[Place]string) string {
	if f.Managed == nil {
		return s.reasonAnywhere(r, f, location)
	}
	var reasons []string
	if why := shortages[Place{f.ID, location}]; why != "" {
		reasons = append(reasons, why)
	}
	phases, ending := map[Phase]int{}, 0
	trouble := ""
	for i := range s.Instances(r, f.ID, location) {
		switch {
		case i.Stop != Keep:
			ending++
		case i.Status == Pending:
			phases[i.Phase]++
		}
		if i.Code != "" && trouble == "" {
			trouble = fmt.Sprintf("%s on %s: %s", i.Code, i.ID, i.Cause)
		}
	}
	for _, phase := range []Phase{"", Downloading, Validating, Building, Activating} {
		if n := phases[phase]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s %s", instances(n), pending[phase]))
		}
	}
	if ending > 0 {
		reasons = append(reasons, instances(ending)+" draining")
	}
	if trouble != "" {
		reasons = append(reasons, trouble)
	}
	return strings.Join(reasons, "; ")
}

// pending says what an instance in a phase waits for.
var pending = map[Phase]string{
	"":          "assigned to a host that has not begun",
	Downloading: "downloading the build",
	Validating:  "checking the build",
	Building:    "installing the build",
	Activating:  "waiting for a process to call ProcessReady",
}

func instances(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", n)
}

// reasonAnywhere says why a location of an Anywhere fleet can host nothing.
func (s *Service) reasonAnywhere(r store.Reader, f *fleet.Fleet, location string) string {
	if f.Status != fleet.Active || s.computes.Tally(r, f.ID, location).Active > 0 {
		return ""
	}
	for c := range s.computes.InFleet(r, f.ID) {
		if c.Location == location {
			return "no game server is ready"
		}
	}
	return "no compute is registered; register one with register-compute"
}
