package console

import "net/http"

// Fleets has the functions for requests about fleets. Their results are sent as JSON.
type Fleets struct {
	Fleets func() any // returns all fleets, with what runs in each location and why something is pending
	Costs  func() any // returns what they cost by the server's price list
	// Processes returns the game server processes of a fleet, or of all fleets if
	// fleetID is "", in locations that are in the caller's scope.
	Processes func(fleetID string, reaches func(location string) bool) any
}

// Fleets adds these routes, and must be called before the console serves requests:
//
//	GET /console/api/fleets                requires DescribeFleetAttributes
//	GET /console/api/costs                 requires DescribeFleetAttributes
//	GET /console/api/processes?fleet=ID    requires DescribeGameSessions
func (c *Console) Fleets(f Fleets) {
	c.mux.HandleFunc("GET /console/api/fleets", func(w http.ResponseWriter, r *http.Request) {
		if !c.refused(w, r, "DescribeFleetAttributes") {
			c.answer(w, f.Fleets(), nil)
		}
	})
	c.mux.HandleFunc("GET /console/api/costs", func(w http.ResponseWriter, r *http.Request) {
		if !c.refused(w, r, "DescribeFleetAttributes") {
			c.answer(w, f.Costs(), nil)
		}
	})
	c.mux.HandleFunc("GET /console/api/processes", func(w http.ResponseWriter, r *http.Request) {
		fleet := r.URL.Query().Get("fleet")
		var of []string
		if fleet != "" {
			of = []string{c.resource("fleet", fleet)}
		}
		caller, err := c.opts.Allow(r, "DescribeGameSessions", of...)
		if !c.denied(w, err) {
			c.answer(w, f.Processes(fleet, func(location string) bool {
				return caller.ReachesBeside(c.resource("location", location))
			}), nil)
		}
	})
}
