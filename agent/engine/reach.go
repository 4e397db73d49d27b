package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/musterhq/muster/hosts/protocol"
)

// Ping returns an error if the engine does not answer.
func (e *Engine) Ping(ctx context.Context) error {
	_, err := e.api.Ping(ctx, client.PingOptions{})
	return err
}

// HostAddress returns the address at which containers reach this machine; the zero value if
// their network has no gateway.
func (e *Engine) HostAddress(ctx context.Context) (netip.Addr, error) {
	name := e.machine.opts.Network
	switch {
	case name == HostNetwork:
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	case name == "" && e.machine.podman:
		name = "podman"
	case name == "":
		name = "bridge"
	}
	found, err := e.api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("inspect network %s: %w", name, err)
	}
	return gateway(found.Network.IPAM.Config), nil
}

// gateway returns the first address of this machine in a network, or the zero value. Docker
// leaves the gateway of its own network out until it is started again: it is the first
// address there.
func gateway(all []network.IPAMConfig) netip.Addr {
	for _, c := range all {
		if c.Gateway.Is4() {
			return c.Gateway
		}
	}
	for _, c := range all {
		if c.Subnet.Addr().Is4() {
			return c.Subnet.Masked().Addr().Next()
		}
	}
	return netip.Addr{}
}

// Follow writes what a container writes, from its start until it ends or ctx does.
func (r *Running) Follow(ctx context.Context, name string, to io.Writer) error {
	r.mu.Lock()
	at := slices.IndexFunc(r.members, func(m member) bool { return m.name == name })
	var id string
	if at >= 0 {
		id = r.members[at].id
	}
	r.mu.Unlock()
	if id == "" {
		return errors.New("the group has no container " + name)
	}
	from, err := r.engine.api.ContainerLogs(ctx, id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Follow: true})
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = stdcopy.StdCopy(to, to, from)
	return err
}

// Sample is what the containers of a group have used.
type Sample struct {
	At     time.Time
	CPU    time.Duration // since their start
	Memory int64         // bytes, now, without what the kernel would give up
}

// Sample asks the engine what the group's running containers use.
func (r *Running) Sample(ctx context.Context) (Sample, error) {
	all := Sample{At: time.Now()}
	active, _ := r.active(func(m member) bool { return m.role != roleNetwork })
	for _, m := range active {
		one, err := r.engine.stats(ctx, m.id)
		if err != nil {
			return all, err
		}
		all.CPU += time.Duration(one.CPUStats.CPUUsage.TotalUsage)
		cache := max(one.MemoryStats.Stats["total_inactive_file"], one.MemoryStats.Stats["inactive_file"])
		all.Memory += int64(one.MemoryStats.Usage - min(cache, one.MemoryStats.Usage))
	}
	return all, nil
}

func (e *Engine) stats(ctx context.Context, id string) (container.StatsResponse, error) {
	var s container.StatsResponse
	found, err := e.api.ContainerStats(ctx, id, client.ContainerStatsOptions{})
	if err != nil {
		return s, err
	}
	defer found.Body.Close()
	return s, json.NewDecoder(found.Body).Decode(&s)
}

// Since returns the use of processors and memory from an earlier sample to this one.
func (s Sample) Since(before Sample) protocol.Usage {
	u := protocol.Usage{MemoryMiB: int(s.Memory >> 20)}
	if period := s.At.Sub(before.At); !before.At.IsZero() && period > 0 && s.CPU >= before.CPU {
		u.CPUMillis = int((s.CPU - before.CPU) * 1000 / period)
	}
	return u
}
