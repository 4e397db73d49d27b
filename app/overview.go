package app

import (
	"cmp"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/store"
)

// loadOf returns the load of a fleet's location. short is the result of Shortages.
func (d *domain) loadOf(r store.Reader, f *fleet.Fleet, at fleet.LocationState, short []instance.Shortage) client.FleetLoad {
	use, processes := d.sessions.Use(r, f.ID, at.Location), d.computes.Tally(r, f.ID, at.Location)
	l := client.FleetLoad{
		Processes: use.Processes, Free: processes.Free, Sessions: use.GameSessions, Activating: use.Activating,
		Players: use.Players, MaxPlayers: use.MaxPlayers,
	}
	if f.Managed != nil {
		n := d.instances.Counts(r, f, at.Location)
		l.Desired, l.Active, l.Idle, l.Pending, l.Terminating = at.Capacity.Desired, n.Active, n.Idle, n.Pending, n.Terminating
	}
	for _, s := range short {
		if s.Place == (instance.Place{FleetID: f.ID, Location: at.Location}) {
			l.Short += s.Missing
		}
	}
	return l
}

// scalingOf returns the limits of the desired instances of a fleet's location, and what changes
// that number by itself; nil in an Anywhere fleet.
func (d *domain) scalingOf(r store.Reader, f *fleet.Fleet, at fleet.LocationState) *client.LocationScaling {
	if f.Managed == nil {
		return nil
	}
	out := &client.LocationScaling{Min: at.Capacity.Min, Max: at.Capacity.Max, FromZero: at.Capacity.FromZero}
	if at.ScalingStopped {
		return out
	}
	out.IdleFor = at.Capacity.IdleAfter.Minutes()
	for p := range d.scaling.Of(r, f.ID) {
		out.Policies = append(out.Policies, p.Name)
	}
	return out
}

// fleetStates returns every fleet, oldest first.
func (d *domain) fleetStates() []client.Fleet {
	view := d.store.View()
	shortages := d.instances.Shortages(view)
	all := []client.Fleet{}
	for f := range d.fleets.All(view, "") {
		state := client.Fleet{
			ID: f.ID, Name: nameOf(f), Status: string(f.Status), ComputeType: string(f.ComputeType), Created: f.Created, Locations: []client.FleetLocation{},
		}
		for _, at := range f.Locations {
			l := client.FleetLocation{Location: at.Location, Status: string(at.Status), FleetLoad: d.loadOf(view, f, at, shortages)}
			l.Scaling = d.scalingOf(view, f, at)
			l.Reason = d.instances.Reason(view, f, at.Location, shortages)
			l.Full = d.fullness(view, f, at, l)
			if e := d.pages.LastCrash(f.ID, at.Location); e != nil {
				l.LastCrash = &client.Crash{At: e.Time, Code: string(e.Code), Text: e.Message}
			}
			state.Locations = append(state.Locations, l)
			state.Add(l.FleetLoad)
		}
		all = append(all, state)
	}
	return all
}

// nameOf returns the name by which people know a fleet: a container fleet has that of its
// game server container group.
func nameOf(f *fleet.Fleet) string {
	if f.Containers != nil && f.Containers.Game != nil {
		return f.Containers.Game.String()
	}
	return f.Name
}

// processStates returns the processes of a fleet, or of all fleets if fleetID is "", in
// the locations for which reaches returns true.
func (d *domain) processStates(fleetID string, reaches func(location string) bool) []client.Process {
	view := d.store.View()
	names := map[string]string{}
	for h := range d.instances.Hosts(view) {
		names[h.ID] = h.Name
	}
	all := []client.Process{}
	for p := range d.computes.Processes(view, fleetID, "") {
		if !reaches(p.Location) {
			continue
		}
		host := p.ComputeName
		if id := d.hostOf(p); id != "" {
			host = cmp.Or(names[id], host)
		}
		all = append(all, client.Process{
			ID: p.ID, FleetID: p.FleetID, Location: p.Location, Compute: p.ComputeName, Host: host,
			Status: string(p.Status), Connected: p.Connected, GameSessionID: p.GameSessionID,
		})
	}
	return all
}
