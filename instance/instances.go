package instance

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// instances holds the instances on the hosts.
type instances struct {
	*shared
	onAssign []func(hostID string)

	rows     *store.Table[Instance]
	onHost   *store.Index[Instance] // by host
	ofFleet  *store.Index[Instance] // by fleet, location, id
	draining *store.Index[Instance]
	due      *store.DueIndex[Instance]
}

func newInstances(sh *shared) *instances {
	is, st := &instances{shared: sh}, sh.st
	sh.starts.changed = is.notify
	is.rows = store.NewTable(st, store.TableSpec[Instance]{Name: "instance", Key: func(i *Instance) string { return i.ID }})
	is.onHost = store.NewIndex(is.rows, "host", func(i *Instance, emit func(string)) { emit(i.HostID) })
	is.ofFleet = store.NewIndex(is.rows, "fleet", func(i *Instance, emit func(string)) { emit(store.Key(i.FleetID, i.Location)) })
	is.draining = store.NewIndex(is.rows, "draining", func(i *Instance, emit func(string)) {
		if i.Stop == Drain && !i.Gone {
			emit("")
		}
	})
	is.due = store.NewDueIndex(is.rows, "due", (*Instance).due)
	sh.Fleets.OnRuntime(is.notifyFleet)
	sh.Sessions.OnUpdated(is.sessionUpdated)
	sh.Computes.OnEnded(is.processEnded)
	return is
}

// Instance returns an instance by id, or nil.
func (is *instances) Instance(r store.Reader, id string) *Instance {
	if i := is.rows.Get(r, id); i != nil && !i.Gone {
		return i
	}
	return nil
}

// Instances returns the instances of a fleet, ordered by id; location "" means all.
func (is *instances) Instances(r store.Reader, fleetID, location string) iter.Seq[*Instance] {
	return is.InstancesAfter(r, fleetID, location, "")
}

// InstancesAfter returns the instances of a fleet after an id, ordered by id; location ""
// means all.
func (is *instances) InstancesAfter(r store.Reader, fleetID, location, id string) iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		places := []string{store.Key(fleetID, location)}
		if location == "" {
			places = is.ofFleet.Groups(r, store.Key(fleetID), 1)
		}
		for i := range is.ofFleet.Across(r, places, "", id) {
			if !i.Gone && !yield(i) {
				return
			}
		}
	}
}

// HostOf returns the host of the instance that a process runs on.
func (is *instances) HostOf(r store.Reader, ref compute.Ref) (hostID string, ok bool) {
	i := is.of(r, ref)
	if i == nil || i.FleetID != ref.FleetID {
		return "", false
	}
	return i.HostID, true
}

// of returns the instance that a process runs on, or nil.
func (is *instances) of(r store.Reader, ref compute.Ref) *Instance {
	id, _ := compute.InstanceOf(ref.ComputeName)
	return is.rows.Get(r, id)
}

// Counts holds the number of instances of a fleet's location, by state.
type Counts struct{ Pending, Active, Idle, Terminating int }

// Counts counts the instances of a fleet's location; "" means all locations. Idle ones
// are ACTIVE without a game session. Pending ones include those that wait for a host.
func (is *instances) Counts(r store.Reader, f *fleet.Fleet, location string) Counts {
	var c Counts
	for i := range is.Instances(r, f.ID, location) {
		switch i.Status {
		case Pending:
			c.Pending++
		case Active:
			c.Active++
			if is.Computes.Hosted(r, i.FleetID, i.ID) == 0 {
				c.Idle++
			}
		case Terminating:
			c.Terminating++
		}
	}
	for _, l := range f.Locations {
		if l.WaitsForHost && (location == "" || l.Location == location) {
			n := 0
			for i := range is.Instances(r, f.ID, l.Location) {
				if i.Stop == Keep {
					n++
				}
			}
			c.Pending += max(0, l.Capacity.Desired-n)
		}
	}
	return c
}

// load returns the numbers of game sessions and players on an instance, and whether any
// of the game sessions is protected.
func (is *instances) load(r store.Reader, i *Instance) (sessions, players int, protected bool) {
	for p := range is.Computes.OfInstance(r, i.FleetID, i.ID) {
		if p.GameSessionID == "" {
			continue
		}
		sessions++
		n, kept := is.players(r, p.GameSessionID)
		players += n
		protected = protected || kept
	}
	return sessions, players, protected
}

// players returns the number of players of a game session, and whether it is protected
// from being ended when its instance is removed.
func (is *instances) players(r store.Reader, gameSessionID string) (players int, protected bool) {
	g := is.Sessions.Live(r, gameSessionID)
	if g == nil || g.Status.Ended() {
		return 0, false
	}
	return is.Sessions.Players.Count(r, g.ID), g.Protection == fleet.FullProtection
}

// sessionUpdated makes the loop plan again if a game session on a draining instance has
// changed: its protection may decide whether the drain waits for it.
func (is *instances) sessionUpdated(tx *store.Tx, g *session.GameSession) {
	if is.drains(tx, compute.ParseRef(g.ProcessKey)) {
		tx.OnCommit(is.replan)
	}
}

// drains reports whether a process is on an instance that is being drained.
func (is *instances) drains(r store.Reader, ref compute.Ref) bool {
	i := is.of(r, ref)
	if i == nil {
		return false
	}
	return i.Stop == Drain || i.draining(ref.ComputeName)
}

// trouble records that the processes of an instance do not stay alive, as its host
// reports. A location that has never been ACTIVE moves to ERROR.
func (is *instances) trouble(tx *store.Tx, i *Instance) {
	code := i.Code
	if f := is.Fleets.Get(tx, i.FleetID); f != nil {
		if l := f.Place(i.Location); l != nil && l.Status.Starting() {
			code = event.FleetActivationFailed
		}
	}
	is.Fleets.Fail(tx, i.FleetID, i.Location, code, fmt.Sprintf("Instance %s: %s", i.ID, i.Cause))
}

// fail ends an instance that its host cannot run. The first failure takes a location
// that has never been ACTIVE to ERROR; later instances are created elsewhere, or on
// the same host after a while.
func (is *instances) fail(tx *store.Tx, old *Instance, code event.Code, cause string) {
	if code == "" {
		code = event.FleetActivationFailed
	}
	i := *old
	i.Phase, i.Code, i.Cause, i.Failed = PhaseFailed, code, cause, true
	i.KeepBy = tx.Now().Add(is.opts.FailurePause)
	is.stop(tx, &i, End, SparesNone)
	text := fmt.Sprintf("Instance %s: %s", i.ID, cause)
	for other := range is.Instances(tx, i.FleetID, i.Location) {
		if other.ID != i.ID && other.Stop == Keep { // this one may succeed
			is.record(tx, code, &i, text)
			return
		}
	}
	is.Fleets.Fail(tx, i.FleetID, i.Location, code, text)
}

// stop begins the end of an instance.
func (is *instances) stop(tx *store.Tx, i *Instance, how Stop, spares Spares) {
	if i.Status != Terminating {
		i.move(Terminating)
	}
	i.Stop, i.ReadyBy = how, time.Time{}
	i.spare(spares)
	if how == End {
		i.StopBy = tx.Now().Add(is.graces.UnhealthyGrace)
	}
	is.put(tx, i)
	is.assign(tx, i.HostID)
	is.record(tx, event.InstanceDraining, i, i.Cause)
	is.starts.end(tx, i, cmp.Or(i.Code, event.InstanceDraining))
}

func (is *instances) put(tx *store.Tx, i *Instance) {
	is.rows.Put(tx, i)
	tx.OnCommit(is.replan)
}

func (is *instances) record(tx *store.Tx, code event.Code, i *Instance, text string) {
	is.Events.Append(tx, event.Event{Code: code, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID, Message: text})
}

// Ready makes a pending instance and its location ACTIVE, because a process on it is
// ready (compute.Hosting).
func (is *instances) Ready(tx *store.Tx, p *compute.Process) {
	old := is.of(tx, p.Ref())
	if old == nil || old.FleetID != p.FleetID {
		return
	}
	i := old.withGroups()
	_, name := compute.InstanceOf(p.ComputeName)
	g := i.Group(name)
	if g != nil {
		is.groupReady(tx, i, g)
	}
	if old.Status == Pending {
		i.move(Active)
		i.ReadyBy = time.Time{}
	} else if g == nil {
		return
	}
	is.put(tx, i)
	if old.Status != Pending {
		return
	}
	is.record(tx, event.InstanceActive, i, "")
	is.starts.end(tx, i, "")
	is.Fleets.Advance(tx, i.FleetID, i.Location, fleet.Active)
}

func (is *instances) mayStop(r store.Reader, i *Instance, p *compute.Process) bool {
	return p.Status != compute.Terminating && !is.protects(r, i, p)
}

// keeps reports whether the instance has a game session that must not be ended with it.
func (is *instances) keeps(r store.Reader, i *Instance) bool {
	for p := range is.Computes.OfInstance(r, i.FleetID, i.ID) {
		if p.Status != compute.Terminating && is.protects(r, i, p) {
			return true
		}
	}
	return false
}

// protects reports whether the process's game session must not be ended with its
// instance.
func (is *instances) protects(r store.Reader, i *Instance, p *compute.Process) bool {
	switch {
	case p.GameSessionID == "" || i.spares() == SparesNone:
		return false
	case i.spares() == SparesAll:
		return true
	}
	_, protected := is.players(r, p.GameSessionID)
	return protected
}

// Clear drains the instances of a fleet, or of one of its locations ("" means all),
// that is being deleted; no game session is spared. It reports whether any is left
// (compute.Hosting).
func (is *instances) Clear(tx *store.Tx, fleetID, location string) (left bool) {
	for old := range is.Instances(tx, fleetID, location) {
		left = true
		if old.evicted() {
			continue
		}
		i := *old
		i.Cause = "the fleet or the location is being deleted"
		i.StopBy = tx.Now().Add(is.graces.StopGrace)
		is.stop(tx, &i, Drain, SparesNone)
	}
	return left
}

// Left reports whether instances of a fleet, or of one of its locations ("" means all),
// are left, and whether Clear would change any of them (compute.Hosting).
func (is *instances) Left(r store.Reader, fleetID, location string) (left, running bool) {
	for i := range is.Instances(r, fleetID, location) {
		if !i.Forced {
			return true, true
		}
		left = true
	}
	return left, false
}
