package client

import "context"

// Costs are what runs now, by the price list of the server. The server encodes its response
// from this type.
type Costs struct {
	Currency string      `json:"currency"` // "": the server has no prices
	Total    Cost        `json:"total"`
	Fleets   []FleetCost `json:"fleets"`
	Unused   []Unused    `json:"unused"` // by location
}

// Cost is what some instances cost.
type Cost struct {
	PerHour float64 `json:"per_hour"`
	Players int     `json:"current_player_sessions"`
	// PerPlayerHour is PerHour for each player; nil: nobody plays.
	PerPlayerHour *float64 `json:"per_player_hour"`
	Instances     int      `json:"instances"` // for an Anywhere fleet, its computes
	Unpriced      int      `json:"unpriced_instances"`
}

// FleetCost is the cost of a fleet at one location.
type FleetCost struct {
	FleetID  string `json:"fleet_id"`
	Name     string `json:"name"`
	Location string `json:"location"`
	Cost
}

// Unused is the price of what no instance takes of the machines of a location.
type Unused struct {
	Location string  `json:"location"`
	Hosts    int     `json:"hosts"`
	PerHour  float64 `json:"per_hour"`
}

// Costs returns what the fleets cost.
func (c *Client) Costs(ctx context.Context) (costs Costs, err error) {
	_, err = c.read(ctx, "/console/api/costs", &costs)
	return costs, err
}
