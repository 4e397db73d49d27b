package hosts

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/internal/store"
)

var errNoHello = errors.New("the agent did not say Hello first")

// hear handles one message of the agent. An error ends the connection; the agent
// reconnects and sends everything again.
func (l *link) hear(ctx context.Context, m protocol.Message) error {
	if m.Hello != nil {
		return l.hello(ctx, *m.Hello)
	}
	if !l.isPresent() {
		return errNoHello
	}
	switch {
	case m.Status != nil:
		return l.status(ctx, *m.Status)
	case m.Exited != nil:
		return l.exited(ctx, *m.Exited)
	case m.LogsStored != nil:
		l.logsStored(*m.LogsStored)
	case m.Tailed != nil:
		l.tailed(*m.Tailed)
	case m.SecretKept != nil:
		return l.secretKept(ctx)
	}
	return nil
}

func (l *link) isPresent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.present
}

func (l *link) hello(ctx context.Context, h protocol.Hello) error {
	info := infoOf(h.Facts, l.remote)
	old := unsupported(info.Version)
	// Before the event: a caller who has seen it can use what the agent offers.
	l.mu.Lock()
	l.present, l.run, l.shells, l.inside, l.cluster = true, h.Run, h.Facts.Shells, h.Facts.ContainerShells, h.Facts.NoBuilds
	l.tails = h.Facts.Tails
	l.mu.Unlock()
	if err := l.s.opts.Instances.HostConnected.Do(ctx, instance.HostPresence{HostID: l.hostID, Info: info, Unsupported: old}); err != nil {
		return err
	}
	l.s.log.Info("an agent is here", "host_id", l.hostID, "name", info.Name, "agent", info.Version)
	if l.unsupported.Store(old != ""); old != "" {
		l.s.log.Warn("an agent is not supported with this server; it works as far as both know the same", "host_id", l.hostID, "name", info.Name, "reason", old)
	}
	elsewhere := l.elsewhere(h.Run, time.Now())
	l.desired.Send()
	if elsewhere {
		return l.usedElsewhere(ctx)
	}
	return nil
}

// unsupported returns why an agent is not supported with this server, or "".
func unsupported(agent string) string {
	if why := release.Unsupported(release.Of(agent), release.Number()); why != "" {
		return "the agent's release and the server's: " + why
	}
	return ""
}

// status reports changes to the domain, and ends processes that should have ended.
func (l *link) status(ctx context.Context, now protocol.Status) error {
	l.mu.Lock()
	before := l.last
	l.last = &now
	l.mu.Unlock()
	report := reportOf(l.hostID, now)
	report.First = before == nil
	if before == nil || !reflect.DeepEqual(reportOf(l.hostID, *before).Instances, report.Instances) ||
		before.Resources.DiskFull != now.Resources.DiskFull {
		if err := l.s.opts.Instances.ReportHost.Do(ctx, report); err != nil {
			return err
		}
	}
	l.reap(now)
	return nil
}

func reportOf(hostID string, s protocol.Status) instance.HostReport {
	r := instance.HostReport{HostID: hostID, DiskFull: s.Resources.DiskFull}
	for _, i := range s.Instances {
		in := instance.InstanceReport{InstanceID: i.InstanceID, Phase: instance.Phase(i.Phase), Code: event.Code(i.Code), Cause: i.Cause}
		for _, p := range i.Processes {
			in.Processes = append(in.Processes, instance.ProcessReport{ID: p.ProcessID, Started: p.Started})
		}
		for _, g := range i.Groups {
			if g.ProcessID != "" {
				in.Processes = append(in.Processes, instance.ProcessReport{ID: g.ProcessID, Group: g.Name, Started: g.Started})
			}
			in.Groups = append(in.Groups, groupReport(g))
		}
		r.Instances = append(r.Instances, in)
	}
	return r
}

func groupReport(g protocol.GroupStatus) instance.GroupReport {
	r := instance.GroupReport{
		Name: g.Name, Version: g.Definition, Phase: instance.GroupPhase(g.Phase), Code: event.Code(g.Code), Cause: g.Cause,
		ProcessID: cut(g.ProcessID), Address: compute.Address{IPAddress: reachable(g.IPAddress), IPv6Address: reachable(g.IPv6), DNSName: cut(g.DNSName)}, Taken: g.Taken,
		Failed: instance.FailedRun{ID: cut(g.Failed.ID), Version: g.Failed.Definition, Cause: g.Failed.Cause},
	}
	for _, c := range g.Containers {
		r.Containers = append(r.Containers, instance.Container{Name: cut(c.Name), RuntimeID: cut(c.RuntimeID)})
	}
	return r
}

// reachable returns an IP address if players could connect to it, or "": a cluster has no
// better one than its nodes have.
func reachable(ip string) string {
	if address.Check(ip) != nil {
		return ""
	}
	return ip
}

// reap ends processes on the host that Muster counts as ended, or that must end before they
// connect: the host was disconnected when they should have been killed, or they did not exit
// after they announced it.
func (l *link) reap(now protocol.Status) {
	view := l.s.opts.Store.View()
	for _, i := range now.Instances {
		at := l.s.opts.Instances.Instance(view, i.InstanceID)
		if at == nil || at.HostID != l.hostID {
			continue
		}
		for ref := range processesOf(at, i) {
			if reason := l.s.unwanted(view, ref); reason != "" {
				l.send(protocol.Message{Kill: &protocol.Kill{InstanceID: i.InstanceID, ProcessID: ref.ProcessID, Reason: string(reason)}})
			}
		}
	}
}

// unwanted returns why a process must not run, or "".
func (s *Server) unwanted(r store.Reader, ref compute.Ref) event.Code {
	row := s.opts.Computes.Process(r, ref.Key())
	switch {
	case row == nil:
		return s.opts.Instances.Unwanted(r, ref)
	case row.Status != compute.Terminated || time.Since(row.Ended) < exitTime:
		return ""
	case row.Why == event.ProcessEnded:
		return event.ServerProcessExitTimeout
	}
	return row.Why
}

// processesOf returns the processes that a host reports on an instance.
func processesOf(at *instance.Instance, i protocol.Instance) iter.Seq[compute.Ref] {
	return func(yield func(compute.Ref) bool) {
		for _, p := range i.Processes {
			if !yield(compute.Ref{FleetID: at.FleetID, ComputeName: at.ID, ProcessID: p.ProcessID}) {
				return
			}
		}
		for _, g := range i.Groups {
			ref := compute.Ref{FleetID: at.FleetID, ComputeName: compute.GroupName(at.ID, g.Name), ProcessID: g.ProcessID}
			if g.ProcessID != "" && !yield(ref) {
				return
			}
		}
	}
}

// exited stores the end of a process, and requests its logs if they are kept; the report is
// acknowledged once they have arrived.
func (l *link) exited(ctx context.Context, e protocol.Exited) error {
	seen, err := l.s.opts.Instances.ProcessExited.Do(ctx, instance.ExitReport{
		HostID: l.hostID, InstanceID: e.InstanceID, Group: e.Group, ProcessID: e.ProcessID, Known: e.Known, Code: e.Code, Signal: e.Signal,
		OOM: e.OOM, Reason: event.Code(e.Reason), Cause: e.Cause, Tail: e.Tail, Lived: e.Lived,
		ProcessEnding: e.ProcessEnding,
	})
	if err != nil {
		return err
	}
	l.s.metrics.exit(e.Reason)
	if seen.Ref == (compute.Ref{}) || seen.Unlogged {
		l.send(protocol.Message{Ack: &protocol.Ack{Seq: e.Seq}})
		return nil
	}
	l.mu.Lock()
	l.pending[e.ProcessID] = ending{e.Seq, seen}
	l.mu.Unlock()
	l.send(protocol.Message{Collect: &protocol.Collect{
		InstanceID: e.InstanceID, ProcessID: e.ProcessID, LogPaths: seen.LogPaths, GameSessionID: seen.GameSessionID,
	}})
	return nil
}

// logsStored acknowledges the report of a process's end, since its logs have arrived or
// will not.
func (l *link) logsStored(done protocol.LogsStored) {
	l.mu.Lock()
	over, ok := l.pending[done.ProcessID]
	delete(l.pending, done.ProcessID)
	l.mu.Unlock()
	if !ok {
		return
	}
	if done.Problem != "" {
		l.s.log.Warn("logs did not come", "host_id", l.hostID, "process_id", done.ProcessID, "problem", cut(done.Problem))
	}
	l.send(protocol.Message{Ack: &protocol.Ack{Seq: over.seq}})
}
