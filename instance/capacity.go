package instance

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// PortsAnInstance is the number of host ports that an instance takes: two for each
// process that it may run.
const PortsAnInstance = 100

// planner creates and removes instances, so that there are as many as fleets desire and
// hosts have room for, and ends what is overdue.
type planner struct {
	*shared
	hosts     *hosts
	instances *instances
	launches  *launches
	loop      *wake.Loop
	plan      *store.Action[struct{}]
	last      atomic.Pointer[plan] // the last plan; nil if what it was made from has changed
}

func newPlanner(sh *shared, hs *hosts) *planner {
	pl := &planner{shared: sh, hosts: hs, instances: hs.instances, launches: hs.launches}
	pl.plan = store.NewAction(sh.st, "capacity.plan", pl.runPlan)
	pl.loop = wake.NewLoop(pl.next, func(ctx context.Context) error { return pl.plan.Do(ctx, struct{}{}) })
	sh.Fleets.OnDesired(pl.again)
	sh.st.OnReload(pl.again) // a change may have become durable without its OnCommit
	return pl
}

// again discards the last plan and wakes the loop.
func (pl *planner) again() {
	pl.last.Store(nil)
	pl.loop.Nudge()
}

// world returns the input of a plan.
func (pl *planner) world(r store.Reader) world {
	var w world
	for h := range pl.hosts.rows.All(r) {
		w.hosts = append(w.hosts, h)
	}
	for f := range pl.Fleets.Managed(r) {
		for _, l := range f.Locations {
			d := demandOf(f, l)
			w.demands = append(w.demands, d)
			w.instances = append(w.instances, pl.loaded(r, d)...)
		}
	}
	return w
}

// demandOf returns the instances that a managed fleet desires in a location.
func demandOf(f *fleet.Fleet, l fleet.LocationState) demand {
	size := f.Managed.Size()
	d := demand{
		Place: Place{f.ID, l.Location}, os: f.Managed.System(), cpuMillis: size.CPUMillis, memoryMiB: size.MemoryMiB, portCount: PortsAnInstance,
	}
	d.certificates = f.Certificates()
	d.fromZero = l.Capacity.FromZero
	d.scalable, d.removable, d.elsewhere = f.Scalable(l), f.Removable(l), len(f.Locations) > 1
	if f.WantsInstances(l) {
		d.desired = l.Capacity.Desired
	}
	c := f.Containers
	if c == nil {
		return d
	}
	d.containers, d.portCount = true, 0
	switch {
	case c.Game == nil:
		d.desired = 0
	default:
		d.slots, d.stride = f.Slots(), c.Game.Ports
		d.portCount = d.slots * d.stride
	}
	if c.PerInstance != nil {
		d.portCount += c.PerInstance.Ports
	}
	d.portCount = max(1, d.portCount)
	return d
}

// loaded returns the instances of a location. Their load is filled in only where there
// are more than desired.
func (pl *planner) loaded(r store.Reader, d demand) []loaded {
	var all []loaded
	alive := 0
	for _, i := range pl.instances.ofFleet.Prefix(r, store.Key(d.FleetID, d.Location)) {
		all = append(all, loaded{Instance: i})
		if i.Stop == Keep {
			alive++
		}
	}
	if alive > d.desired {
		for n, i := range all {
			all[n].sessions, all[n].players, all[n].protected = pl.instances.load(r, i.Instance)
		}
	}
	return all
}

// Room returns how many more instances of a type the hosts of a location could run.
func (pl *planner) Room(r store.Reader, instanceType, location string) int {
	size, ok := fleet.SizeOf(instanceType)
	if !ok {
		return 0
	}
	return roomFor(pl.world(r), demand{
		Place: Place{Location: location}, cpuMillis: size.CPUMillis, memoryMiB: size.MemoryMiB, portCount: PortsAnInstance,
	})
}

// PortRoom returns for how many more instances of a build a host has ports.
func (pl *planner) PortRoom(r store.Reader, h *Host) (n int) {
	room := &room{Host: h}
	for i := range pl.instances.onHost.Equal(r, h.ID) {
		room.usePorts(i)
	}
	for gap := room.gap(demand{portCount: PortsAnInstance}); gap.from > 0; gap = room.gap(demand{portCount: PortsAnInstance}) {
		room.take(0, 0, gap)
		n++
	}
	return n
}

// Run creates and removes instances, and ends what is overdue on hosts, until ctx ends.
func (pl *planner) Run(ctx context.Context) {
	pl.last.Store(nil) // the state may have changed since the last Run
	pl.loop.Run(ctx)
}

// next returns when Run next has something to do: now if there is no valid plan, else at
// the earliest deadline of hosts, instances and launches.
func (pl *planner) next() time.Time {
	if pl.last.Load() == nil {
		return time.Now()
	}
	view := pl.st.View()
	return wake.Earliest(pl.hosts.due.NextDue(view), pl.instances.due.NextDue(view), pl.launches.due.NextDue(view))
}

func (pl *planner) runPlan(tx *store.Tx, _ struct{}) error {
	pl.sweep(tx)
	for f := range pl.Fleets.Managed(tx) {
		for _, l := range f.Locations {
			switch {
			case l.Idle(f):
				pl.Fleets.Advance(tx, f.ID, l.Location, fleet.Active)
			case l.Status.New() && f.WantsInstances(l):
				pl.Fleets.Advance(tx, f.ID, l.Location, fleet.Downloading)
			}
		}
	}
	pl.deployAll(tx)
	p := planFor(pl.world(tx))
	for _, c := range p.create {
		pl.create(tx, c)
	}
	pl.starts.planned(tx, pl.Fleets, p.short)
	for _, id := range p.remove {
		i := *pl.instances.rows.Get(tx, id)
		i.Cause = "it is no longer desired"
		pl.instances.stop(tx, &i, Drain, SparesProtected)
	}
	pl.recordShort(tx, p.short)
	pl.drainAll(tx)
	tx.OnCommit(func() { pl.last.Store(&p) }) // after the hooks of its own changes, which discard the last plan
	return nil
}

// recordShort sets the wait reason of each location that is short of hosts, and clears
// that of the others.
func (pl *planner) recordShort(tx *store.Tx, short []Shortage) {
	texts := map[Place]string{}
	for _, s := range short {
		texts[s.Place] = fmt.Sprintf("Waiting for a host in %s to run %d more of fleet %s: %s", s.Location, s.Missing, s.FleetID, s.Why)
	}
	for f := range pl.Fleets.Managed(tx) {
		for _, l := range f.Locations {
			pl.Fleets.SetWaitReason(tx, f.ID, l.Location, texts[Place{f.ID, l.Location}])
		}
	}
}

// create creates an instance and the compute that its processes connect as.
func (pl *planner) create(tx *store.Tx, c creation) {
	h := pl.hosts.rows.Get(tx, c.hostID)
	i := &Instance{
		ID: fmt.Sprintf("i-%04x%013x", tx.Rand().Uint32()>>16, tx.Rand().Uint64()>>12), FleetID: c.FleetID, Location: c.Location,
		HostID: h.ID, CPUMillis: c.cpuMillis, MemoryMiB: c.memoryMiB, PortFrom: c.ports.from, PortTo: c.ports.to, Created: tx.Now(),
		Slots: c.slots, Stride: c.stride,
	}
	if c.containers {
		i.Groups = groupsOf(pl.Fleets.Get(tx, c.FleetID), c.slots)
	}
	i.move(Pending)
	pl.instances.rows.Put(tx, i)
	for _, name := range i.computeNames() {
		pl.Computes.PutInstance(tx, &compute.Compute{
			Key: compute.Key(i.FleetID, name), FleetID: i.FleetID, Name: name, Location: i.Location, InstanceID: i.ID,
			Address: h.Address, Registered: tx.Now(),
		})
	}
	pl.instances.record(tx, event.InstanceMade, i, "Instance "+i.ID+" is made on host "+h.ID+" ("+h.Name+")")
	pl.starts.made(tx, i)
	pl.instances.assign(tx, h.ID)
}

// Shortages returns the instances that fleets desire and no host has room for. It is meant
// for tools that start machines: a machine that joins is used immediately.
func (pl *planner) Shortages(r store.Reader) []Shortage {
	if last := pl.last.Load(); last != nil {
		return last.short
	}
	return planFor(pl.world(r)).short
}
