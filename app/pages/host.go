package pages

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
)

// HostPage is what runs on a machine. What the machine says of itself is in the list of hosts.
type HostPage struct {
	Processes []HostProcess `json:"processes"` // oldest first
}

// HostProcess is a game server process of a machine.
type HostProcess struct {
	ID        string         `json:"id"`
	FleetID   string         `json:"fleet_id"`
	Compute   string         `json:"compute"`
	Status    compute.Status `json:"status"`
	Connected bool           `json:"connected"`
	Session   string         `json:"session,omitempty"` // that it hosts
	Players   int            `json:"players"`
	Since     time.Time      `json:"since"`
	SDK       string         `json:"sdk,omitempty"`
	Port      int            `json:"port,omitempty"`
}

// Host returns what runs on a machine. Errors: NotFound.
func (p *Pages) Host(id string) (*HostPage, error) {
	view := p.Store.View()
	if p.Instances.Host(view, id) == nil {
		return nil, fault.Missing("host %.64q does not exist", id)
	}
	out := &HostPage{Processes: []HostProcess{}}
	for f := range p.Fleets.All(view, "") {
		for c := range p.Computes.Processes(view, f.ID, "") {
			if c.HostID != id {
				continue
			}
			row := HostProcess{
				ID: c.ID, FleetID: c.FleetID, Compute: c.ComputeName, Status: c.Status, Connected: c.Connected,
				Session: c.GameSessionID, Since: c.Initialized, SDK: c.SDK.Version, Port: c.Port,
			}
			if c.GameSessionID != "" {
				row.Players = p.Sessions.Players.Count(view, c.GameSessionID)
			}
			out.Processes = append(out.Processes, row)
		}
	}
	slices.SortFunc(out.Processes, func(a, b HostProcess) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.FleetID, b.FleetID), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}
