package app

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// fleetState is a fleet with what runs in it, as operators see it. Counts are
// those of all its locations.
type fleetState struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Status      fleet.Status    `json:"status"`
	ComputeType string          `json:"compute_type"`
	Created     time.Time       `json:"created"`
	Locations   []locationState `json:"locations"`
	load
}

// locationState is one location of a fleet.
type locationState struct {
	Location string       `json:"location"`
	Status   fleet.Status `json:"status"`
	Reason   string       `json:"reason,omitzero"` // why something is pending there
	load
}

// load counts what there is.
type load struct {
	Desired     int `json:"desired_instances"`
	Active      int `json:"active_instances"`
	Idle        int `json:"idle_instances"`
	Pending     int `json:"pending_instances"`
	Terminating int `json:"terminating_instances"`
	Processes   int `json:"active_server_processes"`
	Free        int `json:"available_game_sessions"`
	Sessions    int `json:"active_game_sessions"`
	Activating  int `json:"activating_game_sessions"`
	Players     int `json:"current_player_sessions"`
	MaxPlayers  int `json:"maximum_player_sessions"`
}

func (l *load) add(other load) {
	l.Desired += other.Desired
	l.Active += other.Active
	l.Idle += other.Idle
	l.Pending += other.Pending
	l.Terminating += other.Terminating
	l.Processes += other.Processes
	l.Free += other.Free
	l.Sessions += other.Sessions
	l.Activating += other.Activating
	l.Players += other.Players
	l.MaxPlayers += other.MaxPlayers
}

// loadOf counts what there is in a fleet's location.
func (d *domain) loadOf(r store.Reader, f *fleet.Fleet, at fleet.LocationState) load {
	use, processes := d.sessions.Use(r, f.ID, at.Location), d.computes.Tally(r, f.ID, at.Location)
	l := load{
		Processes: use.Processes, Free: processes.Free, Sessions: use.GameSessions, Activating: use.Activating,
		Players: use.Players, MaxPlayers: use.MaxPlayers,
	}
	if f.Managed != nil {
		n := d.computes.Counts(r, f, at.Location)
		l.Desired, l.Active, l.Idle, l.Pending, l.Terminating = at.Capacity.Desired, n.Active, n.Idle, n.Pending, n.Terminating
	}
	return l
}

// fleetStates returns every fleet, oldest first.
func (d *domain) fleetStates() []fleetState {
	view := d.store.View()
	shortages := d.computes.Shortages(view)
	all := []fleetState{}
	for f := range d.fleets.All(view, "") {
		state := fleetState{ID: f.ID, Name: f.Name, Status: f.Status, ComputeType: string(f.ComputeType), Created: f.Created, Locations: []locationState{}}
		for _, at := range f.Locations {
			l := locationState{Location: at.Location, Status: at.Status, load: d.loadOf(view, f, at)}
			l.Reason = d.computes.Reason(view, f, at.Location, shortages)
			state.Locations = append(state.Locations, l)
			state.add(l.load)
		}
		all = append(all, state)
	}
	return all
}

// processState is a game server process and where it runs.
type processState struct {
	ID            string         `json:"id"`
	FleetID       string         `json:"fleet_id"`
	Location      string         `json:"location"`
	Compute       string         `json:"compute"`
	Host          string         `json:"host"` // name of the machine; of an Anywhere fleet its compute
	Status        compute.Status `json:"status"`
	Connected     bool           `json:"connected"`
	GameSessionID string         `json:"game_session_id,omitzero"`
}

// processStates returns the processes of a fleet, or of all where fleetID is "", in
// locations of which reaches is true.
func (d *domain) processStates(fleetID string, reaches func(location string) bool) []processState {
	view := d.store.View()
	names := map[string]string{}
	for h := range d.computes.Hosts(view) {
		names[h.ID] = h.Name
	}
	all := []processState{}
	for p := range d.computes.Processes(view, fleetID, "") {
		if !reaches(p.Location) {
			continue
		}
		host := p.ComputeName
		if p.HostID != "" {
			host = names[p.HostID]
		}
		all = append(all, processState{
			ID: p.ID, FleetID: p.FleetID, Location: p.Location, Compute: p.ComputeName, Host: host,
			Status: p.Status, Connected: p.Connected, GameSessionID: p.GameSessionID,
		})
	}
	return all
}
