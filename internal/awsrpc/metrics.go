package awsrpc

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests; a nil *metrics counts nothing.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newMetrics registers the metrics; a nil Registerer means no metrics.
func newMetrics(reg prometheus.Registerer) *metrics {
	if reg == nil {
		return nil
	}
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_api_requests_total",
			Help: "Requests to the API by operation, wire protocol and error code (OK when there is none).",
		}, []string{"operation", "protocol", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_api_request_duration_seconds",
			Help:    "Time from a request's arrival to its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"operation"}),
	}
	reg.MustRegister(m.requests, m.duration)
	return m
}

func (m *metrics) observe(operation, protocol, code string, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(operation, protocol, code).Inc()
	m.duration.WithLabelValues(operation).Observe(took.Seconds())
}
