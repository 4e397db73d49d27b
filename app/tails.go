package app

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/musterhq/muster/agent/logs"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/session"
)

// tails asks those who run game server processes for what these have written.
type tails struct {
	hosts *hosts.Server // machines that have joined; nil before the doors are open
	local *host.Host    // the agent of this process; nil: there is none

	reading atomic.Int32 // stored logs

	mu   sync.Mutex
	read []readLog // the stored logs that were read last, for pages that ask every second
}

// own reports whether the agent of this process runs a process for a fleet of its own.
func (t *tails) own(ref compute.Ref) bool { return t.local != nil && t.local.Owns(ref) }

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

// Bounds of reading stored logs.
const (
	maxStored = 2 // at the same time: each is unpacked, to its end
	keepRead  = 8 // how many are kept
)

// readLog is the end of a stored log.
type readLog struct {
	object *object.Object
	most   int
	tail   *pages.Tail
}

// storedLog returns the end of the log that is stored of the process that hosted a game session,
// nil if none is. Errors: InvalidRequest, Throttling.
func (d *domain) storedLog(_ context.Context, g *session.GameSession, most int) (*pages.Tail, error) {
	o := d.objects.Get(d.store.View(), object.LogBucket, compute.ParseRef(g.ProcessKey).LogKey(g.ID))
	if o == nil {
		return nil, nil
	}
	if tail := d.tails.lastRead(o, most); tail != nil {
		return tail, nil
	}
	if n := d.tails.reading.Add(1); n > maxStored {
		d.tails.reading.Add(-1)
		return nil, fault.New(fault.Throttling, "%d stored logs are being read, which is the limit; try again", maxStored)
	}
	defer d.tails.reading.Add(-1)
	file, err := d.objects.Open(o)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	streams, err := logs.Archived(file, o.Size, most)
	if err != nil {
		return nil, fault.Invalid("what is stored of the log cannot be shown (%v); GetGameSessionLogUrl returns it as it is", err)
	}
	tail := tailFrom(protocol.Tailed{Streams: streams})
	d.tails.keep(readLog{o, most, tail})
	return tail, nil
}

// lastRead returns the end of a stored log that was read lately, or nil.
func (t *tails) lastRead(o *object.Object, most int) *pages.Tail {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.read {
		if r.object == o && r.most == most {
			return r.tail
		}
	}
	return nil
}

// keep keeps the end of a stored log, and forgets the one that was read first.
func (t *tails) keep(r readLog) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = append(t.read, r)
	t.read = t.read[max(0, len(t.read)-keepRead):]
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
