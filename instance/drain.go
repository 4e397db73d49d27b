package instance

import (
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// drainAll orders the processes of draining instances to end, except those whose game
// session is protected, and kills those that have not connected yet. An instance that no
// protected game session keeps any longer gets a deadline.
func (pl *planner) drainAll(tx *store.Tx) {
	for i := range pl.instances.draining.Equal(tx, "") {
		for p := range pl.Computes.OfInstance(tx, i.FleetID, i.ID) {
			if pl.instances.mayStop(tx, i, p) {
				pl.Computes.Terminate(tx, p.Key, event.InstanceDraining, "its instance is removed: "+i.Cause)
			}
		}
		for l := range pl.launches.on.Equal(tx, i.key()) {
			if l.Why == "" { // its connection would be refused, and it would retry for minutes
				pl.launches.kill(tx, l, event.InstanceDraining)
			}
		}
		if i.StopBy.IsZero() && !pl.instances.keeps(tx, i) {
			bounded := *i
			bounded.StopBy = tx.Now().Add(pl.graces.StopGrace)
			pl.instances.put(tx, &bounded)
			pl.instances.assign(tx, i.HostID)
		}
	}
}

// sweep handles the passed deadlines of hosts, instances and launches.
func (pl *planner) sweep(tx *store.Tx) {
	for h := range pl.hosts.due.Due(tx, tx.Now()) {
		pl.hosts.overdue(tx, h)
	}
	for i := range pl.instances.due.Due(tx, tx.Now()) {
		pl.overdueInstance(tx, i)
	}
	for l := range pl.launches.due.Due(tx, tx.Now()) {
		pl.launches.overdue(tx, l)
	}
}

func (pl *planner) overdueInstance(tx *store.Tx, i *Instance) {
	switch now := tx.Now(); {
	case i.Gone:
		pl.instances.rows.Delete(tx, i.ID)
	case wake.Passed(i.StopBy, now):
		pl.hosts.gone(tx, i, event.ServerProcessForceTerminated, "the instance did not end in time")
	case wake.Passed(i.ReadyBy, now):
		pl.instances.fail(tx, i, event.FleetValidationTimedOut,
			"no game server process called ProcessReady within "+pl.opts.InstanceTimeout.String()+" after the build was installed")
	case wake.Passed(i.KeepBy, now):
		kept := *i
		kept.KeepBy = time.Time{}
		pl.instances.put(tx, &kept)
	case wake.Passed(i.newUntil(), now):
		pl.instances.proveGroups(tx, i)
	}
}
