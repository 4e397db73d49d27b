package console

import "net/http"

// Fleets is what the console tells about fleets. What the functions return is
// answered as JSON.
type Fleets struct {
	Fleets    func() any               // every fleet, with what runs in each location and why something is pending
	Processes func(fleetID string) any // the game server processes of a fleet, or of all for ""
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
		if !c.refused(w, r, "DescribeGameSessions") {
			c.answer(w, f.Processes(r.URL.Query().Get("fleet")), nil)
		}
	})
}
