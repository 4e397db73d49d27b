package door

import "github.com/prometheus/client_golang/prometheus"

// register registers the metrics; a nil Registerer means off.
func (d *Door) register(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("muster_connections", "Connections that are open.", func() float64 {
		open, _ := d.conns.count()
		return float64(open)
	})
	gauge("muster_connections_strangers", "Connections that are open and have not shown who they are.", func() float64 {
		_, strangers := d.conns.count()
		return float64(strangers)
	})
	gauge("muster_request_bytes_held", "Bytes of request bodies that are held in memory.", func() float64 {
		return float64(d.budget.inUse())
	})
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "muster_connections_closed_total", Help: "Connections that were closed to make room for others, or found none.",
	}, func() float64 { return float64(d.conns.closed.Load()) }))
}
