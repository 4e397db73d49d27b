package door

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// register registers the metrics; a nil Registerer means no metrics.
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
	counter := func(name, help string, value *atomic.Int64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value.Load()) }))
	}
	counter("muster_connections_closed_total", "Connections that were closed to make room for others, or found none.", &d.conns.closed)
	counter("muster_connections_slow_total", "Connections that were closed because the client took too little of what it was sent.", &d.conns.slow)
}
