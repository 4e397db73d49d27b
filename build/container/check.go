package container

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/registry"
)

// The names of the members that hold containers.
const (
	gameMember    = "GameServerContainerDefinition"
	supportMember = "SupportContainerDefinitions"
)

// Most support containers of a group (API reference, CreateContainerGroupDefinition).
var maxSupport = map[Type]int{GameServer: 8, PerInstance: 10}

// check reports whether a version keeps the rules. Errors: InvalidRequest, which name the
// member and the rule.
func check(v *Version) error {
	for _, rule := range []func(*Version) error{checkMembers, checkNames, checkLimits, checkContainers, checkDependencies} {
		if err := rule(v); err != nil {
			return err
		}
	}
	return nil
}

// checkMembers checks which containers a group of the type has.
func checkMembers(v *Version) error {
	if n := maxSupport[v.Type]; len(v.Support) > n {
		return fault.Invalid("%s: there are %d; a %s group has at most %d", supportMember, len(v.Support), v.Type, n)
	}
	if v.Type == GameServer {
		if v.Game == nil {
			return fault.Invalid("%s: is required in a GAME_SERVER group; it runs the game server", gameMember)
		}
		return nil
	}
	if v.Game != nil {
		return fault.Invalid("%s: is allowed in a GAME_SERVER group only; this is a PER_INSTANCE group", gameMember)
	}
	if !slices.ContainsFunc(v.Support, func(c Container) bool { return c.Essential }) {
		return fault.Invalid("%s: a PER_INSTANCE group needs at least one support container with Essential true", supportMember)
	}
	return nil
}

func checkNames(v *Version) error {
	seen := map[string]bool{}
	for c := range v.Containers() {
		if seen[c.Name] {
			return fault.Invalid("ContainerName: %q names two containers; each needs a name of its own", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// checkLimits compares what containers demand with what the group has.
func checkLimits(v *Version) error {
	reserved := 0.0 // thousandths: 0.2 three times is 0.6
	for i, c := range v.Support {
		if c.Memory >= v.Memory {
			return fault.Invalid("%s.%d.MemoryHardLimitMebibytes: %d is not less than TotalMemoryLimitMebibytes, %d, which all containers share; raise the total, or leave the limit out",
				supportMember, i+1, c.Memory, v.Memory)
		}
		reserved += math.Round(c.VCPU * 1000)
	}
	if reserved > math.Round(v.VCPU*1000) {
		return fault.Invalid("TotalVcpuLimit: %v is less than the sum of Vcpu of the support containers, %v", v.VCPU, reserved/1000)
	}
	return nil
}

func checkContainers(v *Version) error {
	if v.Game != nil {
		if err := checkSDK(v.Game.SDK); err != nil {
			return err
		}
		if err := checkContainer(gameMember, v.Game); err != nil {
			return err
		}
	}
	for i := range v.Support {
		if err := checkContainer(fmt.Sprintf("%s.%d", supportMember, i+1), &v.Support[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkSDK checks that a server SDK can serve in a container: 5.2.0 or higher.
func checkSDK(version string) error {
	parts := strings.Split(version, ".")
	major, err := strconv.Atoi(parts[0])
	minor := 0
	if err == nil && len(parts) > 1 {
		minor, err = strconv.Atoi(parts[1])
	}
	if err != nil || major < 5 || major == 5 && minor < 2 {
		return fault.Invalid("%s.ServerSdkVersion: %s; game servers in containers need server SDK 5.2.0 or higher", gameMember, version)
	}
	return nil
}

// checkContainer checks one container by itself. member names it in errors.
func checkContainer(member string, c *Container) error {
	if _, err := registry.Parse(c.Image); err != nil {
		return fault.Invalid("%s.ImageUri: %v", member, err)
	}
	if h := c.Health; h != nil && (len(h.Command) < 2 || h.Command[0] != "CMD" && h.Command[0] != "CMD-SHELL") {
		return fault.Invalid("%s.HealthCheck.Command: begins with CMD (a program and its arguments follow) or CMD-SHELL (a line for the container's shell follows)", member)
	}
	names := map[string]bool{}
	for _, e := range c.Env {
		if strings.ContainsAny(e.Name, "=\x00") || strings.Contains(e.Value, "\x00") {
			return fault.Invalid("%s.EnvironmentOverride: the name %q contains = or NUL, or its value NUL", member, e.Name)
		}
		if names[e.Name] {
			return fault.Invalid("%s.EnvironmentOverride: %q is given twice", member, e.Name)
		}
		names[e.Name] = true
	}
	for i, name := range c.Capabilities {
		if slices.Contains(c.Capabilities[:i], name) {
			return fault.Invalid("%s.LinuxCapabilities.Include: %q is given twice", member, name)
		}
	}
	if err := checkMounts(member, c.Mounts); err != nil {
		return err
	}
	return checkPorts(member, c.Ports)
}

func checkMounts(member string, mounts []Mount) error {
	at := map[string]bool{}
	for i, m := range mounts {
		for _, p := range []string{m.Instance, m.In()} {
			if strings.ContainsRune(p, 0) || slices.Contains(strings.Split(p, "/"), "..") {
				return fault.Invalid("%s.MountPoints.%d: a path must not contain NUL or an element ..", member, i+1)
			}
		}
		in := path.Clean(m.In())
		if in == "/" {
			return fault.Invalid("%s.MountPoints.%d: / cannot be replaced in a container; name a folder below it", member, i+1)
		}
		if at[in] {
			return fault.Invalid("%s.MountPoints.%d: another mount point has the same path in the container, %s", member, i+1, in)
		}
		at[in] = true
	}
	return nil
}

func checkPorts(member string, ports []PortRange) error {
	for i, p := range ports {
		if p.To < p.From {
			return fault.Invalid("%s.PortConfiguration.ContainerPortRanges.%d: ToPort %d is less than FromPort %d", member, i+1, p.To, p.From)
		}
		for j, q := range ports[:i] {
			if p.Protocol == q.Protocol && p.From <= q.To && q.From <= p.To {
				return fault.Invalid("%s.PortConfiguration.ContainerPortRanges.%d: overlaps range %d of the same protocol, %s", member, i+1, j+1, p.Protocol)
			}
		}
	}
	return nil
}

// checkDependencies checks that each dependency can be met, and that none waits for itself.
func checkDependencies(v *Version) error {
	byName := map[string]*Container{}
	for c := range v.Containers() {
		byName[c.Name] = c
	}
	for c := range v.Containers() {
		seen := map[string]bool{}
		for _, d := range c.DependsOn {
			on := byName[d.Container]
			switch {
			case on == nil:
				return fault.Invalid("DependsOn: container %s depends on %s, which is not in the group", c.Name, d.Container)
			case seen[d.Container]:
				return fault.Invalid("DependsOn: container %s depends on %s twice; one condition is enough", c.Name, d.Container)
			case (d.Condition == Complete || d.Condition == Success) && (on.Essential || on == v.Game):
				return fault.Invalid("DependsOn: container %s waits for %s of %s, which is essential and so never ends; use START or HEALTHY, or make it nonessential", c.Name, d.Condition, on.Name)
			case d.Condition == Healthy && on != v.Game && on.Health == nil:
				return fault.Invalid("DependsOn: container %s waits for HEALTHY of %s, which has no HealthCheck; give it one, or use START", c.Name, on.Name)
			}
			seen[d.Container] = true
		}
	}
	if cycle := findCycle(v, byName); cycle != nil {
		return fault.Invalid("DependsOn: no container of %s could ever start, each waits for the next; remove one of these dependencies", strings.Join(cycle, " → "))
	}
	return nil
}

// findCycle returns the names along a cycle of dependencies, the first one again at its
// end, or nil.
func findCycle(v *Version, byName map[string]*Container) []string {
	done := map[string]bool{}
	var trail []string
	var visit func(c *Container) []string
	visit = func(c *Container) []string {
		if i := slices.Index(trail, c.Name); i >= 0 {
			return append(trail[i:], c.Name)
		}
		if done[c.Name] {
			return nil
		}
		trail = append(trail, c.Name)
		for _, d := range c.DependsOn {
			if cycle := visit(byName[d.Container]); cycle != nil {
				return cycle
			}
		}
		trail = trail[:len(trail)-1]
		done[c.Name] = true
		return nil
	}
	for c := range v.Containers() {
		if cycle := visit(c); cycle != nil {
			return cycle
		}
	}
	return nil
}
