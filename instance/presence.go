package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// liveRetry is how often a host that is due to be given up is checked again while its
// game servers are still connected.
const liveRetry = 30 * time.Second

// HostPresence is a connected host, with what it offers now.
type HostPresence struct {
	HostID string
	Info   HostInfo

	Unsupported string // why the agent is not supported with this release of Muster; "": it is
}

func (hs *hosts) runHostConnected(tx *store.Tx, a HostPresence) error {
	old := hs.rows.Get(tx, a.HostID)
	if old == nil {
		return fault.Missing("host %s does not exist", a.HostID)
	}
	if err := a.Info.check(); err != nil {
		return err
	}
	h := *old
	h.describe(a.Info)
	h.Connected, h.Since = true, tx.Now()
	h.Away, h.Left, h.ImpairAt, h.LostBy = false, time.Time{}, time.Time{}, time.Time{}
	hs.put(tx, &h)
	hs.markImpaired(tx, &h)
	hs.record(tx, event.HostConnected, &h, a.Unsupported)
	for i := range hs.instances.onHost.Equal(tx, h.ID) {
		hs.instances.locate(tx, i, &h)
	}
	if h.Removing && h.InstanceID() != old.InstanceID() { // what kept it was on the instance that it no longer is
		hs.whenEmpty(tx, h.ID)
	}
	return nil
}

func (hs *hosts) runHostLost(tx *store.Tx, hostID string) error {
	if h := hs.rows.Get(tx, hostID); h != nil && h.Connected {
		hs.away(tx, h, hs.opts.HostGrace)
		hs.record(tx, event.HostDisconnected, h, "")
	}
	return nil
}

func (hs *hosts) away(tx *store.Tx, old *Host, grace time.Duration) {
	h := *old
	if h.Connected {
		h.Left, h.ImpairAt = tx.Now(), tx.Now().Add(hs.opts.ImpairGrace)
	}
	h.Connected, h.LostBy = false, tx.Now().Add(grace)
	hs.put(tx, &h)
}

// markImpaired copies to a host's processes whether they are impaired: they get no new game
// sessions.
func (hs *hosts) markImpaired(tx *store.Tx, h *Host) {
	for i := range hs.instances.onHost.Equal(tx, h.ID) {
		hs.markImpairedOn(tx, h, i)
	}
}

func (hs *hosts) markImpairedOn(tx *store.Tx, h *Host, i *Instance) {
	for old := range hs.Computes.OfInstance(tx, i.FleetID, i.ID) {
		hs.Computes.Impair(tx, old, h.impairs(i, old.Ref()))
	}
}

// Restarted grants every host a grace period to come back after a restart of Muster
// (compute.Hosting).
func (hs *hosts) Restarted(tx *store.Tx) {
	for h := range hs.rows.All(tx) {
		if h.Connected || !h.LostBy.IsZero() {
			hs.away(tx, h, hs.graces.RestartGrace)
		}
	}
}

// overdue excludes a host whose agent is away from placement, and later abandons it
// unless game servers there are connected: then only its agent is gone.
func (hs *hosts) overdue(tx *store.Tx, old *Host) {
	h := *old
	if h.free(tx.Now()); len(h.Taken) != len(old.Taken) {
		hs.put(tx, &h)
	}
	if wake.Passed(h.ImpairAt, tx.Now()) {
		h.Away, h.ImpairAt = true, time.Time{}
		hs.rows.Put(tx, &h)
		hs.markImpaired(tx, &h)
		hs.record(tx, event.HostImpaired, &h, "its agent is away; it is given no new game sessions until the agent is back")
	}
	if !wake.Passed(h.LostBy, tx.Now()) {
		return
	}
	if hs.anyConnected(tx, h.ID) {
		h.LostBy = tx.Now().Add(liveRetry)
		hs.rows.Put(tx, &h)
		if tx.Now().Sub(h.Left) >= hs.opts.LeaveGrace {
			hs.spareAll(tx, &h, "the agent of host "+h.ID+" ("+h.Name+") stays away")
		}
		return
	}
	h.Away, h.ImpairAt, h.LostBy = true, time.Time{}, time.Time{}
	hs.rows.Put(tx, &h)
	hs.record(tx, event.HostLost, &h, "the agent did not come back, and no game server there is connected")
	hs.lose(tx, &h, "host "+h.ID+" ("+h.Name+") was lost")
}

// spareAll has the instances of a host replaced; game sessions there are played to
// their end.
func (hs *hosts) spareAll(tx *store.Tx, h *Host, cause string) {
	for old := range hs.instances.onHost.Equal(tx, h.ID) {
		if old.Gone || old.Stop != Keep {
			continue
		}
		i := *old
		i.Cause = cause
		hs.instances.stop(tx, &i, Drain, SparesAll)
	}
}

// lose ends all instances of a host immediately; the next plan replaces those
// that are still desired.
func (hs *hosts) lose(tx *store.Tx, h *Host, text string) {
	for i := range hs.instances.onHost.Equal(tx, h.ID) {
		if !i.Gone {
			hs.instances.record(tx, event.InstanceReplaced, i, "Instance "+i.ID+" is replaced: "+text)
			hs.gone(tx, i, event.ServerProcessCrashed, text)
		}
		hs.instances.rows.Delete(tx, i.ID)
	}
}

func (hs *hosts) anyConnected(r store.Reader, hostID string) bool {
	for i := range hs.instances.onHost.Equal(r, hostID) {
		for p := range hs.Computes.OfInstance(r, i.FleetID, i.ID) {
			if p.Connected {
				return true
			}
		}
	}
	return false
}

// gone removes an instance of which nothing is left, and ends the processes that still
// count as running there. The row of a failed instance is kept, without its capacity, for
// as long as its fleet avoids the host.
func (hs *hosts) gone(tx *store.Tx, old *Instance, why event.Code, text string) {
	i := *old
	for p := range hs.Computes.OfInstance(tx, i.FleetID, i.ID) {
		cause := why
		if p.Status == compute.Terminating {
			cause = event.ProcessEnded
		}
		hs.Computes.Kill(tx, p.Key, cause, text)
	}
	hs.launches.drop(tx, &i)
	for _, name := range i.computeNames() {
		hs.Computes.DropInstance(tx, i.FleetID, name)
	}
	i.move(Terminated)
	i.Gone = true
	i.CPUMillis, i.MemoryMiB, i.PortFrom, i.PortTo = 0, 0, 0, 0
	i.StopBy, i.ReadyBy = time.Time{}, time.Time{}
	if i.Failed && tx.Now().Before(i.KeepBy) {
		hs.instances.rows.Put(tx, &i)
	} else {
		hs.instances.rows.Delete(tx, i.ID)
	}
	hs.instances.record(tx, event.InstanceGone, &i, text)
	hs.instances.assign(tx, i.HostID)
	hs.whenEmpty(tx, i.HostID)
	tx.OnCommit(hs.replan)
	tx.OnCommit(hs.Computes.Nudge) // a fleet that is being deleted may have waited for it
}
