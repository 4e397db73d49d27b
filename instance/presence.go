package instance

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// liveRetry is the interval at which a host that was due to be given up is checked
// again while its game servers are still connected.
const liveRetry = 30 * time.Second

type presenceArgs struct {
	HostID string
	Info   HostInfo
}

// HostConnected records that a host's agent is connected, with what it offers now.
// Errors: NotFound, InvalidRequest.
func (s *Service) HostConnected(ctx context.Context, hostID string, info HostInfo) error {
	_, err := s.cmd.hostConnected.Do(ctx, presenceArgs{hostID, info})
	return err
}

func (s *Service) runHostConnected(tx *store.Tx, a presenceArgs) (struct{}, error) {
	old := s.t.hosts.Get(tx, a.HostID)
	if old == nil {
		return struct{}{}, fault.Missing("host %s does not exist", a.HostID)
	}
	if err := a.Info.check(); err != nil {
		return struct{}{}, err
	}
	h := *old
	h.describe(a.Info)
	h.Connected, h.Away, h.Left, h.ImpairAt, h.LostBy = true, false, time.Time{}, time.Time{}, time.Time{}
	s.putHost(tx, &h)
	s.markImpaired(tx, &h)
	s.recordHost(tx, event.HostConnected, &h, "")
	for i := range s.t.onHost.Equal(tx, h.ID) {
		if c := s.computes.Get(tx, i.FleetID, i.ID); c != nil && (c.IPAddress != h.IPAddress || c.DNSName != h.DNSName) {
			moved := *c
			moved.IPAddress, moved.DNSName = h.IPAddress, h.DNSName
			s.computes.PutInstance(tx, &moved)
		}
	}
	return struct{}{}, nil
}

// HostLost records that the last connection of a host's agent is closed. The agent has
// a grace to come back; its game servers go on.
func (s *Service) HostLost(ctx context.Context, hostID string) error {
	_, err := s.cmd.hostLost.Do(ctx, hostID)
	return err
}

func (s *Service) runHostLost(tx *store.Tx, hostID string) (struct{}, error) {
	if h := s.t.hosts.Get(tx, hostID); h != nil && h.Connected {
		s.away(tx, h, s.opts.HostGrace)
		s.recordHost(tx, event.HostDisconnected, h, "")
	}
	return struct{}{}, nil
}

func (s *Service) away(tx *store.Tx, old *Host, grace time.Duration) {
	h := *old
	if h.Connected {
		h.Left, h.ImpairAt = tx.Now(), tx.Now().Add(s.opts.ImpairGrace)
	}
	h.Connected, h.LostBy = false, tx.Now().Add(grace)
	s.putHost(tx, &h)
}

// markImpaired marks the processes of a host as impaired or not, as the host is. Impaired ones
// are not taken for game sessions.
func (s *Service) markImpaired(tx *store.Tx, h *Host) {
	for i := range s.t.onHost.Equal(tx, h.ID) {
		for old := range s.computes.On(tx, i.FleetID, i.ID) {
			s.computes.Impair(tx, old, h.Impaired())
		}
	}
}

func (s *Service) putHost(tx *store.Tx, h *Host) {
	s.t.hosts.Put(tx, h)
	tx.OnCommit(s.capacity.Nudge)
}

// Restarted grants every host a grace period to come back after a restart of Muster
// (compute.Hosting).
func (s *Service) Restarted(tx *store.Tx) {
	for h := range s.t.hosts.All(tx) {
		if h.Connected || !h.LostBy.IsZero() {
			s.away(tx, h, s.graces.RestartGrace)
		}
	}
}

// overdueHost excludes a host whose agent is away from placement, and later gives it
// up, unless game servers there are connected: then only its agent is gone.
func (s *Service) overdueHost(tx *store.Tx, old *Host) {
	h := *old
	if !h.ImpairAt.IsZero() && !h.ImpairAt.After(tx.Now()) {
		h.Away, h.ImpairAt = true, time.Time{}
		s.t.hosts.Put(tx, &h)
		s.markImpaired(tx, &h)
		s.recordHost(tx, event.HostImpaired, &h, "its agent is away; it is given no new game sessions until the agent is back")
	}
	if h.LostBy.IsZero() || h.LostBy.After(tx.Now()) {
		return
	}
	if s.anyConnected(tx, h.ID) {
		h.LostBy = tx.Now().Add(liveRetry)
		s.t.hosts.Put(tx, &h)
		if tx.Now().Sub(h.Left) >= s.opts.LeaveGrace {
			s.spareAll(tx, &h, "the agent of host "+h.ID+" ("+h.Name+") stays away")
		}
		return
	}
	h.Away, h.ImpairAt, h.LostBy = true, time.Time{}, time.Time{}
	s.t.hosts.Put(tx, &h)
	s.recordHost(tx, event.HostLost, &h, "the agent did not come back, and no game server there is connected")
	s.loseInstances(tx, &h, "host "+h.ID+" ("+h.Name+") was lost")
}

// spareAll has the instances of a host replaced; game sessions there are played to
// their end.
func (s *Service) spareAll(tx *store.Tx, h *Host, cause string) {
	for old := range s.t.onHost.Equal(tx, h.ID) {
		if old.Gone || old.Stop != Keep {
			continue
		}
		i := *old
		i.Spare, i.Cause = true, cause
		s.stopInstance(tx, &i, Drain, false)
	}
}

func (s *Service) anyConnected(r store.Reader, hostID string) bool {
	for i := range s.t.onHost.Equal(r, hostID) {
		for p := range s.computes.On(r, i.FleetID, i.ID) {
			if p.Connected {
				return true
			}
		}
	}
	return false
}

// loseInstances ends all instances of a host immediately; the next plan replaces those
// that are still desired.
func (s *Service) loseInstances(tx *store.Tx, h *Host, text string) {
	for i := range s.t.onHost.Equal(tx, h.ID) {
		if !i.Gone {
			s.events.Append(tx, event.Event{
				Code: event.InstanceReplaced, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID,
				Message: "Instance " + i.ID + " is replaced: " + text,
			})
			s.gone(tx, i, event.ServerProcessCrashed, text)
		}
		s.t.instances.Delete(tx, i.ID)
	}
}
