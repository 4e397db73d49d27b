package instance

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// reportProcesses keeps a row for each process that runs and has not connected yet.
// If complete is set, what is not listed has ended.
func (s *Service) reportProcesses(tx *store.Tx, i *Instance, listed []ProcessReport, complete bool) {
	runs := map[string]bool{}
	for _, r := range listed {
		key := compute.Ref{FleetID: i.FleetID, ComputeName: i.ID, ProcessID: r.ID}.Key()
		runs[key] = true
		if s.computes.Process(tx, key) == nil && s.t.launches.Get(tx, key) == nil {
			started := r.Started
			if started.IsZero() || started.After(tx.Now()) {
				started = tx.Now()
			}
			l := &launch{Key: key, Started: started, PID: r.PID, InitBy: started.Add(s.opts.InitTimeout)}
			if i.Status == Pending && !i.Hinted { // no program has ever connected there
				l.HintAt = started.Add(min(compute.InitHint, s.opts.InitTimeout))
			}
			s.putLaunch(tx, l)
		}
	}
	if !complete {
		return
	}
	for p := range s.computes.On(tx, i.FleetID, i.ID) {
		if !runs[p.Key] {
			s.computes.Kill(tx, p.Key, event.ServerProcessCrashed, "its host does not run it any more")
		}
	}
	for l := range s.t.launchesOn.Equal(tx, i.key()) {
		if !runs[l.Key] {
			s.endLaunch(tx, l.Key, l)
		}
	}
}

func (s *Service) putLaunch(tx *store.Tx, l *launch) {
	s.t.launches.Put(tx, l)
	tx.OnCommit(s.capacity.Nudge)
}

// endLaunch records the end of a process that had not connected, so that a repeated
// report is recognized. old is its row, or nil.
func (s *Service) endLaunch(tx *store.Tx, key string, old *launch) {
	l := launch{Key: key, Started: tx.Now()}
	if old != nil {
		l = *old
	}
	l.Ended = tx.Now()
	s.putLaunch(tx, &l)
}

func (s *Service) dropLaunches(tx *store.Tx, i *Instance) {
	for l := range s.t.launchesOn.Equal(tx, i.key()) {
		s.endLaunch(tx, l.Key, l)
	}
}

// overdueLaunch ends a process that never connected; its host's report of the exit
// then says how it ended. If the host sends none within the grace, only the bare fact
// is recorded.
func (s *Service) overdueLaunch(tx *store.Tx, old *launch) {
	ref := compute.ParseRef(old.Key)
	switch {
	case !old.Ended.IsZero():
		s.t.launches.Delete(tx, old.Key)
		return
	case !old.HintAt.IsZero():
		s.hint(tx, old)
		return
	case old.Why != "":
		text := "the process had not called InitSDK when its instance was removed"
		if old.Why == event.ServerProcessSDKInitTimeout {
			text = neverConnected(s.opts.InitTimeout)
		}
		s.recordLaunch(tx, ref, old.Why, text+"; its host has not confirmed its end")
		s.endLaunch(tx, old.Key, old)
		return
	}
	s.killLaunch(tx, old, event.ServerProcessSDKInitTimeout)
}

// killLaunch makes the host of a process that has not connected end it.
func (s *Service) killLaunch(tx *store.Tx, old *launch, why event.Code) {
	l := *old
	l.Why, l.InitBy = why, tx.Now().Add(s.graces.UnhealthyGrace)
	s.putLaunch(tx, &l)
	tx.OnCommit(func() { s.endOnHost(compute.ParseRef(l.Key), why) })
}

// hint records an event about a program that does not connect, once per instance.
func (s *Service) hint(tx *store.Tx, old *launch) {
	l := *old
	l.HintAt = time.Time{}
	s.putLaunch(tx, &l)
	ref := compute.ParseRef(l.Key)
	i := s.t.instances.Get(tx, ref.ComputeName)
	if i == nil || i.Hinted || i.Status != Pending {
		return
	}
	told := *i
	told.Hinted = true
	s.putInstance(tx, &told)
	s.computes.RecordUninitialized(tx, ref)
}

func (s *Service) recordLaunch(tx *store.Tx, ref compute.Ref, code event.Code, text string) {
	e := event.Event{Code: code, FleetID: ref.FleetID, ComputeName: ref.ComputeName, ProcessID: ref.ProcessID, Message: text}
	if i := s.t.instances.Get(tx, ref.ComputeName); i != nil {
		e.Location = i.Location
	}
	s.events.Append(tx, e)
}

func neverConnected(after fmt.Stringer) string {
	return fmt.Sprintf("the process started but did not call InitSDK within %s", after)
}
