package client

import (
	"context"
	"net/url"
	"time"
)

// Fleet is a fleet with the load of all its locations. The server encodes its responses
// from this type and the others in this file.
type Fleet struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Status      string          `json:"status"`
	ComputeType string          `json:"compute_type"`
	Created     time.Time       `json:"created"`
	Locations   []FleetLocation `json:"locations"`
	FleetLoad
}

// FleetLocation is one location of a fleet.
type FleetLocation struct {
	Location string `json:"location"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"` // why something is pending there
	FleetLoad
	Scaling   *LocationScaling `json:"scaling,omitempty"`    // nil in an Anywhere fleet
	Full      string           `json:"full,omitempty"`       // why no game server there can take a game session, if some are ready, and what to do
	LastCrash *Crash           `json:"last_crash,omitempty"` // nil: none is known
}

// Crash is the end of a game server that does not work.
type Crash struct {
	At   time.Time `json:"at"`
	Code string    `json:"code"` // of its event
	Text string    `json:"text"`
}

// LocationScaling are the limits of the desired instances of a location, and what changes that
// number by itself.
type LocationScaling struct {
	Min      int      `json:"min_instances"`
	Max      int      `json:"max_instances"`
	Policies []string `json:"policies,omitempty"`     // names of the scaling policies that act there
	FromZero bool     `json:"from_zero,omitempty"`    // SCALE_TO_AND_FROM_ZERO: the server sets MinSize
	IdleFor  float64  `json:"idle_minutes,omitempty"` // without game sessions, after which it is scaled to zero; 0: it is not
}

// FleetLoad counts the instances, processes, sessions and players of a fleet or of one
// of its locations.
type FleetLoad struct {
	Desired     int `json:"desired_instances"`
	Active      int `json:"active_instances"`
	Idle        int `json:"idle_instances"`
	Pending     int `json:"pending_instances"`
	Terminating int `json:"terminating_instances"`
	Short       int `json:"short_instances"` // of the pending ones, those that no host has room for
	Processes   int `json:"active_server_processes"`
	Free        int `json:"available_game_sessions"`
	Sessions    int `json:"active_game_sessions"`
	Activating  int `json:"activating_game_sessions"`
	Players     int `json:"current_player_sessions"`
	MaxPlayers  int `json:"maximum_player_sessions"`
}

// Add adds the load of another location.
func (l *FleetLoad) Add(other FleetLoad) {
	l.Desired += other.Desired
	l.Active += other.Active
	l.Idle += other.Idle
	l.Pending += other.Pending
	l.Terminating += other.Terminating
	l.Short += other.Short
	l.Processes += other.Processes
	l.Free += other.Free
	l.Sessions += other.Sessions
	l.Activating += other.Activating
	l.Players += other.Players
	l.MaxPlayers += other.MaxPlayers
}

// Process is a game server process and where it runs.
type Process struct {
	ID            string `json:"id"`
	FleetID       string `json:"fleet_id"`
	Location      string `json:"location"`
	Compute       string `json:"compute"`
	Host          string `json:"host"` // name of the machine, or of the compute in an Anywhere fleet
	Status        string `json:"status"`
	Connected     bool   `json:"connected"`
	GameSessionID string `json:"game_session_id,omitempty"`
}

// Fleets returns all fleets.
func (c *Client) Fleets(ctx context.Context) (all []Fleet, err error) {
	_, err = c.read(ctx, "/console/api/fleets", &all)
	return all, err
}

// fleet returns the fleet with an id or ARN.
func (c *Client) fleet(ctx context.Context, id string) (Fleet, error) {
	var page struct{ Data Fleet }
	_, err := c.read(ctx, "/console/api/views/fleet?id="+url.QueryEscape(id), &page)
	return page.Data, err
}

// Processes returns the game server processes of a fleet, or of all fleets if fleetID
// is "".
func (c *Client) Processes(ctx context.Context, fleetID string) (all []Process, err error) {
	_, err = c.read(ctx, "/console/api/processes?fleet="+url.QueryEscape(fleetID), &all)
	return all, err
}
