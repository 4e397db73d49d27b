package instance

import (
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// drains reports whether drainAll would change anything.
func (pl *planner) drains(r store.Reader) bool {
	for i := range pl.instances.draining.Equal(r, "") {
		if i.StopBy.IsZero() && !pl.instances.keeps(r, i) {
			return true
		}
		for p := range pl.computes.On(r, i.FleetID, i.ID) {
			if pl.instances.mayStop(r, i, p) {
				return true
			}
		}
		for l := range pl.launches.on.Equal(r, i.key()) {
			if l.Why == "" {
				return true
			}
		}
	}
	return false
}

// drainAll orders the processes of draining instances to end, except those whose game
// session is protected, and kills those that have not connected yet. An instance that no
// protected game session keeps any longer gets a deadline.
func (pl *planner) drainAll(tx *store.Tx) {
	for i := range pl.instances.draining.Equal(tx, "") {
		for p := range pl.computes.On(tx, i.FleetID, i.ID) {
			if pl.instances.mayStop(tx, i, p) {
				pl.computes.Terminate(tx, p.Key, event.InstanceDraining, "its instance is removed: "+i.Cause)
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

// nextDue returns the earliest deadline of hosts, instances and launches.
func (pl *planner) nextDue(r store.Reader) time.Time {
	return wake.Earliest(pl.hosts.due.NextDue(r), pl.instances.due.NextDue(r), pl.launches.due.NextDue(r))
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
	passed := func(t time.Time) bool { return !t.IsZero() && !t.After(tx.Now()) }
	switch {
	case i.Gone:
		pl.instances.rows.Delete(tx, i.ID)
	case passed(i.StopBy):
		pl.hosts.gone(tx, i, event.ServerProcessForceTerminated, "the instance did not end in time")
	case passed(i.ReadyBy):
		pl.instances.fail(tx, i, event.FleetValidationTimedOut,
			"no game server process called ProcessReady within "+pl.opts.InstanceTimeout.String()+" after the build was installed")
	case passed(i.KeepBy):
		kept := *i
		kept.KeepBy = time.Time{}
		pl.instances.put(tx, &kept)
	}
}
