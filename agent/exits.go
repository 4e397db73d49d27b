package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
)

// restart returns when a slot is filled again: immediately after a clean end.
func (i *instance) restart() supervise.Restart {
	return supervise.Restart{Base: time.Second}
}

// exited reports how a process ended.
func (i *instance) exited(s *slot, r supervise.Run, e supervise.Exit) {
	i.mu.Lock()
	port, why := s.port, i.reasons[r.ID]
	delete(i.reasons, r.ID)
	i.mu.Unlock()
	i.freePort(s)
	oom := i.leaveJail(r.ID)
	i.lastMetrics(r)
	if i.a.relay != nil {
		i.a.relay.Forget(r.ID)
	}
	cause := diagnose.Exit(diagnose.End{
		Known: e.Known, Code: e.Code, Signal: e.Signal, Lived: e.Lived, Tail: e.Tail, OOM: oom, LimitMiB: i.wished().MemoryMiB, Port: port, Asked: why.text,
	})
	i.lastWord(r, cause)
	i.say(protocol.Exited{
		ProcessID: r.ID, Known: e.Known, Code: e.Code, Signal: e.Signal, OOM: oom, Reason: why.code, Cause: cause,
		Tail: e.Tail, Lived: e.Lived,
	})
	if i.own != nil {
		i.own.ended(r.ID, e)
	}
	nudge(i.look)
}

// failed reports that a process could not be started.
func (i *instance) failed(s *slot, id string, err error) {
	i.freePort(s)
	i.leaveJail(id)
	if i.a.relay != nil {
		i.a.relay.Forget(id)
	}
	reason, cause := codeCrashed, "could not be started: "+err.Error()
	path, _ := i.programOf(s.spec)
	var found *diagnose.Problem
	if errors.As(diagnose.Program(path, s.spec.LaunchPath), &found) {
		cause = "could not be started: " + found.Text
		if found.Missing {
			reason = codeNoFile
		}
	}
	i.say(protocol.Exited{ProcessID: id, Code: -1, Reason: reason, Cause: cause})
}

// crashLoops reports that the processes of an entry crash repeatedly.
func (i *instance) crashLoops(s *slot, crashes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.looping[s.entry] = fmt.Sprintf("%s crashed %d times in a row; it is started again every few minutes to see whether it works", s.spec.LaunchPath, crashes)
	i.tellLoops()
}

// say stores a report and has it sent.
func (i *instance) say(e protocol.Exited) {
	e.InstanceID, e.FleetID = i.id, i.wished().FleetID
	i.log.Info("process ended", "process_id", e.ProcessID, "cause", e.Cause, "reason", e.Reason)
	if i.own == nil {
		if err := i.a.reports.add(fits(e)); err != nil {
			i.log.Error("the end of a process is not kept on disk", "error", err)
		}
	}
	nudge(i.a.exited)
	nudge(i.a.changed)
}
