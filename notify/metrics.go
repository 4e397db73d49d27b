package notify

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	deliveries *prometheus.CounterVec
	handshakes *prometheus.CounterVec
}

// Results of attempts.
const (
	resultDelivered = "delivered"
	resultFailed    = "failed"  // no answer, or one that asks for a retry
	resultRefused   = "refused" // an answer that refuses the notice
	resultDead      = "dead"    // given up, after attempts that are counted separately
)

func resultOf(err error) string {
	switch {
	case err == nil:
		return resultDelivered
	case isRefusal(err):
		return resultRefused
	}
	return resultFailed
}

// newMetrics returns metrics that are registered with r unless r is nil.
func newMetrics(r prometheus.Registerer, s *Service) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_notify_" + name, Help: help}, []string{"sink", "result"})
	}
	m := &metrics{
		deliveries: counter("deliveries_total", "Attempts to deliver a notice to a sink, by result; dead counts notices given up."),
		handshakes: counter("handshakes_total", "Messages about their subscription to endpoints of kind sns, by result."),
	}
	if r != nil {
		r.MustRegister(lags{s}, attempts{m.deliveries, s}, m.handshakes)
	}
	return m
}

// attempts collects the counters of deliveries. Each sink has all of them from the beginning:
// rate and increase of Prometheus do not see the event with which a counter begins.
type attempts struct {
	*prometheus.CounterVec
	s *Service
}

// Collect implements prometheus.Collector.
func (a attempts) Collect(out chan<- prometheus.Metric) {
	for _, k := range a.s.current() {
		for _, result := range []string{resultDelivered, resultFailed, resultRefused, resultDead} {
			a.WithLabelValues(k.cfg.Name, result)
		}
	}
	a.CounterVec.Collect(out)
}

// lags collects how far behind the sinks are, measured at each collection.
type lags struct{ s *Service }

func (lags) desc() (lag, dead *prometheus.Desc) {
	lag = prometheus.NewDesc("muster_notify_lag_seconds", "Age of the oldest notice that a sink has not been told; 0 when there is none.", []string{"sink"}, nil)
	dead = prometheus.NewDesc("muster_notify_dead_letters", "Notices that were given up and are kept.", []string{"sink"}, nil)
	return lag, dead
}

// Describe implements prometheus.Collector.
func (l lags) Describe(out chan<- *prometheus.Desc) {
	lag, dead := l.desc()
	out <- lag
	out <- dead
}

// Collect implements prometheus.Collector.
func (l lags) Collect(out chan<- prometheus.Metric) {
	lag, dead := l.desc()
	for _, k := range l.s.current() {
		out <- prometheus.MustNewConstMetric(lag, prometheus.GaugeValue, k.lag(time.Now()).Seconds(), k.cfg.Name)
		n := 0
		if view := k.svc.st.View(); view != nil { // nil until the store is open
			n = k.svc.t.deadOf.Count(view, k.cfg.Name)
		}
		out <- prometheus.MustNewConstMetric(dead, prometheus.GaugeValue, float64(n), k.cfg.Name)
	}
}

// lag returns the age of the oldest notice that waits.
func (k *sink) lag(now time.Time) time.Duration {
	oldest := k.oldest.Load()
	if oldest == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, oldest)))
}
