package hosts

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	connected prometheus.Gauge
	exits     *prometheus.CounterVec
	logBytes  prometheus.Counter
	shells    prometheus.Gauge
}

// newMetrics registers the metrics; unsupported returns how many agents are of a release that
// is not supported with this one.
func newMetrics(r prometheus.Registerer, unsupported func() int) *metrics {
	m := &metrics{
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_hosts_connected", Help: "Hosts whose agent is connected.",
		}),
		exits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_hosts_process_exits_total", Help: "Ends of processes that hosts reported, by why they were asked to end.",
		}, []string{"reason"}),
		logBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_hosts_log_bytes_total", Help: "Bytes of logs that hosts brought.",
		}),
		shells: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_hosts_shells", Help: "Remote shells that are open.",
		}),
	}
	for _, reason := range exitReasons {
		m.exits.WithLabelValues(reason)
	}
	if r != nil {
		r.MustRegister(m.connected, m.exits, m.logBytes, m.shells, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_hosts_unsupported", Help: "Hosts that are connected and whose agent is of a release that is not supported with this server's.",
		}, func() float64 { return float64(unsupported()) }))
	}
	return m
}

// exitReasons are the reasons by which ends of processes are counted: event codes, "" for an end
// that nobody asked for, and otherReason for all others, so that hosts cannot create metric
// series.
var exitReasons = []string{
	"", "SERVER_PROCESS_INVALID_PATH", "SERVER_PROCESS_CRASHED", "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT",
	"SERVER_PROCESS_FORCE_TERMINATED", "SERVER_PROCESS_TERMINATED_UNHEALTHY", "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT",
	otherReason,
}

const otherReason = "other"

// exit counts the end of a process.
func (m *metrics) exit(reason string) {
	if !slices.Contains(exitReasons, reason) {
		reason = otherReason
	}
	m.exits.WithLabelValues(reason).Inc()
}
