package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/hosts/protocol"
)

// The labels of containers.
const (
	labelCell       = "muster.cell"
	labelHost       = "muster.host"
	labelInstance   = "muster.instance"
	labelGroup      = "muster.group"
	labelDefinition = "muster.definition"
	labelProcess    = "muster.process"
	labelStarted    = "muster.started"
	labelContainer  = "muster.container" // its name in the group
	labelMembers    = "muster.members"   // ROLE=NAME of all containers of the group, in the order of start
)

// The roles of containers in their group.
const (
	roleGame      = "game"
	roleEssential = "essential"
	roleOther     = "support"
	roleNetwork   = "network" // owns the network, and does nothing else
)

// networkName is the name of the container that only owns a network. No definition can
// have it.
const networkName = ".network"

func roleOf(c protocol.Container) string {
	switch {
	case c.Game:
		return roleGame
	case c.Essential:
		return roleEssential
	}
	return roleOther
}

// capabilities are those that every container has: enough for a program that starts as
// root, changes the owner of its own files and continues as another user. Docker's default
// set has five more, which matter beyond the container (docs/decisions/0020).
var capabilities = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETPCAP", "SETUID"}

// hostCapabilities are those with which a container can take over its machine.
var hostCapabilities = []string{
	"AUDIT_CONTROL", "BPF", "DAC_READ_SEARCH", "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "PERFMON", "SYSLOG",
	"SYS_ADMIN", "SYS_BOOT", "SYS_MODULE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_TIME", "SYS_TTY_CONFIG",
}

// Least memory that engines accept as a limit.
const leastMiB = 6

// machine is what describe needs to know of the engine and of the agent's options.
type machine struct {
	opts      Options
	podman    bool
	cpus      int
	swapLimit bool      // the kernel limits swap
	ulimits   []ulimit  // that containers need to start, on Podman
	resolve   resolveFn // follows the links in a path of the machine
}

type ulimit struct {
	name string
	hard int64
}

type resolveFn func(string) (string, error)

// groupKey identifies a group among those of an owner.
type groupKey struct{ instance, group string }

func (l Labels) key() groupKey { return groupKey{l.Instance, l.Group} }

// describe returns what the engine is asked to create for a group, in the order of start.
// The network of those after the holder is set when its id is known.
func (m machine) describe(g Group) ([]client.ContainerCreateOptions, error) {
	l, err := plan(g)
	if err != nil {
		return nil, err
	}
	limits := divide(g)
	all := make([]client.ContainerCreateOptions, 0, len(l.sorted)+1)
	var members []string
	if l.holder < 0 && m.opts.Network != HostNetwork {
		all = append(all, m.networkOnly(g))
		members = append(members, roleNetwork+"="+networkName)
	}
	for _, c := range l.sorted {
		one, err := m.container(g, c, limits[c.Name])
		if err != nil {
			return nil, fmt.Errorf("container %s: %w", c.Name, err)
		}
		all = append(all, one)
		members = append(members, roleOf(c)+"="+c.Name)
	}
	for _, one := range all {
		one.Config.Labels[labelMembers] = strings.Join(members, ",")
	}
	if m.opts.Network == HostNetwork {
		return all, checkHostPorts(g)
	}
	all[0].Config.ExposedPorts, all[0].HostConfig.PortBindings = m.publish(g)
	return all, nil
}

// checkHostPorts checks that each port is the same on the host, whose network the
// containers use.
func checkHostPorts(g Group) error {
	for _, c := range g.Containers {
		for _, p := range c.Ports {
			if p.Container != p.Host {
				return fmt.Errorf("container %s: its %s port %d cannot be reached as %d, since containers use the host's network here", c.Name, p.Protocol, p.Container, p.Host)
			}
		}
	}
	return nil
}

func (m machine) publish(g Group) (network.PortSet, network.PortMap) {
	exposed, bound := network.PortSet{}, network.PortMap{}
	for _, c := range g.Containers {
		for _, p := range c.Ports {
			port, _ := network.PortFrom(uint16(p.Container), network.IPProtocol(strings.ToLower(p.Protocol)))
			exposed[port] = struct{}{}
			bound[port] = []network.PortBinding{{HostIP: m.opts.Publish, HostPort: strconv.Itoa(p.Host)}}
		}
	}
	return exposed, bound
}

// networkOnly describes the container that owns the network of a group none of whose
// essential containers can, since each waits for another one.
func (m machine) networkOnly(g Group) client.ContainerCreateOptions {
	one := m.bare(g, networkName)
	one.Config.Image = pauseImage
	one.HostConfig.Memory = leastMiB << 20
	one.HostConfig.CapAdd = nil
	return one
}

// bare describes a container without its program and limits.
func (m machine) bare(g Group, name string) client.ContainerCreateOptions {
	labels := map[string]string{
		labelCell: m.opts.Owner.Cell, labelHost: m.opts.Owner.HostID,
		labelInstance: g.Instance, labelGroup: g.Group, labelDefinition: g.Definition, labelProcess: g.ProcessID,
		labelStarted: g.Started.UTC().Format(time.RFC3339Nano), labelContainer: name,
	}
	pids := m.opts.Pids
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(m.opts.Network),
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig:      m.logging(),
		CapDrop:        []string{"ALL"},
		CapAdd:         slices.Clone(capabilities),
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: !m.opts.WritableRoot,
		IpcMode:        "private",
		Resources:      container.Resources{PidsLimit: &pids},
	}
	for _, u := range m.ulimits {
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: u.name, Hard: u.hard, Soft: u.hard})
	}
	return client.ContainerCreateOptions{Name: containerName(m.opts.Owner, g.key(), name), Config: &container.Config{Labels: labels}, HostConfig: host}
}

// logging bounds what the engine keeps of a container's output.
func (m machine) logging() container.LogConfig {
	if m.podman { // rotates by itself, and keeps one file
		return container.LogConfig{Type: "k8s-file", Config: map[string]string{"max-size": strconv.FormatInt(m.opts.LogBytes, 10)}}
	}
	return container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": strconv.FormatInt(m.opts.LogBytes/2, 10), "max-file": "2"}}
}

// containerName returns the name of a container in the engine. It is the same for every
// run, so that the engine refuses to run a group twice.
func containerName(o Owner, key groupKey, name string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{o.Cell, o.HostID, key.instance, key.group, name}, "\x00")))
	clean := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r < 128 && (r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				return r
			}
			return '-'
		}, s)
		return s[:min(len(s), 40)]
	}
	return fmt.Sprintf("muster-%s-%s-%s", clean(key.group), clean(name), hex.EncodeToString(sum[:8]))
}

func (m machine) container(g Group, c protocol.Container, limit shares) (client.ContainerCreateOptions, error) {
	one := m.bare(g, c.Name)
	one.Config.Image = c.Image
	for _, v := range c.Environment {
		one.Config.Env = append(one.Config.Env, v.Name+"="+v.Value)
	}
	if h := c.Health; h != nil {
		one.Config.Healthcheck = &container.HealthConfig{Test: h.Command, Interval: h.Interval, Timeout: h.Timeout, StartPeriod: h.StartPeriod, Retries: h.Retries}
	}
	added, err := m.allowed(c.Capabilities)
	if err != nil {
		return one, err
	}
	one.HostConfig.CapAdd = append(one.HostConfig.CapAdd, added...)
	memory := max(limit.memoryMiB, leastMiB)
	one.HostConfig.Memory = int64(memory) << 20
	if m.swapLimit {
		one.HostConfig.MemorySwap = one.HostConfig.Memory // none
	}
	one.HostConfig.CPUShares = int64(max(limit.cpuWeight*1024/1000, 2))
	one.HostConfig.NanoCPUs = int64(max(min(g.CPUMillis, m.cpus*1000), 10)) * 1e6
	if !m.opts.WritableRoot {
		one.HostConfig.Tmpfs = map[string]string{"/tmp": fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%dm", memory)}
	}
	one.HostConfig.Mounts, err = m.mounts(c.Mounts)
	for _, at := range one.HostConfig.Mounts {
		if at.Target == "/tmp" {
			delete(one.HostConfig.Tmpfs, "/tmp")
		}
	}
	return one, err
}

// allowed checks the capabilities that a definition adds, and returns those that are not
// in the default set.
func (m machine) allowed(names []string) ([]string, error) {
	set := map[string]bool{}
	for _, name := range names {
		name = strings.TrimPrefix(strings.ToUpper(name), "CAP_")
		if name == "ALL" || slices.Contains(hostCapabilities, name) && !slices.Contains(m.opts.HostCapabilities, name) {
			return nil, fmt.Errorf("it needs the capability %s, with which it could take over this machine; the agent allows it only if its operator does", name)
		}
		if !slices.Contains(capabilities, name) {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set)), nil
}

// mounts checks the paths of the machine that a definition names.
func (m machine) mounts(wanted []protocol.Mount) ([]mount.Mount, error) {
	var all []mount.Mount
	for _, w := range wanted {
		source, err := m.source(w.Instance)
		if err != nil {
			return nil, err
		}
		all = append(all, mount.Mount{
			Type: mount.TypeBind, Source: source, Target: path.Clean(cmp.Or(w.Container, w.Instance)), ReadOnly: !w.Writable,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	return all, nil
}

// source returns a path of the machine without links. It fails unless the path is in a
// directory that the operator allows.
func (m machine) source(at string) (string, error) {
	if !filepath.IsAbs(at) {
		return "", fmt.Errorf("it mounts %s, which is not an absolute path", at)
	}
	var allowed []string
	for _, dir := range m.opts.Mounts {
		if real, err := m.resolve(dir); err == nil {
			allowed = append(allowed, real)
		}
	}
	if len(allowed) == 0 {
		return "", fmt.Errorf("it mounts %s of this machine, whose operator allows no mounts", at)
	}
	outside := fmt.Errorf("it mounts %s of this machine, which is in no directory that its operator allows for mounts", at)
	within := func(p string) bool {
		return slices.ContainsFunc(allowed, func(dir string) bool {
			rest, err := filepath.Rel(dir, p)
			return err == nil && filepath.IsLocal(rest)
		})
	}
	clean := filepath.Clean(at)
	// Nothing is said about paths elsewhere, not even whether they exist.
	if !within(clean) && !slices.ContainsFunc(m.opts.Mounts, func(dir string) bool {
		rest, err := filepath.Rel(filepath.Clean(dir), clean)
		return err == nil && filepath.IsLocal(rest)
	}) {
		return "", outside
	}
	real, err := m.resolve(clean)
	if err != nil {
		return "", fmt.Errorf("it mounts %s of this machine, which does not exist", at)
	}
	if !within(real) {
		return "", outside
	}
	return real, nil
}
