package terminal

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// sessionRow holds the members of a game session that are shown.
type sessionRow struct {
	GameSessionID string  `json:"GameSessionId"`
	Name          string  `json:"Name,omitempty"`
	FleetID       string  `json:"FleetId"`
	FleetName     string  `json:"FleetName,omitempty"`
	Host          string  `json:"Host,omitempty"` // name of the machine; only while a process hosts the game session
	Location      string  `json:"Location,omitempty"`
	Status        string  `json:"Status"`
	StatusReason  string  `json:"StatusReason,omitempty"`
	CreationTime  float64 `json:"CreationTime"`
	Players       int     `json:"CurrentPlayerSessionCount"`
	MaxPlayers    int     `json:"MaximumPlayerSessionCount"`
	IPAddress     string  `json:"IpAddress,omitempty"`
	Port          int     `json:"Port"`
}

// SessionFilter selects the game sessions to show; empty fields match all.
type SessionFilter struct {
	FleetID string // id or ARN; "" = every fleet
	Status  string // ACTIVATING, ACTIVE, TERMINATING or TERMINATED
}

// Sessions shows game sessions, including those that ended in the last 30 days.
func (t *Terminal) Sessions(ctx context.Context, f SessionFilter) error {
	return t.show(ctx, func(ctx context.Context) (table, error) { return t.readSessions(ctx, f) })
}

func (t *Terminal) readSessions(ctx context.Context, f SessionFilter) (table, error) {
	fleets, err := t.fleetIDs(ctx, f.FleetID)
	if err != nil {
		return table{}, err
	}
	sessions := []sessionRow{}
	for _, id := range fleets {
		in := map[string]any{"FleetId": id, "Limit": 100}
		if f.Status != "" {
			in["StatusFilter"] = f.Status
		}
		err := all(ctx, t.Client, "DescribeGameSessions", in, func(out *struct {
			GameSessions []sessionRow
			NextToken    string
		}) string {
			sessions = append(sessions, out.GameSessions...)
			return out.NextToken
		})
		if err != nil {
			return table{}, err
		}
	}
	fleetNames, hosts, err := t.places(ctx, f.FleetID)
	if err != nil {
		return table{}, err
	}
	for i := range sessions {
		sessions[i].FleetName, sessions[i].Host = fleetNames[sessions[i].FleetID], hosts[sessions[i].GameSessionID]
	}
	view := table{data: sessions}
	view.Head = []string{"SESSION", "NAME", "STATUS", "PLAYERS", "ADDRESS", "FLEET", "LOCATION", "HOST", "AGE"}
	for _, s := range sessions {
		view.Rows = append(view.Rows, []string{
			shortID(s.GameSessionID), s.Name, s.Status, fmt.Sprintf("%d/%d", s.Players, s.MaxPlayers),
			fmt.Sprintf("%s:%d", s.IPAddress, s.Port), cmp.Or(s.FleetName, s.FleetID), s.Location, cmp.Or(s.Host, "-"), ago(s.CreationTime),
		})
	}
	return view, nil
}

// places returns the names of fleets, and the host of each game session that has a process.
func (t *Terminal) places(ctx context.Context, fleetID string) (fleetNames, hosts map[string]string, err error) {
	fleetNames, hosts = map[string]string{}, map[string]string{}
	fleets, err := t.Client.Fleets(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range fleets {
		fleetNames[f.ID] = f.Name
	}
	processes, err := t.Client.Processes(ctx, shortID(fleetID))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range processes {
		if p.GameSessionID != "" {
			hosts[p.GameSessionID] = p.Host
		}
	}
	return fleetNames, hosts, nil
}

// fleetIDs returns id, or the ids of all fleets if id is "".
func (t *Terminal) fleetIDs(ctx context.Context, id string) (ids []string, err error) {
	if id != "" {
		return []string{id}, nil
	}
	err = all(ctx, t.Client, "ListFleets", map[string]any{}, func(out *struct {
		FleetIds  []string
		NextToken string
	}) string {
		ids = append(ids, out.FleetIds...)
		return out.NextToken
	})
	return ids, err
}

// shortID returns the last part of an ARN.
func shortID(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }
