package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// deployAll makes the next changes of every deployment, and drains the groups that other
// versions replace.
func (pl *planner) deployAll(tx *store.Tx) {
	for f := range pl.Fleets.Managed(tx) {
		if f.Containers == nil {
			continue
		}
		for _, l := range f.Locations {
			if d := pl.Fleets.Deployments.Current(tx, f.ID); d != nil && f.WantsInstances(l) {
				pl.deploy(tx, f, l, d)
			}
		}
		pl.drainGroups(tx, f)
	}
}

// deploy makes the next changes of a deployment in a location.
func (pl *planner) deploy(tx *store.Tx, f *fleet.Fleet, l fleet.LocationState, d *fleet.Deployment) {
	part := d.Locations[l.Location]
	if part == fleet.DeploymentPending { // the hosts fetch the images, and earlier failures do not count
		for i := range pl.instances.Instances(tx, f.ID, l.Location) {
			pl.instances.forgetFailures(tx, i)
		}
	}
	in := rollout{fleet: f, config: d.Config, desired: l.Capacity.Desired}
	for _, i := range pl.instances.ofFleet.Prefix(tx, store.Key(f.ID, l.Location)) {
		switch {
		case i.Failed && i.runs(f.Containers.Game):
			in.failed = append(in.failed, i)
		case i.Stop == Keep && !i.Gone:
			in.instances = append(in.instances, rolling{i, pl.instances.groupLoads(tx, i)})
		}
	}
	next := planRollout(in)
	for _, ref := range next.drain {
		pl.instances.drainGroup(tx, ref)
	}
	for _, ref := range next.keep {
		pl.keepGroup(tx, ref)
	}
	for _, ref := range next.start {
		pl.instances.startGroup(tx, f, ref)
	}
	for _, id := range next.add {
		pl.instances.addPerInstance(tx, f, id)
	}
	for _, id := range next.replace {
		i := *pl.instances.rows.Get(tx, id)
		i.Cause = "the container groups that its fleet runs now have no room on it"
		spares := SparesNone
		if d.Config.Protect {
			spares = SparesProtected
		}
		pl.instances.stop(tx, &i, Drain, spares)
	}
	pl.Fleets.Deployments.Report(tx, d.ID, l.Location, next.status, next.cause)
}

// keepGroup keeps a draining group after all: its version is desired again, and its game server
// was not told to end.
func (pl *planner) keepGroup(tx *store.Tx, ref groupRef) {
	i := pl.instances.rows.Get(tx, ref.instanceID).withGroups()
	g := i.Group(ref.name)
	g.Stop = Keep
	h := pl.hosts.rows.Get(tx, i.HostID)
	for p := range pl.Computes.On(tx, i.FleetID, i.computeName(g.Name)) {
		pl.Computes.Impair(tx, p, h != nil && h.impairs(i, p.Ref()))
	}
	pl.instances.put(tx, i)
	pl.instances.assign(tx, i.HostID)
}

// groupLoads returns what the groups of an instance host.
func (is *instances) groupLoads(r store.Reader, i *Instance) map[string]groupLoad {
	all := map[string]groupLoad{}
	for p := range is.Computes.OfInstance(r, i.FleetID, i.ID) {
		_, name := compute.InstanceOf(p.ComputeName)
		switch {
		case p.GameSessionID != "":
			players, protected := is.players(r, p.GameSessionID)
			all[name] = groupLoad{session: true, protected: protected, players: players}
		case p.Free():
			all[name] = groupLoad{free: true}
		}
	}
	return all
}

// forgetFailures clears the failures of an instance's groups, and has its host fetch the
// images of the versions that its fleet should run now.
func (is *instances) forgetFailures(tx *store.Tx, old *Instance) {
	i := old.withGroups()
	for n := range i.Groups {
		i.Groups[n].Failures = 0
	}
	is.rows.Put(tx, i)
	is.assign(tx, i.HostID)
}

// drainGroup begins to end a group that another version replaces. One that hosts nothing and
// is not ready ends immediately.
func (is *instances) drainGroup(tx *store.Tx, ref groupRef) {
	i := is.rows.Get(tx, ref.instanceID).withGroups()
	g := i.Group(ref.name)
	g.Stop = Drain
	for p := range is.Computes.On(tx, i.FleetID, i.computeName(g.Name)) {
		is.Computes.Impair(tx, p, true) // when its game session has ended, it gets no other one
	}
	if g.PerInstance {
		g.StopBy = tx.Now().Add(is.graces.UnhealthyGrace)
	}
	is.put(tx, i)
	is.assign(tx, i.HostID)
}

// startGroup has a group that has ended run the version that its fleet should run now.
func (is *instances) startGroup(tx *store.Tx, f *fleet.Fleet, ref groupRef) {
	i := is.rows.Get(tx, ref.instanceID).withGroups()
	g := i.Group(ref.name)
	switch want := f.Containers.Game; {
	case !g.PerInstance:
		*g = Group{Name: g.Name, Of: *want}
	case f.Containers.PerInstance == nil:
		i.dropGroup(perInstance)
	default:
		*g = Group{Name: g.Name, PerInstance: true, Of: *f.Containers.PerInstance}
	}
	is.put(tx, i)
	is.assign(tx, i.HostID)
}

// addPerInstance adds the per-instance group of its fleet to an instance.
func (is *instances) addPerInstance(tx *store.Tx, f *fleet.Fleet, instanceID string) {
	i := is.rows.Get(tx, instanceID).withGroups()
	i.Groups = append(i.Groups, Group{Name: perInstance, PerInstance: true, Of: *f.Containers.PerInstance})
	is.put(tx, i)
	is.assign(tx, i.HostID)
}

// drainGroups tells the game servers of draining groups to end, except those whose game
// session the deployment protects. A group that no such game session keeps any longer gets
// a deadline.
func (pl *planner) drainGroups(tx *store.Tx, f *fleet.Fleet) {
	protect := true
	if d := pl.Fleets.Deployments.Get(tx, f.Containers.Deployment); d != nil {
		protect = d.Config.Protect
	}
	for old := range pl.instances.Instances(tx, f.ID, "") {
		if old.Stop != Keep || !old.drainsGroups() {
			continue
		}
		i := old.withGroups()
		changed := false
		for n := range i.Groups {
			if g := &i.Groups[n]; g.Stop == Drain && g.StopBy.IsZero() && !pl.keepsGroup(tx, i, g, protect) {
				g.StopBy = tx.Now().Add(pl.graces.StopGrace)
				changed = true
			}
		}
		if changed {
			pl.instances.put(tx, i)
			pl.instances.assign(tx, i.HostID)
		}
	}
}

// keepsGroup tells the processes of a draining group to end that may, and reports whether a
// protected game session keeps one.
func (pl *planner) keepsGroup(tx *store.Tx, i *Instance, g *Group, protect bool) (keeps bool) {
	name := i.computeName(g.Name)
	for p := range pl.Computes.On(tx, i.FleetID, name) {
		if _, protected := pl.instances.players(tx, p.GameSessionID); protect && protected && p.Status != compute.Terminating {
			keeps = true
			continue
		}
		pl.Computes.Terminate(tx, p.Key, event.InstanceDraining, "its container group is replaced by another version")
	}
	for l := range pl.launches.on.Equal(tx, i.key()) {
		if compute.ParseRef(l.Key).ComputeName == name && l.Why == "" {
			pl.launches.kill(tx, l, event.InstanceDraining)
		}
	}
	return keeps
}

// drainsGroups reports whether one of the instance's groups is being replaced.
func (i *Instance) drainsGroups() bool {
	for n := range i.Groups {
		if i.Groups[n].Stop == Drain && i.Groups[n].StopBy.Equal(time.Time{}) {
			return true
		}
	}
	return false
}
