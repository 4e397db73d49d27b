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

// Sessions shows game sessions, including those that have ended and are still kept.
func (t *Terminal) Sessions(ctx context.Context, f SessionFilter) error {
	return t.show(ctx, func(ctx context.Context) (table, error) { return t.readSessions(ctx, f) })
}

func (t *Terminal) readSessions(ctx context.Context, f SessionFilter) (table, error) {
	fleets, err := t.Client.Fleets(ctx)
	if err != nil {
		return table{}, err
	}
	var ids []string
	fleetNames := map[string]string{}
	for _, of := range fleets {
		ids, fleetNames[of.ID] = append(ids, of.ID), of.Name
	}
	if f.FleetID != "" {
		ids = []string{f.FleetID}
	}
	sessions, err := t.describeSessions(ctx, ids, f.Status)
	if err != nil {
		return table{}, err
	}
	processes, err := t.Client.Processes(ctx, shortID(f.FleetID))
	if err != nil {
		return table{}, err
	}
	hosts := map[string]string{}
	for _, p := range processes {
		hosts[p.GameSessionID] = p.Host
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

// describeSessions returns the game sessions of fleets with a status, "" for any.
func (t *Terminal) describeSessions(ctx context.Context, fleetIDs []string, status string) ([]sessionRow, error) {
	sessions := []sessionRow{}
	for _, id := range fleetIDs {
		in := map[string]any{"FleetId": id, "Limit": 100}
		if status != "" {
			in["StatusFilter"] = status
		}
		err := all(ctx, t.Client, "DescribeGameSessions", in, func(out *struct {
			GameSessions []sessionRow
			NextToken    string
		}) string {
			sessions = append(sessions, out.GameSessions...)
			return out.NextToken
		})
		if err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// shortID returns the last part of an ARN.
func shortID(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }
