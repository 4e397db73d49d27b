package fleet

import (
	"fmt"
	"iter"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Containers is the additional configuration of a managed fleet whose instances run
// container groups in place of a build's processes (ComputeType CONTAINER).
type Containers struct {
	Game        *Group   `json:"game,omitzero"`         // runs the game servers; nil: none is set yet
	PerInstance *Group   `json:"per_instance,omitzero"` // runs once on each instance; nil: none
	Copies      int      `json:"copies,omitzero"`       // GameServerContainerGroupsPerInstance; 0: as many as fit
	Ports       PortSpan `json:"ports,omitzero"`        // InstanceConnectionPortRange; zero: chosen by Muster
	Role        string   `json:"role"`
	Logs        Logs     `json:"logs,omitzero"`
	Deployment  string   `json:"deployment,omitzero"` // id of the latest deployment

	// Whether a new version of the definition is deployed as soon as it is READY: the
	// definition was named without a version.
	FollowsGame        bool `json:"follows_game,omitzero"`
	FollowsPerInstance bool `json:"follows_per_instance,omitzero"`
}

// Group is the version of a container group definition that a fleet runs, with what the
// planning of instances needs of it. Versions never change.
type Group struct {
	Name      string `json:"name"`
	Version   int    `json:"version"`
	MemoryMiB int    `json:"memory_mib"`
	CPUMillis int    `json:"cpu_millis"`
	Ports     int    `json:"ports,omitzero"` // of all its containers

	Ranges []PortRange `json:"ranges,omitzero"` // the ports, in the order in which an instance has them
}

// PortRange is consecutive ports of a container.
type PortRange struct {
	Container string `json:"container"`
	Game      bool   `json:"game,omitzero"` // the container runs the game server
	From      int    `json:"from"`
	To        int    `json:"to"`
	Protocol  string `json:"protocol"` // TCP or UDP
}

// String returns the name and version as ARNs have them.
func (g *Group) String() string {
	if g == nil {
		return "none"
	}
	return fmt.Sprintf("%s:%d", g.Name, g.Version)
}

// is reports whether two groups, which may be nil, are of the same version.
func (g *Group) is(other *Group) bool {
	if g == nil || other == nil {
		return g == other
	}
	return g.Name == other.Name && g.Version == other.Version
}

// PortSpan is a range of ports; both ends belong to it.
type PortSpan struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Logs says where the output of containers is kept (LogConfiguration).
type Logs struct {
	Destination string `json:"destination"` // NONE, CLOUDWATCH or S3
	Bucket      string `json:"bucket,omitzero"`
	LogGroup    string `json:"log_group,omitzero"`
}

// KeepsLogs reports whether what ended game servers have written is collected from their hosts.
func (f *Fleet) KeepsLogs() bool {
	return f.Containers == nil || f.Containers.Logs.Destination != logsNone
}

// The destinations of logs.
const (
	logsNone       = "NONE"
	logsCloudWatch = "CLOUDWATCH"
	logsS3         = "S3"
)

// Definition is a version of a container group definition, as a fleet needs it.
type Definition struct {
	Group
	PerInstance bool   // it is of type PER_INSTANCE, not GAME_SERVER
	Status      string // as in the API
	Ready       bool
	Newest      bool // it was named without a version, so it is the newest
}

// Definitions looks up a version of a container group definition by name or ARN. Errors:
// NotFound.
type Definitions func(r store.Reader, nameOrARN string) (Definition, error)

// names returns the names of the definitions that a fleet runs, each once. c may be nil.
func (c *Containers) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		if c == nil || c.Game != nil && !yield(c.Game.Name) {
			return
		}
		if c.PerInstance != nil { // of another type, so never the same name
			yield(c.PerInstance.Name)
		}
	}
}

// runs reports whether one of a fleet's groups is of the version.
func (c *Containers) runs(g *Group) bool { return g.is(c.Game) || g.is(c.PerInstance) }

// Bounds of connection ports, and of groups (API reference, CreateContainerFleet).
const (
	firstReserved   = 4092
	lastReserved    = 4191
	firstConnection = lastReserved + 1
	lastConnection  = 60000
	mostCopies      = 5000
)

// MostCopies returns how many game server container groups fit on an instance of the fleet
// beside its per-instance group (MaximumGameServerContainerGroupsPerInstance), or 0 if the
// fleet has no game server group.
func (f *Fleet) MostCopies() int {
	c := f.Containers
	if c == nil || c.Game == nil {
		return 0
	}
	beside := Group{}
	if c.PerInstance != nil {
		beside = *c.PerInstance
	}
	size := f.Managed.Size()
	n := min(mostCopies, times(size.CPUMillis-beside.CPUMillis, c.Game.CPUMillis), times(size.MemoryMiB-beside.MemoryMiB, c.Game.MemoryMiB))
	return min(n, times(lastConnection-firstConnection+1-beside.Ports, c.Game.Ports))
}

// times returns how often each fits into all; of nothing as many as are allowed do.
func times(all, each int) int {
	if each == 0 {
		return mostCopies
	}
	return max(0, all) / each
}

// Slots returns how many game server container groups each instance of the fleet runs.
func (f *Fleet) Slots() int {
	if f.Containers != nil && f.Containers.Game != nil && f.Containers.Copies > 0 {
		return f.Containers.Copies
	}
	return f.MostCopies()
}

// connections returns how many ports the groups of an instance have together.
func (f *Fleet) connections() int {
	n := 0
	if g := f.Containers.Game; g != nil {
		n = f.Slots() * g.Ports
	}
	if g := f.Containers.PerInstance; g != nil {
		n += g.Ports
	}
	return n
}

// ConnectionPorts returns the range of ports that is shown for the fleet's instances: the
// one that was set, or else the one that the API reference computes.
func (f *Fleet) ConnectionPorts() PortSpan {
	if f.Containers.Ports != (PortSpan{}) || f.Containers.Game == nil {
		return f.Containers.Ports
	}
	return PortSpan{firstConnection, min(lastConnection, firstConnection+f.connections()+f.Containers.Game.Ports)}
}

// checkContainers checks that the groups of a container fleet fit on its instances.
func (f *Fleet) checkContainers() error {
	if err := f.Containers.Logs.check(); err != nil {
		return err
	}
	if err := f.checkSize(); err != nil {
		return err
	}
	c := f.Containers
	if c.Copies > 0 && c.Game != nil && c.Copies > f.MostCopies() {
		return fault.Invalid("GameServerContainerGroupsPerInstance: %d groups of %s do not fit on an instance of type %s; at most %d do. Ask for fewer, or leave it out for as many as fit",
			c.Copies, c.Game, f.Managed.InstanceType, f.MostCopies())
	}
	return f.checkConnections()
}

// checkSize checks that one group of each kind fits on an instance.
func (f *Fleet) checkSize() error {
	c, size := f.Containers, f.Managed.Size()
	if g := c.PerInstance; g != nil && (g.CPUMillis > size.CPUMillis || g.MemoryMiB > size.MemoryMiB) {
		return fault.Invalid("PerInstanceContainerGroupDefinitionName: %s needs %s, more than an instance of type %s has, %s; choose a larger InstanceType for a new fleet, or a version with lower limits",
			g, needs(g), f.Managed.InstanceType, size)
	}
	if c.Game == nil || f.MostCopies() > 0 {
		return nil
	}
	beside := "has no per-instance group"
	if c.PerInstance != nil {
		beside = fmt.Sprintf("also runs %s, which needs %s", c.PerInstance, needs(c.PerInstance))
	}
	return fault.Invalid("GameServerContainerGroupDefinitionName: %s needs %s; an instance of type %s has %s and %s. Choose a larger InstanceType for a new fleet, or a version with lower limits",
		c.Game, needs(c.Game), f.Managed.InstanceType, size, beside)
}

func needs(g *Group) Size { return Size{CPUMillis: g.CPUMillis, MemoryMiB: g.MemoryMiB} }

// String returns a size for people.
func (s Size) String() string {
	return fmt.Sprintf("%g vCPU and %d MiB of memory", float64(s.CPUMillis)/1000, s.MemoryMiB)
}

// checkConnections checks the range of ports that was set, if one was.
func (f *Fleet) checkConnections() error {
	p := f.Containers.Ports
	if p == (PortSpan{}) {
		return nil
	}
	const member = "InstanceConnectionPortRange"
	switch n := f.connections(); {
	case p.To < p.From:
		return fault.Invalid("%s: ToPort %d is less than FromPort %d", member, p.To, p.From)
	case p.From <= lastReserved && p.To >= firstReserved:
		return fault.Invalid("%s: %d to %d contains ports from %d to %d, which are reserved; begin at %d, or leave the range out",
			member, p.From, p.To, firstReserved, lastReserved, firstConnection)
	case p.To-p.From+1 < n:
		return fault.Invalid("%s: %d to %d has %d ports; the container groups of an instance have %d (%d game server groups). Widen the range, or leave it out",
			member, p.From, p.To, p.To-p.From+1, n, f.Slots())
	}
	return nil
}

// check checks which members belong to the destination.
func (l Logs) check() error {
	switch {
	case l.Destination == logsS3 && l.Bucket == "":
		return fault.Invalid("LogConfiguration.S3BucketName: required with LogDestination S3")
	case l.Destination != logsS3 && l.Bucket != "":
		return fault.Invalid("LogConfiguration.S3BucketName: allowed with LogDestination S3 only, not with %s", l.Destination)
	case l.Destination != logsCloudWatch && l.LogGroup != "":
		return fault.Invalid("LogConfiguration.LogGroupArn: allowed with LogDestination CLOUDWATCH only, not with %s", l.Destination)
	}
	return nil
}

// typesBySize lists instance types by their size: of those, CreateContainerFleet takes the
// first that fits if the request names none.
var typesBySize = []string{
	"c5.large", "m5.large", "r5.large", "c5.xlarge", "m5.xlarge", "r5.xlarge", "c5.2xlarge", "m5.2xlarge", "r5.2xlarge",
	"c5.4xlarge", "m5.4xlarge", "r5.4xlarge", "c5.9xlarge", "m5.8xlarge", "r5.8xlarge", "c5.12xlarge", "m5.12xlarge", "r5.12xlarge",
	"c5.18xlarge", "m5.16xlarge", "r5.16xlarge", "c5.24xlarge", "m5.24xlarge", "r5.24xlarge",
}

// chooseType sets the instance type of a fleet that names none: the smallest on which the
// groups that it asks for fit. The largest remains if none does, for checkContainers to
// refuse.
func (f *Fleet) chooseType() {
	for _, f.Managed.InstanceType = range typesBySize {
		if f.checkSize() == nil && (f.Containers.Game == nil || f.Containers.Copies <= f.MostCopies()) {
			return
		}
	}
}

// findGroup returns the version that a request names, and whether newer ones follow it.
// Errors: NotFound, InvalidRequest.
func (s *Service) findGroup(r store.Reader, member, nameOrARN string, perInstance bool) (*Group, bool, error) {
	if s.definitions == nil {
		return nil, false, fault.Invalid("%s: this server stores no container group definitions", member)
	}
	d, err := s.definitions(r, nameOrARN)
	if err != nil {
		return nil, false, err
	}
	if err := d.check(member, perInstance); err != nil {
		return nil, false, err
	}
	return &d.Group, d.Newest, nil
}

// check checks that a fleet can run the version as the kind of group that member names.
func (d *Definition) check(member string, perInstance bool) error {
	switch {
	case d.PerInstance && !perInstance:
		return fault.Invalid("%s: %s is of type PER_INSTANCE; give a definition of type GAME_SERVER", member, d.Name)
	case !d.PerInstance && perInstance:
		return fault.Invalid("%s: %s is of type GAME_SERVER; give a definition of type PER_INSTANCE", member, d.Name)
	case !d.Ready:
		return fault.Invalid("%s: version %d of %s is in status %s; it must be READY. Wait until it is, or name another version", member, d.Version, d.Name, d.Status)
	}
	return nil
}

// FindContainer returns a container fleet by id or ARN. Errors: NotFound, InvalidRequest
// (the fleet is of another kind).
func (t *Fleets) FindContainer(r store.Reader, idOrARN string) (*Fleet, error) {
	f, err := t.Find(r, idOrARN)
	if err == nil && f.Containers == nil {
		return nil, fault.Invalid("FleetId: fleet %s is of ComputeType %s, not a container fleet; use the operations without Container in their names", f.ID, f.ComputeType)
	}
	return f, err
}

// refuseContainers returns an error if the fleet is a container fleet. Errors:
// InvalidRequest.
func (f *Fleet) refuseContainers(remedy string) error {
	if f.Containers == nil {
		return nil
	}
	return fault.Invalid("FleetId: fleet %s is a container fleet; %s", f.ID, remedy)
}
