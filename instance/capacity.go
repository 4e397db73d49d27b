package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/provider"
)

// PortsAnInstance is how many ports of its host an instance takes: two for each
// process that it may run.
const PortsAnInstance = 100

// world returns what the provider plans with: all that exists and all that is desired.
func (s *Service) world(r store.Reader) provider.World {
	var w provider.World
	for h := range s.t.hosts.All(r) {
		w.Hosts = append(w.Hosts, provider.Host{
			ID: h.ID, Location: h.Location, OS: h.OS, Open: h.Open(), CPUMillis: h.CPUMillis, MemoryMiB: h.MemoryMiB,
			PortFrom: h.PortFrom, PortTo: h.PortTo,
		})
	}
	for f := range s.fleets.Managed(r) {
		for _, l := range f.Locations {
			wish := wishOf(f, l.Location, 0)
			if f.WantsInstances(l) {
				wish.Desired = l.Capacity.Desired
			}
			w.Wishes = append(w.Wishes, wish)
			w.Instances = append(w.Instances, s.placed(r, f.ID, l.Location, wish.Desired)...)
		}
	}
	return w
}

// wishOf returns what an instance of a fleet requires of a host.
func wishOf(f *fleet.Fleet, location string, desired int) provider.Wish {
	size := f.Managed.Size()
	return provider.Wish{
		FleetID: f.ID, Location: location, OS: f.Managed.System(), CPUMillis: size.CPUMillis, MemoryMiB: size.MemoryMiB,
		Ports: PortsAnInstance, Desired: desired,
	}
}

// placed returns the instances of a location. Their load is filled in only where
// there are more than desired.
func (s *Service) placed(r store.Reader, fleetID, location string, desired int) []provider.Instance {
	var all []provider.Instance
	alive := 0
	for _, i := range s.t.ofFleet.Prefix(r, store.Key(fleetID, location)) {
		all = append(all, provider.Instance{
			ID: i.ID, FleetID: i.FleetID, Location: i.Location, HostID: i.HostID, CPUMillis: i.CPUMillis, MemoryMiB: i.MemoryMiB,
			PortFrom: i.PortFrom, PortTo: i.PortTo, State: i.state(),
		})
		if i.Stop == Keep {
			alive++
		}
	}
	if alive <= desired {
		return all
	}
	for n := range all {
		all[n].Sessions, all[n].Players, all[n].Protected = s.load(r, s.t.instances.Get(r, all[n].ID))
	}
	return all
}

func (i *Instance) state() provider.State {
	switch {
	case i.Failed:
		return provider.Failed
	case i.Stop != Keep:
		return provider.Leaving
	case i.Status == Active:
		return provider.Running
	}
	return provider.Pending
}

// Room returns how many more instances of a type the hosts of a location could run.
func (s *Service) Room(r store.Reader, instanceType, location string) int {
	size, ok := fleet.SizeOf(instanceType)
	if !ok {
		return 0
	}
	return s.provider.Room(s.world(r), provider.Wish{
		Location: location, CPUMillis: size.CPUMillis, MemoryMiB: size.MemoryMiB, Ports: PortsAnInstance,
	})
}

// Run creates and removes instances, and ends what is overdue on hosts,
// until ctx ends.
func (s *Service) Run(ctx context.Context) { s.capacity.Run(ctx) }

// nextCapacity returns when Run has something to do.
func (s *Service) nextCapacity() time.Time {
	view := s.st.View()
	if s.t.hosts.Len(view) == 0 && s.t.instances.Len(view) == 0 && !s.anyManaged(view) {
		return time.Time{}
	}
	if s.begins(view) || s.drains(view) || s.differs(view, s.provider.Plan(s.world(view))) {
		return time.Now()
	}
	return s.nextHostDue(view)
}

func (s *Service) anyManaged(r store.Reader) bool {
	for range s.fleets.Managed(r) {
		return true
	}
	return false
}

// begins reports whether a location is still to begin its activation.
func (s *Service) begins(r store.Reader) bool {
	for f := range s.fleets.Managed(r) {
		for _, l := range f.Locations {
			if l.Status == fleet.Made && f.WantsInstances(l) {
				return true
			}
		}
	}
	return false
}

// differs reports whether a plan changes anything.
func (s *Service) differs(r store.Reader, plan provider.Plan) bool {
	if len(plan.Make) > 0 || len(plan.Remove) > 0 {
		return true
	}
	short := map[string]bool{}
	for _, sh := range plan.Short {
		short[sh.Wish.FleetID+"|"+sh.Wish.Location] = true
	}
	for f := range s.fleets.Managed(r) {
		for _, l := range f.Locations {
			if l.WaitsForHost != short[f.ID+"|"+l.Location] {
				return true
			}
		}
	}
	return false
}

func (s *Service) runCapacity(tx *store.Tx, _ struct{}) (struct{}, error) {
	s.sweepHosts(tx)
	for f := range s.fleets.Managed(tx) {
		for _, l := range f.Locations {
			if l.Status == fleet.Made && f.WantsInstances(l) {
				s.fleets.Advance(tx, f.ID, l.Location, fleet.Downloading)
			}
		}
	}
	plan := s.provider.Plan(s.world(tx))
	for _, m := range plan.Make {
		s.makeInstance(tx, m)
	}
	for _, id := range plan.Remove {
		i := *s.t.instances.Get(tx, id)
		i.Cause = "it is not wished for any more"
		s.stopInstance(tx, &i, Drain, false)
	}
	s.tellShort(tx, plan.Short)
	s.drainAll(tx)
	return struct{}{}, nil
}

// tellShort records where hosts are missing, once, and clears that when they no longer are.
func (s *Service) tellShort(tx *store.Tx, short []provider.Short) {
	texts := map[string]string{}
	for _, sh := range short {
		texts[sh.Wish.FleetID+"|"+sh.Wish.Location] = fmt.Sprintf("Waiting for a host in %s to run %d more of fleet %s: %s",
			sh.Wish.Location, sh.Missing, sh.Wish.FleetID, sh.Why)
	}
	for f := range s.fleets.Managed(tx) {
		for _, l := range f.Locations {
			s.fleets.SetWaitReason(tx, f.ID, l.Location, texts[f.ID+"|"+l.Location])
		}
	}
}

// makeInstance creates an instance and the compute that its processes connect as.
func (s *Service) makeInstance(tx *store.Tx, m provider.Make) {
	h := s.t.hosts.Get(tx, m.HostID)
	i := &Instance{
		ID: fmt.Sprintf("i-%04x%013x", tx.Rand().Uint32()>>16, tx.Rand().Uint64()>>12), FleetID: m.Wish.FleetID, Location: m.Wish.Location,
		HostID: h.ID, CPUMillis: m.Wish.CPUMillis, MemoryMiB: m.Wish.MemoryMiB, PortFrom: m.PortFrom, PortTo: m.PortTo, Created: tx.Now(),
	}
	i.move(Pending)
	s.t.instances.Put(tx, i)
	s.computes.PutInstance(tx, &compute.Compute{
		Key: i.key(), FleetID: i.FleetID, Name: i.ID, Location: i.Location, InstanceID: i.ID,
		IPAddress: h.IPAddress, DNSName: h.DNSName, Registered: tx.Now(),
	})
	s.events.Append(tx, event.Event{
		Code: event.InstanceMade, FleetID: i.FleetID, Location: i.Location, ComputeName: i.ID,
		Message: "Instance " + i.ID + " is made on host " + h.ID + " (" + h.Name + ")",
	})
	s.assign(tx, h.ID)
}
