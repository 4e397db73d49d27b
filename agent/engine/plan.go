package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/hosts/protocol"
)

// The conditions of dependencies.
const (
	onStart    = "START"    // the other container has been started
	onComplete = "COMPLETE" // it has ended
	onSuccess  = "SUCCESS"  // it has ended with exit code 0
	onHealthy  = "HEALTHY"  // its health check has passed
)

// plan returns the containers of a group in an order in which each one follows those on
// which it depends, otherwise the one that owns the network first and the others in the
// order of the group. It fails if the group cannot run: the error is a sentence for people.
func plan(g Group) (layout, error) {
	if len(g.Containers) == 0 {
		return layout{}, errors.New("the group has no container")
	}
	index := make(map[string]int, len(g.Containers))
	for i, c := range g.Containers {
		if _, twice := index[c.Name]; twice {
			return layout{}, fmt.Errorf("two containers have the name %s", c.Name)
		}
		index[c.Name] = i
	}
	if !slices.ContainsFunc(g.Containers, isEssential) {
		return layout{}, errors.New("no container of the group is essential, so it could never end")
	}
	for _, check := range []func(Group, map[string]int) error{checkDependencies, checkLimits, checkPorts} {
		if err := check(g, index); err != nil {
			return layout{}, err
		}
	}
	sorted, err := order(holderFirst(g.Containers))
	if err != nil {
		return layout{}, err
	}
	l := layout{sorted: sorted, holder: -1}
	if isEssential(sorted[0]) {
		l.holder = 0
	}
	return l, nil
}

// holderFirst returns the containers with the one that can own the network first: one that
// depends on none and with which the group ends, the game server's if it is such a one.
func holderFirst(containers []protocol.Container) []protocol.Container {
	can := func(c protocol.Container) bool { return isEssential(c) && len(c.DependsOn) == 0 }
	at := slices.IndexFunc(containers, func(c protocol.Container) bool { return c.Game && can(c) })
	if at < 0 {
		at = slices.IndexFunc(containers, can)
	}
	if at < 0 {
		return containers
	}
	return slices.Concat(containers[at:at+1], containers[:at], containers[at+1:])
}

// checkDependencies reports a dependency that can never be met.
func checkDependencies(g Group, index map[string]int) error {
	for _, c := range g.Containers {
		for _, d := range c.DependsOn {
			i, ok := index[d.Container]
			if !ok {
				return fmt.Errorf("container %s depends on %s, which is not in the group", c.Name, d.Container)
			}
			on := g.Containers[i]
			switch d.Condition {
			case onStart:
			case onHealthy:
				if on.Health == nil && !on.Game {
					return fmt.Errorf("container %s waits until %s is healthy, which has no health check", c.Name, on.Name)
				}
			case onComplete, onSuccess:
				if isEssential(on) {
					return fmt.Errorf("container %s waits for the end of %s, with which the group ends", c.Name, on.Name)
				}
			default:
				return fmt.Errorf("container %s has a dependency with the unknown condition %q", c.Name, d.Condition)
			}
		}
	}
	return nil
}

// checkLimits reports containers whose own limits exceed the group's, or leave nothing to
// the others.
func checkLimits(g Group, _ map[string]int) error {
	if g.MemoryMiB <= 0 || g.CPUMillis <= 0 {
		return errors.New("the group needs a limit of memory and of processors")
	}
	memory, cpu, without := 0, 0, 0
	for _, c := range g.Containers {
		if c.MemoryMiB < 0 || c.CPUMillis < 0 {
			return fmt.Errorf("container %s has a negative limit", c.Name)
		}
		if c.MemoryMiB == 0 {
			without++
		}
		memory += c.MemoryMiB
		cpu += c.CPUMillis
	}
	if left := g.MemoryMiB - memory; left < 0 || left == 0 && without > 0 {
		return fmt.Errorf("the containers reserve %d MiB of memory, and their group may use %d", memory, g.MemoryMiB)
	}
	if cpu > g.CPUMillis {
		return fmt.Errorf("the containers reserve %d thousandths of a processor, and their group may use %d", cpu, g.CPUMillis)
	}
	return nil
}

// endpoint is a port of one protocol.
type endpoint struct {
	protocol string
	port     int
}

// checkPorts reports a port, of the host or of the network that the containers share,
// that is used twice.
func checkPorts(g Group, _ map[string]int) error {
	inside, outside := map[endpoint]string{}, map[endpoint]string{}
	for _, c := range g.Containers {
		for _, p := range c.Ports {
			if p.Protocol != "TCP" && p.Protocol != "UDP" {
				return fmt.Errorf("container %s has a port of the unknown protocol %q", c.Name, p.Protocol)
			}
			if p.Host < 1 || p.Host > 65535 || p.Container < 1 || p.Container > 65535 {
				return fmt.Errorf("container %s has a port that is not between 1 and 65535", c.Name)
			}
			in, out := endpoint{p.Protocol, p.Container}, endpoint{p.Protocol, p.Host}
			if other, taken := inside[in]; taken {
				return fmt.Errorf("containers %s and %s both have the %s port %d; the containers of a group share one network", other, c.Name, p.Protocol, p.Container)
			}
			if other, taken := outside[out]; taken {
				return fmt.Errorf("containers %s and %s both have the host's %s port %d", other, c.Name, p.Protocol, p.Host)
			}
			inside[in], outside[out] = c.Name, c.Name
		}
	}
	return nil
}

// order sorts the containers topologically.
func order(containers []protocol.Container) ([]protocol.Container, error) {
	placed := map[string]bool{}
	ready := func(c protocol.Container) bool {
		return !placed[c.Name] && !slices.ContainsFunc(c.DependsOn, func(d protocol.Dependency) bool { return !placed[d.Container] })
	}
	sorted := make([]protocol.Container, 0, len(containers))
	for len(sorted) < len(containers) {
		at := slices.IndexFunc(containers, ready)
		if at < 0 {
			var waiting []string
			for _, c := range containers {
				if !placed[c.Name] {
					waiting = append(waiting, c.Name)
				}
			}
			return nil, fmt.Errorf("the containers %s wait for each other", strings.Join(waiting, ", "))
		}
		placed[containers[at].Name] = true
		sorted = append(sorted, containers[at])
	}
	return sorted, nil
}

// shares are the limits of one container.
type shares struct {
	memoryMiB int // hard limit
	cpuWeight int // thousandths of a processor, when processors are scarce
}

// divide returns what each container may use. One without a memory limit of its own may
// use what the limits of the others leave of the group's. Each may use the group's
// processors while they are idle; what is not reserved is shared by those that reserve none.
func divide(g Group) map[string]shares {
	memory, cpu, without := g.MemoryMiB, g.CPUMillis, 0
	for _, c := range g.Containers {
		memory -= c.MemoryMiB
		cpu -= c.CPUMillis
		if c.CPUMillis == 0 {
			without++
		}
	}
	all := make(map[string]shares, len(g.Containers))
	for _, c := range g.Containers {
		s := shares{c.MemoryMiB, c.CPUMillis}
		if s.memoryMiB == 0 {
			s.memoryMiB = memory
		}
		if s.cpuWeight == 0 {
			s.cpuWeight = max(cpu/without, 1)
		}
		all[c.Name] = s
	}
	return all
}
