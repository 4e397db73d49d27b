package hosts

import (
	"math"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
)

// groups returns the container groups of an instance as its host should run them. tokens are
// by name of the compute.
func (l *link) groups(r store.Reader, a instance.Assignment, tokens map[string]string) []protocol.Group {
	var all []protocol.Group
	for n := range a.Groups {
		g := &a.Groups[n]
		v := l.s.opts.Containers.Version(r, g.Of.Name, g.Of.Version)
		if v == nil {
			l.s.log.Error("a container group's definition does not exist", "instance", a.ID, "definition", g.Of.Name, "version", g.Of.Version)
			continue
		}
		out := protocol.Group{
			Name: g.Name, PerInstance: g.PerInstance, Definition: l.s.opts.Containers.ARN(v),
			MemoryMiB: v.Memory, CPUMillis: cpuMillis(v.VCPU), Stop: protocol.Stop(g.Stop), StopBy: g.StopBy,
		}
		if !g.PerInstance {
			out.Compute = compute.GroupName(a.ID, g.Name)
			out.AuthToken = tokens[out.Compute]
			out.Busy = l.marks() && l.isBusy(r, a.FleetID, out.Compute)
		}
		ports := a.Ports(g)
		for c := range v.Containers() {
			out.Containers = append(out.Containers, containerOf(v, c, ports))
		}
		all = append(all, out)
	}
	return all
}

// isBusy reports whether a game server of a compute hosts a game session.
func (l *link) isBusy(r store.Reader, fleetID, name string) bool {
	for p := range l.s.opts.Computes.On(r, fleetID, name) {
		if p.GameSessionID != "" && p.Status != compute.Terminated {
			return true
		}
	}
	return false
}

// marks reports whether the host is a cluster, which must know where game sessions are:
// others than Muster move what runs there.
func (l *link) marks() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cluster
}

// containerOf returns a container of a version, which has its ports among those of the group.
func containerOf(v *container.Version, c *container.Container, ports []instance.Port) protocol.Container {
	game := c == v.Game
	out := protocol.Container{
		Name: c.Name, Image: c.Pinned(), Game: game, Essential: game || c.Essential, Capabilities: c.Capabilities,
		MemoryMiB: c.Memory, CPUMillis: cpuMillis(c.VCPU),
	}
	for _, e := range c.Env {
		out.Environment = append(out.Environment, protocol.Variable{Name: e.Name, Value: e.Value})
	}
	for _, d := range c.DependsOn {
		out.DependsOn = append(out.DependsOn, protocol.Dependency{Container: d.Container, Condition: string(d.Condition)})
	}
	for _, m := range c.Mounts {
		out.Mounts = append(out.Mounts, protocol.Mount{Instance: m.Instance, Container: m.In(), Writable: m.Access == container.ReadAndWrite})
	}
	for _, p := range ports {
		if p.Container == c.Name {
			out.Ports = append(out.Ports, protocol.Port{Container: p.Inside, Host: p.Outside, Protocol: p.Protocol})
		}
	}
	if h := c.Health; h != nil {
		out.Health = &protocol.ContainerHealth{Command: h.Command, Interval: h.Interval, Timeout: h.Timeout, StartPeriod: h.StartPeriod, Retries: h.Retries}
	}
	return out
}

// images adds the images of the versions that a fleet should run, which its hosts fetch
// before they are needed.
func (l *link) images(r store.Reader, f *fleet.Fleet, to map[string]bool) {
	for _, g := range []*fleet.Group{f.Containers.Game, f.Containers.PerInstance} {
		if g == nil {
			continue
		}
		if v := l.s.opts.Containers.Version(r, g.Name, g.Version); v != nil {
			for c := range v.Containers() {
				to[c.Pinned()] = true
			}
		}
	}
}

func cpuMillis(vcpu float64) int { return int(math.Ceil(vcpu * 1000)) }
