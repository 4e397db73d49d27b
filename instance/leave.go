package instance

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// DrainHost makes a host take no new instances. Those there end when their last game
// session has ended, and are replaced on other hosts. Errors: NotFound.
func (s *Service) DrainHost(ctx context.Context, hostID string) error {
	_, err := s.cmd.drainHost.Do(ctx, hostID)
	return err
}

func (s *Service) runDrainHost(tx *store.Tx, hostID string) (struct{}, error) {
	old, err := s.mustHost(tx, hostID)
	if err != nil || old.Draining {
		return struct{}{}, err
	}
	h := *old
	h.Draining = true
	s.putHost(tx, &h)
	s.recordHost(tx, event.HostDraining, &h, "it takes no new instances; game sessions there are played to their end")
	s.spareAll(tx, &h, "host "+h.ID+" ("+h.Name+") is being drained")
	s.whenEmpty(tx, h.ID)
	return struct{}{}, nil
}

// ResumeHost makes a drained host take instances again. Those that are ending go on
// ending. Errors: NotFound, Conflict (it is being removed).
func (s *Service) ResumeHost(ctx context.Context, hostID string) error {
	_, err := s.cmd.resumeHost.Do(ctx, hostID)
	return err
}

func (s *Service) runResumeHost(tx *store.Tx, hostID string) (struct{}, error) {
	old, err := s.mustHost(tx, hostID)
	switch {
	case err != nil || !old.Draining:
		return struct{}{}, err
	case old.Removing:
		return struct{}{}, fault.New(fault.Conflict, "host %s is being removed, which cannot be undone; let the machine join anew", hostID)
	}
	h := *old
	h.Draining = false
	s.putHost(tx, &h)
	s.recordHost(tx, event.HostResumed, &h, "it takes instances again")
	return struct{}{}, nil
}

// removedHost is what is kept of a removed host, so that its agent, which presents
// the credential once more, learns of the removal.
type removedHost struct {
	ID         string    `json:"id"`
	SecretHash string    `json:"secret_hash"`
	Removed    time.Time `json:"removed"`
}

// removedFor is how long a removed host is kept.
const removedFor = 90 * 24 * time.Hour

// RemoveHost removes a host. The game servers of its instances are told to end, game
// sessions included; once the last has ended, or after StopGrace, the host is deleted
// and its credential refused. With now it does not wait for them. gone reports
// whether the host is deleted already. Errors: NotFound.
func (s *Service) RemoveHost(ctx context.Context, hostID string, now bool) (gone bool, err error) {
	return s.cmd.removeHost.Do(ctx, removeHostArgs{hostID, now})
}

type removeHostArgs struct {
	HostID string
	Now    bool
}

func (s *Service) runRemoveHost(tx *store.Tx, a removeHostArgs) (bool, error) {
	old, err := s.mustHost(tx, a.HostID)
	if err != nil {
		return false, err
	}
	if !old.Removing {
		h := *old
		h.Draining, h.Removing = true, true
		s.putHost(tx, &h)
		s.recordHost(tx, event.HostRemoving, &h, "its instances end")
		s.evict(tx, &h)
	}
	if a.Now {
		s.loseInstances(tx, old, "host "+old.ID+" ("+old.Name+") was removed")
	}
	s.whenEmpty(tx, a.HostID)
	return s.t.hosts.Get(tx, a.HostID) == nil, nil
}

// evict drains all instances of a host by force, within StopGrace.
func (s *Service) evict(tx *store.Tx, h *Host) {
	for old := range s.t.onHost.Equal(tx, h.ID) {
		if old.Gone || old.Stop != Keep && old.Forced {
			continue
		}
		i := *old
		i.Spare, i.Cause = false, "host "+h.ID+" ("+h.Name+") is being removed"
		i.StopBy = tx.Now().Add(s.graces.StopGrace)
		s.stopInstance(tx, &i, Drain, true)
	}
}

// whenEmpty completes the drain or removal of a host once its last instance is gone:
// a removed host is deleted, of a drained one an event is recorded.
func (s *Service) whenEmpty(tx *store.Tx, hostID string) {
	h := s.t.hosts.Get(tx, hostID)
	if h == nil || !h.Draining {
		return
	}
	for i := range s.t.onHost.Equal(tx, hostID) {
		if !i.Gone {
			return
		}
	}
	if !h.Removing {
		s.recordHost(tx, event.HostDrained, h, "nothing runs there any more; it can be removed")
		return
	}
	for i := range s.t.onHost.Equal(tx, hostID) { // failed ones, kept so that their fleets avoid the host
		s.t.instances.Delete(tx, i.ID)
	}
	for r := range s.t.removed.All(tx) { // few: expired ones are deleted here
		if tx.Now().Sub(r.Removed) >= removedFor {
			s.t.removed.Delete(tx, r.ID)
		}
	}
	s.t.removed.Put(tx, &removedHost{ID: h.ID, SecretHash: h.SecretHash, Removed: tx.Now()})
	s.t.hosts.Delete(tx, h.ID)
	s.recordHost(tx, event.HostRemoved, h, "its credential is refused from now on")
	s.assign(tx, h.ID)
	tx.OnCommit(s.capacity.Nudge)
}

// Host returns a host by id, or nil.
func (s *Service) Host(r store.Reader, hostID string) *Host { return s.t.hosts.Get(r, hostID) }

func (s *Service) mustHost(r store.Reader, hostID string) (*Host, error) {
	if h := s.t.hosts.Get(r, hostID); h != nil {
		return h, nil
	}
	return nil, fault.Missing("host %s does not exist", hostID)
}
