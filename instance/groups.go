package instance

import (
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Port returns the host's port at which players reach a port of a process's container, or of
// a process outside containers the port itself (compute.Hosting).
func (is *instances) Port(r store.Reader, p *compute.Process, port int) (reached int, ok bool) {
	i := is.of(r, p.Ref())
	if i == nil || i.Slots == 0 || i.FleetID != p.FleetID {
		return port, true
	}
	_, name := compute.InstanceOf(p.ComputeName)
	g := i.Group(name)
	if g == nil {
		return 0, false
	}
	for _, one := range i.Ports(g) {
		if one.Game && one.Inside == port {
			return one.Outside, true
		}
	}
	return 0, false
}

// GroupCounts counts the game server container groups of a fleet's location. ACTIVE ones have
// a game session, idle ones can take one now. Pending ones include those that cannot, although
// they were ready.
func (is *instances) GroupCounts(r store.Reader, f *fleet.Fleet, location string) Counts {
	var c Counts
	for i := range is.Instances(r, f.ID, location) {
		load := is.groupLoads(r, i)
		for n := range i.Groups {
			switch g := &i.Groups[n]; {
			case g.PerInstance:
			case g.Stop != Keep || i.Stop != Keep:
				c.Terminating++
			case load[g.Name].session:
				c.Active++
			case g.Ready && load[g.Name].free:
				c.Idle++
			default:
				c.Pending++
			}
		}
	}
	return c
}

// locate sets the addresses of an instance's computes to those of its host, or of the nodes
// on which its groups are. In a cluster the address is that of the group's last run: those
// before it stay at their nodes until they end.
func (is *instances) locate(tx *store.Tx, i *Instance, h *Host) {
	var last func(*compute.Process) bool
	if h.Nodes {
		last = func(p *compute.Process) bool { return h.locates(i, p.Ref()) }
	}
	for _, c := range is.computesOf(tx, i) {
		at := h.Address
		_, name := compute.InstanceOf(c.Name)
		if g := i.Group(name); g != nil && g.Address != (compute.Address{}) {
			at = g.Address
		}
		is.Computes.Relocate(tx, c, at, last)
	}
}

// groupReady records that a group, which is part of i, is ready. During a deployment it is new
// for a while.
func (is *instances) groupReady(tx *store.Tx, i *Instance, g *Group) {
	g.Ready = true
	if d := is.Fleets.Deployments.Current(tx, i.FleetID); g.Stop == Keep && !g.Worked && is.opts.Bake > 0 && d != nil && d.Replaces() && d.Deploys(&g.Of, g.PerInstance) {
		g.New = tx.Now().Add(is.opts.Bake)
		return
	}
	g.worked()
}

// worked records that the group works, or has.
func (g *Group) worked() { g.New, g.Worked, g.Failures, g.Cause = time.Time{}, true, 0, "" }

// proveGroups makes groups of an instance that have stayed ready for long enough count.
func (is *instances) proveGroups(tx *store.Tx, old *Instance) {
	i := old.withGroups()
	for n := range i.Groups {
		if g := &i.Groups[n]; wake.Passed(g.New, tx.Now()) {
			g.worked()
		}
	}
	is.put(tx, i)
}

// groupEnded records that a game server of a group has ended: code and text say how. A
// group that had never been ready has failed once more, and so has a new one that crashed. The
// next game server may be ready already: in a cluster it does not wait for the report of the
// end, and the group stays ready.
func (is *instances) groupEnded(tx *store.Tx, ref compute.Ref, code event.Code, text string) {
	old := is.of(tx, ref)
	_, name := compute.InstanceOf(ref.ComputeName)
	if old == nil || old.FleetID != ref.FleetID || old.Group(name) == nil {
		return
	}
	i := old.withGroups()
	g := i.Group(name)
	switch baking := !g.New.IsZero(); {
	case g.Stop != Keep:
	case code == event.ServerProcessForceTerminated || code == event.InstanceDraining: // it was told to end
	case !g.Ready || baking && isCrash(code):
		g.Failures++
		g.Cause = bounded(text)
	case baking && code == event.ProcessEnded:
		g.worked()
	}
	if !is.hasReady(tx, ref) {
		g.Ready, g.New = false, time.Time{}
	}
	is.put(tx, i)
	switch {
	case code == event.ServerProcessUnhealthy:
		is.recordGroup(tx, event.GameGroupReplaced, i, g, text)
	case isCrash(code) && g.Stop == Keep && i.Stop == Keep:
		is.recordGroup(tx, event.GameGroupCrashed, i, g, text)
	}
}

// hasReady reports whether another process of the same compute is ready.
func (is *instances) hasReady(r store.Reader, than compute.Ref) bool {
	for p := range is.Computes.On(r, than.FleetID, than.ComputeName) {
		if p.ID != than.ProcessID && !p.Ready.IsZero() {
			return true
		}
	}
	return false
}

// isCrash reports whether a game server that ended with an event code failed: it neither
// ended by itself in order nor was told to.
func isCrash(code event.Code) bool {
	switch code {
	case event.ProcessEnded, event.ServerProcessForceTerminated, event.InstanceDraining:
		return false
	}
	return true
}

// processEnded is groupEnded for a process that had connected.
func (is *instances) processEnded(tx *store.Tx, p *compute.Process, _ string) {
	is.groupEnded(tx, p.Ref(), p.Why, "game server process "+p.ID+" ended")
}

func (is *instances) recordGroup(tx *store.Tx, code event.Code, i *Instance, g *Group, text string) {
	is.Events.Append(tx, event.Event{Code: code, FleetID: i.FleetID, Location: i.Location, ComputeName: compute.GroupName(i.ID, g.Name), Message: text})
}

// reportGroups records what a host reports of an instance's groups, and returns the instance
// as it is then.
func (rs *reports) reportGroups(tx *store.Tx, old *Instance, reports []GroupReport) *Instance {
	h := rs.hosts.rows.Get(tx, old.HostID)
	i, moved := old.withGroups(), false
	changed := false
	for _, report := range reports {
		if !h.Nodes {
			report.ProcessID = "" // it does not matter which one has the host's address
		}
		g := i.Group(report.Name)
		if g == nil || !report.isOf(g) {
			continue // the next Assign has the host end it
		}
		report.Code, report.Cause = event.Code(plain.Line(string(report.Code))), bounded(plain.Text(report.Cause))
		report.Failed.Cause = bounded(plain.Text(report.Failed.Cause))
		if len(report.Taken) > 0 && g.Stop == Keep && i.Stop == Keep {
			first := g.First
			rs.movePorts(tx, i, g, report.Taken)
			changed = changed || g.First != first
		}
		if !g.differs(report) {
			continue
		}
		changed = true
		moved = moved || g.ProcessID != report.ProcessID || g.Address != report.Address
		rs.instances.reportGroup(tx, i, g, report)
	}
	if !changed {
		return old
	}
	rs.instances.put(tx, i)
	if moved {
		rs.instances.locate(tx, i, h)
		rs.hosts.markImpairedOn(tx, h, i)
	}
	return i
}

// reportGroup records what a host reports of a group, which is part of i.
func (is *instances) reportGroup(tx *store.Tx, i *Instance, g *Group, report GroupReport) {
	fails := report.Phase == GroupFailed && g.Phase != GroupFailed
	cause := report.Cause
	if g.PerInstance {
		if report.Code == event.InstanceGroupCrashed { // its run has failed, and counts once
			fails = false
		}
		if g.failsAnew(report) {
			fails, g.Failed, cause = true, report.Failed.ID, report.Failed.Cause
		}
	}
	g.Phase, g.Code, g.Cause = report.Phase, report.Code, report.Cause
	g.Containers, g.ProcessID, g.Address = report.Containers, report.ProcessID, report.Address
	switch running := report.Phase == GroupRunning; {
	case !g.PerInstance || g.Ready == running:
	case running:
		is.groupReady(tx, i, g)
	default:
		g.Ready, g.New = false, time.Time{}
	}
	if !fails || g.Stop != Keep || i.Stop != Keep || len(report.Taken) > 0 {
		return
	}
	switch {
	case g.PerInstance:
		g.Failures++
		is.recordGroup(tx, event.InstanceGroupCrashed, i, g, cause)
	case cannotStart(g.Code): // otherwise the report of the process's end counts
		g.Ready, g.New = false, time.Time{}
		g.Failures++
		is.recordGroup(tx, g.Code, i, g, g.Cause)
	}
}

// failsAnew reports whether a report says that a run of the per-instance group has failed which
// was not reported before. A run of the version before does not count.
func (g *Group) failsAnew(r GroupReport) bool {
	return r.Failed.ID != "" && r.Failed.ID != g.Failed && strings.HasSuffix(r.Failed.Version, "/"+g.Of.String())
}

// isOf reports whether a report is about the version that the group shall run. A host may
// still report of the version before. Hosts that have begun nothing name none.
func (r GroupReport) isOf(g *Group) bool {
	return r.Version == "" || strings.HasSuffix(r.Version, "/"+g.Of.String())
}

// cannotStart reports whether an event code says that a group could not be started.
func cannotStart(code event.Code) bool {
	return code == event.FleetBinaryDownloadFailed || code == event.FleetActivationFailed
}

// differs reports whether a report changes the group.
func (g *Group) differs(r GroupReport) bool {
	return g.Phase != r.Phase || g.Code != r.Code || g.PerInstance && g.failsAnew(r) || g.Cause != r.Cause && r.Cause != "" ||
		g.ProcessID != r.ProcessID || g.Address != r.Address || !slices.Equal(g.Containers, r.Containers)
}
