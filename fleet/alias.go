package fleet

import (
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Routing is where an alias leads.
type Routing string

// The routing strategies of the API.
const (
	Simple   Routing = "SIMPLE"
	Terminal Routing = "TERMINAL"
)

// Alias names a fleet, or returns a message to callers instead.
type Alias struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description,omitzero"`
	Routing     Routing   `json:"routing"`
	FleetID     string    `json:"fleet_id,omitzero"`
	Message     string    `json:"message,omitzero"` // for callers if Routing is Terminal; AWS's tools send one with Simple too
	Created     time.Time `json:"created"`
	Updated     time.Time `json:"updated"`
}

// checkRouting checks the rules of RoutingStrategy that span several members.
func checkRouting(routing Routing, fleetID, message string) error {
	switch {
	case routing == Simple && fleetID == "":
		return fault.Invalid("RoutingStrategy.FleetId: required when RoutingStrategy.Type is SIMPLE")
	case routing == Terminal && message == "":
		return fault.Invalid("RoutingStrategy.Message: required when RoutingStrategy.Type is TERMINAL")
	case routing == Terminal && fleetID != "":
		return fault.Invalid("RoutingStrategy.FleetId: allowed only when RoutingStrategy.Type is SIMPLE")
	}
	return nil
}
