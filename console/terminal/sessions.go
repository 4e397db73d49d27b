package terminal

import (
	"context"
	"fmt"
	"strings"
)

// sessionRow is what is shown of a game session.
type sessionRow struct {
	GameSessionID string  `json:"GameSessionId"`
	Name          string  `json:"Name,omitempty"`
	FleetID       string  `json:"FleetId"`
	Location      string  `json:"Location,omitempty"`
	Status        string  `json:"Status"`
	StatusReason  string  `json:"StatusReason,omitempty"`
	CreationTime  float64 `json:"CreationTime"`
	Players       int     `json:"CurrentPlayerSessionCount"`
	MaxPlayers    int     `json:"MaximumPlayerSessionCount"`
	IPAddress     string  `json:"IpAddress,omitempty"`
	Port          int     `json:"Port"`
}

// SessionFilter says which game sessions to show; "" members do not bind.
type SessionFilter struct {
	FleetID string // id or ARN; "" = every fleet
	Status  string // ACTIVATING, ACTIVE, TERMINATING or TERMINATED
}

// Sessions shows game sessions, those of the last 30 days included.
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
	view := table{data: sessions}
	view.Head = []string{"SESSION", "NAME", "STATUS", "PLAYERS", "ADDRESS", "LOCATION", "AGE"}
	for _, s := range sessions {
		view.Rows = append(view.Rows, []string{
			shortID(s.GameSessionID), s.Name, s.Status, fmt.Sprintf("%d/%d", s.Players, s.MaxPlayers),
			fmt.Sprintf("%s:%d", s.IPAddress, s.Port), s.Location, ago(s.CreationTime),
		})
	}
	return view, nil
}

// fleetIDs gives the fleet asked for, or all.
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

// shortID is the last part of an ARN.
func shortID(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }
