package instance

import (
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Assignment is one instance that a host is to run.
type Assignment struct {
	*Instance
	Fleet    *fleet.Fleet // a managed one
	FleetARN string
	Computes []*compute.Compute // its own, or in a container fleet those of its slots
	Relay    bool               // its processes connect through the host's agent
}

// Assignments returns everything a host is to run. The host stops whatever is not
// in the list.
func (is *instances) Assignments(r store.Reader, hostID string) []Assignment {
	var all []Assignment
	for i := range is.onHost.Equal(r, hostID) {
		f := is.Fleets.Get(r, i.FleetID)
		if i.Gone || f == nil || f.Managed == nil {
			continue
		}
		computes := is.computesOf(r, i)
		if len(computes) == 0 {
			continue
		}
		fleetARN := is.Fleets.Home().OfFleet(f.ID)
		all = append(all, Assignment{i, f, fleetARN, computes, is.relayed(fleetARN)})
	}
	return all
}

// computesOf returns the computes of an instance.
func (is *instances) computesOf(r store.Reader, i *Instance) []*compute.Compute {
	var all []*compute.Compute
	for _, name := range i.computeNames() {
		if c := is.Computes.Get(r, i.FleetID, name); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// RelayTag is the tag that, with the value "true", makes the game servers of a
// fleet's instances connect through their host's agent.
const RelayTag = "muster:relay"

func (is *instances) relayed(fleetARN string) bool {
	tags, err := is.Tags.List(fleetARN)
	return err == nil && tags[RelayTag] == "true"
}

// OnAssign registers f to be called, after commit, when the assignments of a host
// have changed. It must be called before traffic.
func (is *instances) OnAssign(f func(hostID string)) { is.onAssign = append(is.onAssign, f) }

func (is *instances) assign(tx *store.Tx, hostID string) {
	tx.OnCommit(func() { is.notify(hostID) })
}

func (is *instances) notify(hostID string) {
	for _, f := range is.onAssign {
		f(hostID)
	}
}

// notifyFleet reports every host of a fleet to the functions registered with OnAssign.
func (is *instances) notifyFleet(fleetID string) {
	told := map[string]bool{}
	for i := range is.Instances(is.st.View(), fleetID, "") {
		if !told[i.HostID] {
			told[i.HostID] = true
			is.notify(i.HostID)
		}
	}
}
