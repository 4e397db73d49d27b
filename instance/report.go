package instance

import (
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/store"
)

// HostReport is the current state of a host. It is sent when something has changed.
type HostReport struct {
	HostID    string
	First     bool // the first since its agent connected: processes that connected earlier and that it does not list have ended
	DiskFull  bool
	Instances []InstanceReport
}

// InstanceReport is the state of one instance on its host.
type InstanceReport struct {
	InstanceID string
	Phase      Phase
	Code       event.Code // what is wrong, or ""
	Cause      string
	Processes  []ProcessReport // the running ones
	Groups     []GroupReport   // of an instance of a container fleet
}

// ProcessReport is a process that runs on an instance.
type ProcessReport struct {
	ID      string
	Group   string // name of the container group that it is of, or ""
	Started time.Time
}

// GroupReport is the state of one container group on its instance.
type GroupReport struct {
	Name       string
	Version    string // ARN of the version that runs, or last ran
	Phase      GroupPhase
	Code       event.Code
	Cause      string
	Containers []Container
	ProcessID  string          // of its run
	Address    compute.Address // if it is not the host's
	Taken      []int           // ports of the host that other programs hold, which is why it does not run
	Failed     FailedRun
}

// FailedRun is the last run of a per-instance group that has failed, although the next one may
// run by now.
type FailedRun struct {
	ID      string // another run has another one
	Version string // ARN
	Cause   string
}

// reports handles what the agents of hosts report.
type reports struct {
	*shared
	hosts     *hosts
	instances *instances
	launches  *launches

	// ReportHost records what a host reports of its instances. Errors: NotFound.
	ReportHost *store.Action[HostReport]
	// ProcessExited records the end of a process. One that had not called ProcessEnding,
	// and was not told to end, has crashed. A repeated report changes nothing.
	// Errors: NotFound (host).
	ProcessExited *store.Command[ExitReport, Evidence]
}

func newReports(sh *shared, hs *hosts) *reports {
	rs := &reports{shared: sh, hosts: hs, instances: hs.instances, launches: hs.launches}
	rs.ReportHost = store.NewAction(sh.st, "host.report", rs.runReport)
	rs.ProcessExited = store.NewCommand(sh.st, "host.process_exited", rs.runExited)
	return rs
}

func (rs *reports) runReport(tx *store.Tx, in HostReport) error {
	h := rs.hosts.rows.Get(tx, in.HostID)
	if h == nil {
		return fault.Missing("host %s does not exist", in.HostID)
	}
	if h.DiskFull != in.DiskFull {
		full := *h
		full.DiskFull = in.DiskFull
		rs.hosts.put(tx, &full)
		rs.hosts.markImpaired(tx, &full)
	}
	var since time.Time
	if in.First {
		since = h.Since
	}
	for _, report := range in.Instances {
		i := rs.instances.rows.Get(tx, report.InstanceID)
		if i == nil || i.HostID != h.ID || i.Gone {
			continue // the next Assign has the host stop it
		}
		report.Code, report.Cause = event.Code(plain.Line(string(report.Code))), bounded(plain.Text(report.Cause))
		rs.launches.reported(tx, i, report.Processes, since)
		i = rs.reportGroups(tx, rs.instances.rows.Get(tx, i.ID), report.Groups) // processes that have ended are groups that are not ready
		rs.reportInstance(tx, i, report)
	}
	if in.First {
		rs.missing(tx, h, in.Instances)
	}
	return nil
}

// missing ends the processes of instances that a host, after coming back, no longer has.
func (rs *reports) missing(tx *store.Tx, h *Host, reported []InstanceReport) {
	for i := range rs.instances.onHost.Equal(tx, h.ID) {
		at := slices.IndexFunc(reported, func(r InstanceReport) bool { return r.InstanceID == i.ID })
		if at >= 0 || i.Gone {
			continue
		}
		rs.launches.reported(tx, i, nil, h.Since)
		if i.Stop != Keep {
			rs.hosts.gone(tx, i, event.ProcessEnded, "the host has ended the instance")
		}
	}
}

func (rs *reports) reportInstance(tx *store.Tx, old *Instance, report InstanceReport) {
	switch report.Phase {
	case PhaseGone:
		rs.hosts.gone(tx, old, event.ServerProcessCrashed, "the host has ended the instance")
		return
	case PhaseFailed:
		if old.Stop == Keep {
			rs.instances.fail(tx, old, report.Code, report.Cause)
		}
		return
	}
	if old.Phase == report.Phase && old.Code == report.Code {
		return
	}
	i := *old
	i.Phase, i.Code, i.Cause = report.Phase, report.Code, report.Cause
	if i.Phase == Activating && i.Status == Pending && i.ReadyBy.IsZero() {
		i.ReadyBy = tx.Now().Add(rs.opts.InstanceTimeout)
	}
	rs.instances.put(tx, &i)
	if i.Stop != Keep {
		return
	}
	rs.Fleets.Advance(tx, i.FleetID, i.Location, fleet.Status(report.Phase))
	if report.Code != "" && report.Code != old.Code {
		rs.instances.trouble(tx, &i)
	}
}
