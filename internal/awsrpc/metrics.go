package awsrpc

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/shape"
)

// metrics counts requests; a nil *metrics counts nothing.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newMetrics registers the metrics; a nil Registerer means no metrics. The counters of
// operations that fail for no fault of the caller exist from the beginning: rate and increase
// of Prometheus do not see the event with which a counter begins.
func newMetrics(reg prometheus.Registerer, api *shape.API, codecs ...codec) *metrics {
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
	for i := range api.Operations {
		for _, c := range codecs {
			m.requests.WithLabelValues(api.Operations[i].Name, c.name(), string(fault.InternalService))
		}
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
