package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// Assignment is one instance that a host is to run.
type Assignment struct {
	InstanceID, FleetID, FleetARN, ComputeName, Location string
	Compute                                              *compute.Compute
	BuildID, SHA256, Format                              string
	Size                                                 int64 // of the build's archive, in bytes
	Runtime                                              fleet.Runtime
	PortFrom, PortTo                                     int
	CPUMillis, MemoryMiB                                 int
	Relay                                                bool // its processes connect through the host's agent
	Stop                                                 Stop
	StopBy                                               time.Time // of a drain; zero: no deadline yet
}

// Assignments returns everything a host is to run. The host stops whatever is not
// in the list.
func (is *instances) Assignments(r store.Reader, hostID string) []Assignment {
	var all []Assignment
	for i := range is.onHost.Equal(r, hostID) {
		f, c := is.fleets.Get(r, i.FleetID), is.computes.Get(r, i.FleetID, i.ID)
		if i.Gone || f == nil || f.Managed == nil || c == nil {
			continue
		}
		all = append(all, Assignment{
			InstanceID: i.ID, FleetID: f.ID, FleetARN: is.fleets.Home().Of("fleet", f.ID), ComputeName: i.ID, Location: i.Location,
			Compute: c, BuildID: f.Managed.BuildID, SHA256: f.Managed.SHA256, Format: f.Managed.Format, Size: f.Managed.Bytes,
			Runtime: f.Runtime, PortFrom: i.PortFrom, PortTo: i.PortTo, CPUMillis: i.CPUMillis, MemoryMiB: i.MemoryMiB,
			Relay: is.relayed(f), Stop: i.Stop, StopBy: i.StopBy,
		})
	}
	return all
}

// RelayTag is the tag that, with the value "true", makes the game servers of a
// fleet's instances connect through their host's agent.
const RelayTag = "muster:relay"

func (is *instances) relayed(f *fleet.Fleet) bool {
	tags, err := is.tags.List(is.fleets.Home().Of("fleet", f.ID))
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
