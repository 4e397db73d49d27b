package console

import "net/http"

// Fleets is what the console tells about fleets. What the functions return is
// answered as JSON.
type Fleets struct {
	Fleets func() any // every fleet, with what runs in each location and why something is pending
	// Processes returns the game server processes of a fleet, or of all for "", in
	// locations that the caller reaches.
	Processes func(fleetID string, reaches func(location string) bool) any
}

// Fleets adds to what the console serves; call it before traffic:
//
//	GET /console/api/fleets                for whoever may DescribeFleetAttributes
//	GET /console/api/processes?fleet=ID    for whoever may DescribeGameSessions
func (c *Console) Fleets(f Fleets) {
	c.mux.HandleFunc("GET /console/api/fleets", func(w http.ResponseWriter, r *http.Request) {
		if !c.refused(w, r, "DescribeFleetAttributes") {
			c.answer(w, f.Fleets(), nil)
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
