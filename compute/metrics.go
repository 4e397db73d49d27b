package compute

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// ends counts the game server processes that have ended, by fleet, location and why. It is the
// collector of that metric.
type ends struct {
	st     *store.Store
	fleets *fleet.Service
	desc   *prometheus.Desc

	mu sync.Mutex
	n  map[end]int
}

// end is what ends are counted by.
type end struct {
	fleetID, location string
	code              event.Code
}

func newEnds(r prometheus.Registerer, st *store.Store, fleets *fleet.Service) *ends {
	e := &ends{st: st, fleets: fleets, n: map[end]int{}, desc: prometheus.NewDesc("muster_fleet_ended_server_processes_total",
		"Game server processes that have ended, by the code of the event that says why (other: a code that is not of the end of a process).",
		[]string{"fleet_id", "fleet_name", "location", "code"}, nil)}
	if r != nil {
		r.MustRegister(e)
	}
	return e
}

// firstEnds are the codes that each location of a fleet has from its creation: rate and increase
// of Prometheus do not see the event with which a counter begins.
var firstEnds = []event.Code{
	event.ProcessEnded, event.ServerProcessCrashed, event.ServerProcessForceTerminated, event.ServerProcessReadyTimeout,
	event.ServerProcessSDKInitTimeout, event.ServerProcessUnhealthy,
}

// laterEnds are the other codes by which ends are counted. Hosts report codes, too, and must not
// be able to create metric series.
var laterEnds = []event.Code{
	event.ServerProcessExitTimeout, event.ServerProcessInvalidPath, event.ServerProcessWrongPort,
	event.GameSessionActivationTimeout, event.ComputeDeregistered, event.InstanceDraining,
}

const otherEnd event.Code = "other"

// count counts an end. It must be called once the end is durable.
func (e *ends) count(fleetID, location string, code event.Code) {
	if !slices.Contains(firstEnds, code) && !slices.Contains(laterEnds, code) {
		code = otherEnd
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n[end{fleetID, location, code}]++
}

// Describe implements prometheus.Collector.
func (e *ends) Describe(out chan<- *prometheus.Desc) { out <- e.desc }

// Collect implements prometheus.Collector. It forgets what was counted of fleets that do not
// exist anymore.
func (e *ends) Collect(out chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	view := e.st.View() // no older than what was counted
	if view == nil {
		return // the store is not open yet
	}
	all := make(map[end]int, len(e.n))
	for f := range e.fleets.All(view, "") {
		for _, at := range f.Locations {
			for _, code := range firstEnds {
				all[end{f.ID, at.Location, code}] = 0
			}
		}
	}
	for k, n := range e.n {
		if e.fleets.Get(view, k.fleetID) == nil {
			delete(e.n, k)
			continue
		}
		all[k] = n
	}
	for k, n := range all {
		out <- prometheus.MustNewConstMetric(e.desc, prometheus.CounterValue, float64(n), k.fleetID, e.fleets.Get(view, k.fleetID).Name, k.location, string(k.code))
	}
}

// CountEnd counts the end of a process that had not connected.
func (ps *processes) CountEnd(tx *store.Tx, fleetID, location string, code event.Code) {
	tx.OnCommit(func() { ps.ends.count(fleetID, location, code) })
}
