package instance

import (
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wake"
)

// Group is a container group on an instance of a container fleet: one in each slot, and the
// per-instance group.
type Group struct {
	Name        string      `json:"name"` // number of the slot, or perInstance
	PerInstance bool        `json:"per_instance,omitzero"`
	Of          fleet.Group `json:"of"`             // the version that runs, or shall run
	First       int         `json:"first,omitzero"` // of its ports, since others held some of those of its slot; 0: it has those

	Ready    bool `json:"ready,omitzero"`    // a process of this version has been ready, or all containers of the per-instance group have run
	Failures int  `json:"failures,omitzero"` // how often it ended before it was ready, or while it was new
	// New is until when a group that became ready during a deployment may still fail it; zero:
	// it counts as healthy.
	New    time.Time `json:"new,omitzero"`
	Worked bool      `json:"worked,omitzero"` // a process of this version was ready for long enough, or has ended in order

	Stop   Stop      `json:"stop,omitzero"`    // Drain: another version replaces it
	StopBy time.Time `json:"stop_by,omitzero"` // killed by then, zero: no deadline yet

	// As its host reports it.
	Phase      GroupPhase  `json:"phase,omitzero"`
	Code       event.Code  `json:"code,omitzero"`
	Cause      string      `json:"cause,omitzero"`
	Containers []Container `json:"containers,omitzero"`
	ProcessID  string      `json:"process_id,omitzero"` // in a cluster: of the run that has the address

	compute.Address // if it is not the host's

	Failed string `json:"failed,omitzero"` // id of the last run that has failed, of a per-instance group
}

// Container is a running container of a group.
type Container struct {
	Name      string `json:"name"`
	RuntimeID string `json:"runtime_id"` // the engine's id of it
}

// GroupPhase is how far a group has come on its host.
type GroupPhase string

// The phases that a host reports.
const (
	GroupPulling  GroupPhase = "PULLING"
	GroupStarting GroupPhase = "STARTING"
	GroupRunning  GroupPhase = "RUNNING"
	GroupDraining GroupPhase = "DRAINING"
	GroupFailed   GroupPhase = "FAILED" // it is started again after a while
	GroupGone     GroupPhase = "GONE"
)

// perInstance is the name of the per-instance group on its instance.
const perInstance = "instance"

// groupsOf returns the groups of a new instance of a container fleet.
func groupsOf(f *fleet.Fleet, slots int) []Group {
	var all []Group
	for n := range slots {
		all = append(all, Group{Name: strconv.Itoa(n), Of: *f.Containers.Game})
	}
	if g := f.Containers.PerInstance; g != nil {
		all = append(all, Group{Name: perInstance, PerInstance: true, Of: *g})
	}
	return all
}

// Port is a port of a container of a group, and the port of the host at which it is reached.
type Port struct {
	Container       string
	Game            bool // the container runs the game server
	Protocol        string
	Inside, Outside int
}

// Ports returns the ports of a group of the instance. Those of slot n begin at PortFrom +
// n × Stride, and those of the per-instance group after the last slot's, unless the group
// has others (First).
func (i *Instance) Ports(g *Group) []Port {
	first := i.PortFrom + i.Slots*i.Stride
	if n, err := strconv.Atoi(g.Name); err == nil {
		first = i.PortFrom + n*i.Stride
	}
	if g.First > 0 {
		first = g.First
	}
	var all []Port
	for _, r := range g.Of.Ranges {
		for p := r.From; p <= r.To; p++ {
			all = append(all, Port{r.Container, r.Game, r.Protocol, p, first + len(all)})
		}
	}
	return all
}

// Group returns a pointer into the instance to a group, or nil.
func (i *Instance) Group(name string) *Group {
	at := slices.IndexFunc(i.Groups, func(g Group) bool { return g.Name == name })
	if at < 0 {
		return nil
	}
	return &i.Groups[at]
}

// dropGroup removes a group from the instance, whose groups can be changed.
func (i *Instance) dropGroup(name string) {
	i.Groups = slices.DeleteFunc(i.Groups, func(g Group) bool { return g.Name == name })
}

// withGroups returns a copy of the instance whose groups can be changed.
func (i *Instance) withGroups() *Instance {
	c := *i
	c.Groups = slices.Clone(i.Groups)
	return &c
}

// computeNames returns the names of the instance's computes: its own, or in a container fleet
// those of its slots.
func (i *Instance) computeNames() []string {
	if i.Slots == 0 {
		return []string{i.ID}
	}
	names := make([]string, i.Slots)
	for n := range names {
		names[n] = compute.GroupName(i.ID, strconv.Itoa(n))
	}
	return names
}

// computeName returns the name of the compute of a group, or of the instance without groups.
func (i *Instance) computeName(group string) string {
	if i.Slots == 0 {
		return i.ID
	}
	return compute.GroupName(i.ID, group)
}

// suits reports whether the instance has room for the groups that its fleet should run: for
// as many, with as many ports each.
func (i *Instance) suits(f *fleet.Fleet) bool {
	c := f.Containers
	beside := 0
	if c.PerInstance != nil {
		beside = c.PerInstance.Ports
	}
	return i.Slots == f.Slots() && i.Stride >= c.Game.Ports && i.PortTo-i.PortFrom+1 >= i.Slots*i.Stride+beside
}

// runs reports whether the instance was made for a version of a game server group.
func (i *Instance) runs(game *fleet.Group) bool {
	return game != nil && slices.ContainsFunc(i.Groups, func(g Group) bool { return !g.PerInstance && sameVersion(&g.Of, game) })
}

// works reports whether the group is ready, and has been for long enough.
func (g *Group) works() bool { return g.Ready && g.New.IsZero() }

// hasWorked reports whether the group works, or has, in its present version.
func (g *Group) hasWorked() bool { return g.Worked || g.works() }

// newUntil returns the earliest time at which one of the instance's groups is no longer new.
func (i *Instance) newUntil() time.Time {
	var first time.Time
	for n := range i.Groups {
		first = wake.Earliest(first, i.Groups[n].New)
	}
	return first
}

// draining reports whether the group of a compute is being replaced.
func (i *Instance) draining(computeName string) bool {
	_, name := compute.InstanceOf(computeName)
	g := i.Group(name)
	return g != nil && g.Stop != Keep
}

// sameVersion reports whether two groups are of the same version.
func sameVersion(a, b *fleet.Group) bool { return a.Name == b.Name && a.Version == b.Version }
