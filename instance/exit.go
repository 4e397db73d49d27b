package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ExitReport says how a process on an instance ended.
type ExitReport struct {
	HostID, InstanceID, ProcessID string

	Group         string // name of the container group that the process was of, or ""
	Known         bool   // false: no agent was watching when it ended
	Code          int    // exit code; -1 if a signal ended it
	Signal        string
	OOM           bool       // it exceeded its memory limit
	Reason        event.Code // why it was ended; "" if it ended by itself
	Cause         string     // a sentence: how and, if known, why
	Tail          []string   // its last lines on standard error
	Lived         time.Duration
	ProcessEnding bool // it had called ProcessEnding, which Muster may not have received
}

// Evidence is what is known of an ended process; its logs are filed by it.
type Evidence struct {
	Ref           compute.Ref
	LogPaths      []string
	GameSessionID string
	Unlogged      bool // its fleet keeps no logs
}

func (rs *reports) runExited(tx *store.Tx, in ExitReport) (Evidence, error) {
	if rs.hosts.rows.Get(tx, in.HostID) == nil {
		return Evidence{}, fault.Missing("host %s does not exist", in.HostID)
	}
	ref, ok := rs.refOn(tx, in)
	if !ok {
		return Evidence{}, nil
	}
	key := ref.Key()
	p, l := rs.Computes.Process(tx, key), rs.launches.rows.Get(tx, key)
	seen := Evidence{Ref: ref}
	if f := rs.Fleets.Get(tx, ref.FleetID); f != nil {
		seen.Unlogged = !f.KeepsLogs()
	}
	if p != nil {
		seen.LogPaths, seen.GameSessionID = p.LogPaths, p.GameSessionID
	}
	switch {
	case p != nil && p.Status != compute.Terminated:
		code, text := diagnose(in, p.Status, rs.opts.InitTimeout)
		rs.Computes.Kill(tx, p.Key, code, text)
	case p == nil && (l == nil || l.Ended.IsZero()):
		if l != nil && in.Reason == "" { // an agent that began to end it may have been replaced
			in.Reason = l.Why
		}
		code, text := diagnose(in, "", rs.opts.InitTimeout)
		rs.launches.record(tx, Unconnected{Ref: ref, Code: code, How: text, Lived: in.Lived})
		rs.launches.end(tx, key, l)
		rs.instances.groupEnded(tx, ref, code, text)
	}
	return seen, nil
}

// refOn returns the Ref of a reported process. ok is false if the instance is gone.
func (rs *reports) refOn(r store.Reader, in ExitReport) (compute.Ref, bool) {
	i := rs.instances.rows.Get(r, in.InstanceID)
	if i == nil || i.HostID != in.HostID {
		return compute.Ref{}, false
	}
	return compute.Ref{FleetID: i.FleetID, ComputeName: i.computeName(in.Group), ProcessID: in.ProcessID}, true
}
