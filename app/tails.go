package app

import (
	"context"
	"strings"

	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/hosts/protocol"
)

// tails asks those who run game server processes for what these have written.
type tails struct {
	hosts *hosts.Server // machines that have joined; nil before the doors are open
	local *host.Host    // the agent of this process; nil: there is none
}

// own reports whether the agent of this process runs a process for a fleet of its own.
func (t *tails) own(ref compute.Ref) bool { return t.local != nil && t.local.Owns(ref) }

// hostOf returns the id of the host that runs a process, "" if no host is known to: a compute of an
// Anywhere fleet may be any machine. The host of this process's own agent runs game servers of such a fleet.
func (d *domain) hostOf(p *compute.Process) string {
	if p.HostID == "" && d.tails.local != nil {
		return d.tails.local.HostID(p.Ref())
	}
	return p.HostID
}

// tailOf returns the end of what a process has written, at most so many bytes of each stream, and
// what it used lately; nil if no agent runs it.
func (d *domain) tailOf(ctx context.Context, p *compute.Process, most int) (*pages.Tail, error) {
	ref := compute.Ref{FleetID: p.FleetID, ComputeName: p.ComputeName, ProcessID: p.ID}
	switch t := &d.tails; {
	case t.own(ref):
		tailed, err := t.local.Tail(ctx, ref, most)
		return tailFrom(tailed), err
	case t.hosts == nil || p.HostID == "":
		return nil, nil
	}
	c := d.computes.Get(d.store.View(), p.FleetID, p.ComputeName)
	if c == nil || c.InstanceID == "" {
		return nil, nil
	}
	tailed, err := d.tails.hosts.Tail(ctx, p.HostID, c.InstanceID, p.ID, most)
	return tailFrom(tailed), err
}

func tailFrom(t protocol.Tailed) *pages.Tail {
	out := &pages.Tail{}
	for _, s := range t.Streams {
		out.Streams = append(out.Streams, pages.Stream{Name: s.Name, Text: strings.ToValidUTF8(string(s.Text), "\uFFFD"), End: s.End})
	}
	for _, u := range t.Used {
		out.Used = append(out.Used, pages.Used{At: u.At, CPUMillis: u.CPUMillis, MemoryMiB: u.MemoryMiB})
	}
	return out
}
