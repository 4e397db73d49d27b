package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/store"
)

// HostReport is what is on a host now. It is sent when something has changed.
type HostReport struct {
	HostID    string
	First     bool // since its agent connected: processes that it does not list have ended
	DiskFull  bool
	Instances []InstanceReport
}

// InstanceReport is the state of one instance on its host.
type InstanceReport struct {
	InstanceID string
	Phase      Phase
	Code       event.Code // what is wrong, or ""
	Cause      string
	Processes  []ProcessReport // those that run
}

// ProcessReport is a process that runs on an instance.
type ProcessReport struct {
	ID        string
	Entry     int // index in the runtime configuration's processes
	PID, Port int
	Started   time.Time
}

// ReportHost records what a host reports of its instances. Errors: NotFound.
func (s *Service) ReportHost(ctx context.Context, in HostReport) error {
	_, err := s.cmd.report.Do(ctx, in)
	return err
}

func (s *Service) runReport(tx *store.Tx, in HostReport) (struct{}, error) {
	h := s.t.hosts.Get(tx, in.HostID)
	if h == nil {
		return struct{}{}, fault.Missing("host %s does not exist", in.HostID)
	}
	if h.DiskFull != in.DiskFull {
		full := *h
		full.DiskFull = in.DiskFull
		s.putHost(tx, &full)
		s.markImpaired(tx, &full)
	}
	for _, report := range in.Instances {
		i := s.t.instances.Get(tx, report.InstanceID)
		if i == nil || i.HostID != h.ID || i.Gone {
			continue // the next Assign tells the host to stop it
		}
		report.Code, report.Cause = event.Code(plain.Line(string(report.Code))), bounded(plain.Text(report.Cause))
		s.reportProcesses(tx, i, report.Processes, in.First)
		s.reportInstance(tx, i, report)
	}
	if in.First {
		s.missing(tx, h, in.Instances)
	}
	return struct{}{}, nil
}

// missing ends what ran on instances that a host no longer has after coming back.
func (s *Service) missing(tx *store.Tx, h *Host, reported []InstanceReport) {
	for i := range s.t.onHost.Equal(tx, h.ID) {
		at := slices.IndexFunc(reported, func(r InstanceReport) bool { return r.InstanceID == i.ID })
		if at >= 0 || i.Gone {
			continue
		}
		s.reportProcesses(tx, i, nil, true)
		if i.Stop != Keep {
			s.gone(tx, i, event.ProcessEnded, "the host has ended the instance")
		}
	}
}

func (s *Service) reportInstance(tx *store.Tx, old *Instance, report InstanceReport) {
	switch report.Phase {
	case PhaseGone:
		s.gone(tx, old, event.ServerProcessCrashed, "the host has ended the instance")
		return
	case PhaseFailed:
		if old.Stop == Keep {
			s.fail(tx, old, report.Code, report.Cause)
		}
		return
	}
	if old.Phase == report.Phase && old.Code == report.Code {
		return
	}
	i := *old
	i.Phase, i.Code, i.Cause = report.Phase, report.Code, report.Cause
	if i.Phase == Activating && i.Status == Pending && i.ReadyBy.IsZero() {
		i.ReadyBy = tx.Now().Add(s.opts.InstanceTimeout)
	}
	s.putInstance(tx, &i)
	if i.Stop != Keep {
		return
	}
	s.fleets.Advance(tx, i.FleetID, i.Location, fleet.Status(report.Phase))
	if report.Code != "" && report.Code != old.Code {
		s.trouble(tx, &i)
	}
}

// trouble records that the processes of an instance do not stay alive, as its host
// reports. A location that has never been ACTIVE does not become so.
func (s *Service) trouble(tx *store.Tx, i *Instance) {
	code := i.Code
	if f := s.fleets.Get(tx, i.FleetID); f != nil {
		if l := f.Place(i.Location); l != nil && l.Status.Starting() {
			code = event.FleetActivationFailed
		}
	}
	s.fleets.Fail(tx, i.FleetID, i.Location, code, fmt.Sprintf("Instance %s: %s", i.ID, i.Cause))
}

// fail ends an instance that its host cannot run. The first failure takes a location
// that has never been ACTIVE to ERROR; later instances are created elsewhere, or on
// the same host after a while.
func (s *Service) fail(tx *store.Tx, old *Instance, code event.Code, cause string) {
	if code == "" {
		code = event.FleetActivationFailed
	}
	i := *old
	i.Phase, i.Code, i.Cause, i.Failed = PhaseFailed, code, cause, true
	i.KeepBy = tx.Now().Add(s.opts.FailurePause)
	s.stopInstance(tx, &i, End, true)
	text := fmt.Sprintf("Instance %s: %s", i.ID, cause)
	for other := range s.Instances(tx, i.FleetID, i.Location) {
		if other.ID != i.ID && other.Stop == Keep { // this one may succeed
			s.events.Append(tx, event.Event{Code: code, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID, Message: text})
			return
		}
	}
	s.fleets.Fail(tx, i.FleetID, i.Location, code, text)
}

// stopInstance begins the end of an instance; with forced, also of protected game sessions.
func (s *Service) stopInstance(tx *store.Tx, i *Instance, how Stop, forced bool) {
	if i.Status != Terminating {
		i.move(Terminating)
	}
	i.Stop, i.Forced, i.ReadyBy = how, i.Forced || forced, time.Time{}
	if how == End {
		i.StopBy = tx.Now().Add(s.graces.UnhealthyGrace)
	}
	s.putInstance(tx, i)
	s.assign(tx, i.HostID)
	s.events.Append(tx, event.Event{
		Code: event.InstanceDraining, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID, Message: i.Cause,
	})
}

func (s *Service) putInstance(tx *store.Tx, i *Instance) {
	s.t.instances.Put(tx, i)
	tx.OnCommit(s.capacity.Nudge)
}

// gone removes an instance of which nothing is left: what still counts as running there
// has ended. One that failed is kept, without its capacity, for as long as its fleet
// avoids the host.
func (s *Service) gone(tx *store.Tx, old *Instance, why event.Code, text string) {
	i := *old
	for p := range s.computes.On(tx, i.FleetID, i.ID) {
		cause := why
		if p.Status == compute.Terminating {
			cause = event.ProcessEnded
		}
		s.computes.Kill(tx, p.Key, cause, text)
	}
	s.dropLaunches(tx, &i)
	s.computes.DropInstance(tx, i.FleetID, i.ID)
	i.move(Terminated)
	i.Gone = true
	i.CPUMillis, i.MemoryMiB, i.PortFrom, i.PortTo = 0, 0, 0, 0
	i.StopBy, i.ReadyBy = time.Time{}, time.Time{}
	if i.Failed && tx.Now().Before(i.KeepBy) {
		s.t.instances.Put(tx, &i)
	} else {
		s.t.instances.Delete(tx, i.ID)
	}
	s.events.Append(tx, event.Event{Code: event.InstanceGone, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID, Message: text})
	s.assign(tx, i.HostID)
	s.whenEmpty(tx, i.HostID)
	tx.OnCommit(s.capacity.Nudge)
	tx.OnCommit(s.computes.Nudge) // a fleet that is being deleted may have waited for it
}

// Ready makes the instance ACTIVE, and its location, when a process on it is ready
// (compute.Hosting).
func (s *Service) Ready(tx *store.Tx, p *compute.Process) {
	old := s.t.instances.Get(tx, p.ComputeName)
	if old == nil || old.FleetID != p.FleetID || old.Status != Pending {
		return
	}
	i := *old
	i.move(Active)
	i.ReadyBy = time.Time{}
	s.putInstance(tx, &i)
	s.events.Append(tx, event.Event{Code: event.InstanceActive, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID})
	s.fleets.Advance(tx, i.FleetID, i.Location, fleet.Active)
}
