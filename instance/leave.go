package instance

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

func (hs *hosts) runDrainHost(tx *store.Tx, hostID string) error {
	old, err := hs.mustHost(tx, hostID)
	if err != nil || old.Draining {
		return err
	}
	h := *old
	h.Draining = true
	hs.put(tx, &h)
	hs.record(tx, event.HostDraining, &h, "it takes no new instances; game sessions there are played to their end")
	hs.spareAll(tx, &h, "host "+h.ID+" ("+h.Name+") is being drained")
	hs.whenEmpty(tx, h.ID)
	return nil
}

func (hs *hosts) runResumeHost(tx *store.Tx, hostID string) error {
	old, err := hs.mustHost(tx, hostID)
	switch {
	case err != nil || !old.Draining:
		return err
	case old.Removing:
		return fault.New(fault.Conflict, "host %s is being removed, which cannot be undone; let the machine join anew", hostID)
	}
	h := *old
	h.Draining = false
	hs.put(tx, &h)
	hs.record(tx, event.HostResumed, &h, "it takes instances again")
	return nil
}

// HostRemoval says which host to remove.
type HostRemoval struct {
	HostID string
	Now    bool // without waiting for its game servers to end
}

func (hs *hosts) runRemoveHost(tx *store.Tx, a HostRemoval) (bool, error) {
	old, err := hs.mustHost(tx, a.HostID)
	if err != nil {
		return false, err
	}
	if !old.Removing {
		h := *old
		h.Draining, h.Removing = true, true
		hs.put(tx, &h)
		hs.record(tx, event.HostRemoving, &h, "its instances end")
		hs.evict(tx, &h)
	}
	if a.Now {
		hs.lose(tx, old, "host "+old.ID+" ("+old.Name+") was removed")
		if h := hs.rows.Get(tx, a.HostID); h != nil {
			hs.leave(tx, h)
		}
		return true, nil
	}
	hs.whenEmpty(tx, a.HostID)
	return hs.rows.Get(tx, a.HostID) == nil, nil
}

// evict drains all instances of a host by force, within StopGrace.
func (hs *hosts) evict(tx *store.Tx, h *Host) {
	for old := range hs.instances.onHost.Equal(tx, h.ID) {
		if old.Gone || old.evicted() {
			continue
		}
		i := *old
		i.Cause = "host " + h.ID + " (" + h.Name + ") is being removed"
		i.StopBy = tx.Now().Add(hs.graces.StopGrace)
		hs.instances.stop(tx, &i, Drain, SparesNone)
	}
}

// OnEmptied registers f to be called when the last instance of a host that is being drained
// or removed is gone. f reports whether something else keeps the host; Released says that
// nothing does any more.
func (hs *hosts) OnEmptied(f func(r store.Reader, h *Host) (keeps bool)) {
	hs.onEmptied = append(hs.onEmptied, f)
}

// Released completes the drain or removal of a host that was kept (OnEmptied), unless
// something still runs there.
func (hs *hosts) Released(tx *store.Tx, hostID string) { hs.whenEmpty(tx, hostID) }

// whenEmpty completes the drain or removal of a host once its last instance is gone and
// nothing else keeps it.
func (hs *hosts) whenEmpty(tx *store.Tx, hostID string) {
	h := hs.rows.Get(tx, hostID)
	if h == nil || !h.Draining {
		return
	}
	for i := range hs.instances.onHost.Equal(tx, hostID) {
		if !i.Gone {
			return
		}
	}
	for _, keeps := range hs.onEmptied {
		if keeps(tx, h) {
			return
		}
	}
	hs.leave(tx, h)
}

// leave completes the drain or removal of a host without instances: a host that is being
// removed is deleted; for a drained one, an event is recorded.
func (hs *hosts) leave(tx *store.Tx, h *Host) {
	if !h.Removing {
		hs.record(tx, event.HostDrained, h, "none of its instances is left; it can be removed")
		return
	}
	for i := range hs.instances.onHost.Equal(tx, h.ID) { // failed ones, kept so that their fleets avoid the host
		hs.instances.rows.Delete(tx, i.ID)
	}
	for r := range hs.removed.All(tx) { // few: expired ones are deleted here
		if tx.Now().Sub(r.Removed) >= removedFor {
			hs.removed.Delete(tx, r.ID)
		}
	}
	hs.removed.Put(tx, &removedHost{ID: h.ID, SecretHash: h.SecretHash, Removed: tx.Now()})
	hs.rows.Delete(tx, h.ID)
	hs.record(tx, event.HostRemoved, h, "its credential is refused from now on")
	hs.instances.assign(tx, h.ID)
	tx.OnCommit(hs.replan)
}
