package terminal

import (
	"context"
	"strconv"
)

// fleetRow is what is shown of a fleet.
type fleetRow struct {
	FleetID         string   `json:"FleetId"`
	Name            string   `json:"Name"`
	Status          string   `json:"Status"`
	ComputeType     string   `json:"ComputeType"`
	CreationTime    float64  `json:"CreationTime"`
	Locations       []string `json:"Locations,omitempty"`
	ActiveProcesses int      `json:"ActiveServerProcessCount"`
	ActiveSessions  int      `json:"ActiveGameSessionCount"`
	Players         int      `json:"CurrentPlayerSessionCount"`
	MaxPlayers      int      `json:"MaximumPlayerSessionCount"`
}

// Fleets shows every fleet with its use.
func (t *Terminal) Fleets(ctx context.Context) error { return t.show(ctx, t.readFleets) }

func (t *Terminal) readFleets(ctx context.Context) (table, error) {
	fleets := []*fleetRow{}
	err := all(ctx, t.Client, "DescribeFleetAttributes", map[string]any{}, func(out *struct {
		FleetAttributes []*fleetRow
		NextToken       string
	}) string {
		fleets = append(fleets, out.FleetAttributes...)
		return out.NextToken
	})
	if err != nil {
		return table{}, err
	}
	if err := t.addUse(ctx, fleets); err != nil {
		return table{}, err
	}
	view := table{head: []string{"FLEET", "NAME", "STATUS", "TYPE", "PROCESSES", "SESSIONS", "PLAYERS", "AGE"}, data: fleets}
	for _, f := range fleets {
		view.rows = append(view.rows, []string{
			f.FleetID, f.Name, f.Status, f.ComputeType, strconv.Itoa(f.ActiveProcesses), strconv.Itoa(f.ActiveSessions),
			strconv.Itoa(f.Players) + "/" + strconv.Itoa(f.MaxPlayers), ago(f.CreationTime),
		})
	}
	return view, nil
}

// addUse fills in what DescribeFleetUtilization tells.
func (t *Terminal) addUse(ctx context.Context, fleets []*fleetRow) error {
	byID := map[string]*fleetRow{}
	for _, f := range fleets {
		byID[f.FleetID] = f
	}
	return all(ctx, t.Client, "DescribeFleetUtilization", map[string]any{}, func(out *struct {
		FleetUtilization []fleetRow
		NextToken        string
	}) string {
		for _, u := range out.FleetUtilization {
			if f := byID[u.FleetID]; f != nil {
				f.ActiveProcesses, f.ActiveSessions = u.ActiveProcesses, u.ActiveSessions
				f.Players, f.MaxPlayers = u.Players, u.MaxPlayers
			}
		}
		return out.NextToken
	})
}
