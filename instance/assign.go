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
func (s *Service) Assignments(r store.Reader, hostID string) []Assignment {
	var all []Assignment
	for i := range s.t.onHost.Equal(r, hostID) {
		f, c := s.fleets.Get(r, i.FleetID), s.computes.Get(r, i.FleetID, i.ID)
		if i.Gone || f == nil || f.Managed == nil || c == nil {
			continue
		}
		all = append(all, Assignment{
			InstanceID: i.ID, FleetID: f.ID, FleetARN: s.fleets.Home().Of("fleet", f.ID), ComputeName: i.ID, Location: i.Location,
			Compute: c, BuildID: f.Managed.BuildID, SHA256: f.Managed.SHA256, Format: f.Managed.Format, Size: f.Managed.Bytes,
			Runtime: f.Runtime, PortFrom: i.PortFrom, PortTo: i.PortTo, CPUMillis: i.CPUMillis, MemoryMiB: i.MemoryMiB,
			Relay: s.relayed(f), Stop: i.Stop, StopBy: i.StopBy,
		})
	}
	return all
}

// RelayTag is the tag that, with the value "true", makes the game servers of a
// fleet's instances connect through their host's agent.
const RelayTag = "muster:relay"

func (s *Service) relayed(f *fleet.Fleet) bool {
	tags, err := s.tags.List(s.fleets.Home().Of("fleet", f.ID))
	return err == nil && tags[RelayTag] == "true"
}

// OnAssign registers f to be called, after commit, when the assignments of a host
// have changed. It must be called before traffic.
func (s *Service) OnAssign(f func(hostID string)) { s.onAssign = append(s.onAssign, f) }

func (s *Service) assign(tx *store.Tx, hostID string) {
	tx.OnCommit(func() { s.tellHost(hostID) })
}

func (s *Service) tellHost(hostID string) {
	for _, f := range s.onAssign {
		f(hostID)
	}
}

// tellFleet makes every host of a fleet read its assignments again.
func (s *Service) tellFleet(fleetID string) {
	told := map[string]bool{}
	for i := range s.Instances(s.st.View(), fleetID, "") {
		if !told[i.HostID] {
			told[i.HostID] = true
			s.tellHost(i.HostID)
		}
	}
}
