package terminal

import (
	"context"
	"fmt"
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
	Capacity        *counts  `json:"InstanceCounts,omitempty"` // of a managed fleet, in all its locations
}

// counts are the instances of a fleet.
type counts struct {
	Desired  int `json:"DESIRED"`
	Minimum  int `json:"MINIMUM"`
	Maximum  int `json:"MAXIMUM"`
	Pending  int `json:"PENDING"`
	Active   int `json:"ACTIVE"`
	Idle     int `json:"IDLE"`
	Stopping int `json:"TERMINATING"`
}

// String tells how many instances are ACTIVE of those wished for, and what else
// there is.
func (c *counts) String() string {
	if c == nil {
		return "-"
	}
	text := fmt.Sprintf("%d/%d", c.Active, c.Desired)
	for _, more := range []struct {
		n    int
		what string
	}{{c.Idle, "idle"}, {c.Pending, "pending"}, {c.Stopping, "ending"}} {
		if more.n > 0 {
			text += fmt.Sprintf(" %d %s", more.n, more.what)
		}
	}
	return text
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
	if err := t.addCapacity(ctx, fleets); err != nil {
		return table{}, err
	}
	view := table{data: fleets}
	view.Head = []string{"FLEET", "NAME", "STATUS", "TYPE", "INSTANCES", "PROCESSES", "SESSIONS", "PLAYERS", "AGE"}
	for _, f := range fleets {
		view.Rows = append(view.Rows, []string{
			f.FleetID, f.Name, f.Status, f.ComputeType, f.Capacity.String(), strconv.Itoa(f.ActiveProcesses), strconv.Itoa(f.ActiveSessions),
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

// managedType is the ComputeType of fleets that have instances.
const managedType = "EC2"

// addCapacity fills in what DescribeFleetCapacity tells of managed fleets.
func (t *Terminal) addCapacity(ctx context.Context, fleets []*fleetRow) error {
	byID := map[string]*fleetRow{}
	for _, f := range fleets {
		if f.ComputeType == managedType {
			byID[f.FleetID] = f
		}
	}
	if len(byID) == 0 {
		return nil
	}
	return all(ctx, t.Client, "DescribeFleetCapacity", map[string]any{}, func(out *struct {
		FleetCapacity []struct {
			FleetID        string `json:"FleetId"`
			InstanceCounts counts
		}
		NextToken string
	}) string {
		for _, c := range out.FleetCapacity {
			if f := byID[c.FleetID]; f != nil {
				f.Capacity = &c.InstanceCounts
			}
		}
		return out.NextToken
	})
}
