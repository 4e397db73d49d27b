package compute

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ExitReport tells how a process on an instance ended.
type ExitReport struct {
	HostID, InstanceID, ProcessID string
	Known                         bool // false: it ended while nobody watched
	Code                          int  // exit code; -1 where a signal ended it
	Signal                        string
	OOM                           bool       // its memory limit ended it
	Reason                        event.Code // why it was made to end; "" where nobody did
	Cause                         string     // a sentence: how and, where it can be seen, why
	Tail                          []string   // the last lines on its standard error
	Lived                         time.Duration
}

// Evidence is what is known of an ended process, to file its logs by.
type Evidence struct {
	Ref           Ref
	LogPaths      []string
	GameSessionID string
	Known         bool // the process had connected
}

// ProcessExited takes the report of an end. A process that had not called
// ProcessEnding, nor was told to end, has crashed. Saying it again changes
// nothing. Errors: NotFound (host).
func (s *Service) ProcessExited(ctx context.Context, in ExitReport) (Evidence, error) {
	return s.cmd.exited.Do(ctx, in)
}

func (s *Service) runExited(tx *store.Tx, in ExitReport) (Evidence, error) {
	if s.t.hosts.Get(tx, in.HostID) == nil {
		return Evidence{}, fault.Missing("host %s does not exist", in.HostID)
	}
	ref, ok := s.refOn(tx, in)
	if !ok {
		return Evidence{}, nil
	}
	key := ref.Key()
	p, l := s.t.processes.Get(tx, key), s.t.launches.Get(tx, key)
	seen := Evidence{Ref: ref}
	if p != nil {
		seen.LogPaths, seen.GameSessionID, seen.Known = p.LogPaths, p.GameSessionID, true
	}
	switch {
	case p != nil && p.Status != Terminated:
		d := diagnose(in, p.Status, s.opts.InitTimeout)
		s.finish(tx, p, d.Code, d.Text)
	case p == nil && (l == nil || l.Ended.IsZero()):
		d := diagnose(in, "", s.opts.InitTimeout)
		s.recordLaunch(tx, ref, d.Code, d.Text)
		s.endLaunch(tx, key, l)
	}
	return seen, nil
}

// refOn names the process of a report. The instance may be gone already.
func (s *Service) refOn(r store.Reader, in ExitReport) (Ref, bool) {
	i := s.t.instances.Get(r, in.InstanceID)
	if i == nil || i.HostID != in.HostID {
		return Ref{}, false
	}
	return Ref{i.FleetID, i.ID, in.ProcessID}, true
}
