package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// drains reports whether drainAll would change anything.
func (s *Service) drains(r store.Reader) bool {
	for i := range s.t.draining.Equal(r, "") {
		if i.StopBy.IsZero() && !s.spares(r, i) {
			return true
		}
		for p := range s.computes.On(r, i.FleetID, i.ID) {
			if s.mayStop(r, i, p) {
				return true
			}
		}
		for l := range s.t.launchesOn.Equal(r, i.key()) {
			if l.Why == "" {
				return true
			}
		}
	}
	return false
}

// drainAll tells the processes of draining instances to end, except those whose game
// session is protected, and has those killed that have not connected yet. An instance
// that no protected game session keeps any more gets a deadline.
func (s *Service) drainAll(tx *store.Tx) {
	for i := range s.t.draining.Equal(tx, "") {
		for p := range s.computes.On(tx, i.FleetID, i.ID) {
			if s.mayStop(tx, i, p) {
				s.computes.Terminate(tx, p.Key, event.InstanceDraining, "its instance is removed: "+i.Cause)
			}
		}
		for l := range s.t.launchesOn.Equal(tx, i.key()) {
			if l.Why == "" { // its connection would be refused, and it would retry for minutes
				s.killLaunch(tx, l, event.InstanceDraining)
			}
		}
		if i.StopBy.IsZero() && !s.spares(tx, i) {
			bounded := *i
			bounded.StopBy = tx.Now().Add(s.graces.StopGrace)
			s.putInstance(tx, &bounded)
			s.assign(tx, i.HostID)
		}
	}
}

func (s *Service) mayStop(r store.Reader, i *Instance, p *compute.Process) bool {
	return p.Status != compute.Terminating && (i.Forced || !s.protects(r, i, p))
}

// spares reports whether a game session keeps the instance.
func (s *Service) spares(r store.Reader, i *Instance) bool {
	if i.Forced {
		return false
	}
	for p := range s.computes.On(r, i.FleetID, i.ID) {
		if p.Status != compute.Terminating && s.protects(r, i, p) {
			return true
		}
	}
	return false
}

// protects reports whether the process's game session must not be ended with its
// instance.
func (s *Service) protects(r store.Reader, i *Instance, p *compute.Process) bool {
	switch {
	case p.GameSessionID == "":
		return false
	case i.Spare:
		return true
	}
	_, protected := s.players(r, p.GameSessionID)
	return protected
}

// forceOut drains the instances of a fleet, or of one of its locations ("" means all),
// that is being deleted; no game session is spared. It reports whether any is left.
func (s *Service) Clear(tx *store.Tx, fleetID, location string) (left bool) {
	for old := range s.Instances(tx, fleetID, location) {
		left = true
		if old.Stop != Keep && old.Forced {
			continue
		}
		i := *old
		i.Cause = "the fleet or the location is being deleted"
		i.StopBy = tx.Now().Add(s.graces.StopGrace)
		s.stopInstance(tx, &i, Drain, true)
	}
	return left
}

// atOnce limits how many overdue launches one transaction handles.
const atOnce = 500

// nextHostDue returns the earliest deadline of hosts, instances and launches.
func (s *Service) nextHostDue(r store.Reader) time.Time {
	var first time.Time
	sooner := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, h := range s.t.hostDue.Prefix(r, "") {
		sooner(h.due())
		break
	}
	for _, i := range s.t.instanceDue.Prefix(r, "") {
		sooner(i.due())
		break
	}
	for _, l := range s.t.launchDue.Prefix(r, "") {
		sooner(l.due())
		break
	}
	return first
}

// sweepHosts handles the passed deadlines of hosts, instances and launches.
func (s *Service) sweepHosts(tx *store.Tx) {
	for _, h := range s.t.hostDue.Prefix(tx, "") {
		if h.due().After(tx.Now()) {
			break
		}
		s.overdueHost(tx, h)
	}
	for _, i := range s.t.instanceDue.Prefix(tx, "") {
		if i.due().After(tx.Now()) {
			break
		}
		s.overdueInstance(tx, i)
	}
	n := 0
	for _, l := range s.t.launchDue.Prefix(tx, "") {
		if l.due().After(tx.Now()) || n == atOnce {
			break
		}
		s.overdueLaunch(tx, l)
		n++
	}
}

func (s *Service) overdueInstance(tx *store.Tx, i *Instance) {
	passed := func(t time.Time) bool { return !t.IsZero() && !t.After(tx.Now()) }
	switch {
	case i.Gone:
		s.t.instances.Delete(tx, i.ID)
	case passed(i.StopBy):
		s.gone(tx, i, event.ServerProcessForceTerminated, "the instance did not end in time")
	case passed(i.ReadyBy):
		s.fail(tx, i, event.FleetValidationTimedOut,
			"no game server process called ProcessReady within "+s.opts.InstanceTimeout.String()+" after the build was installed")
	case passed(i.KeepBy):
		kept := *i
		kept.KeepBy = time.Time{}
		s.putInstance(tx, &kept)
	}
}
