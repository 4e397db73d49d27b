package archive

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct{ objects, bytes, failures prometheus.Counter }

// newMetrics returns metrics that are registered with r unless r is nil.
func newMetrics(r prometheus.Registerer, s *Service) *metrics {
	if r != nil {
		r.MustRegister(lost{s})
	}
	with := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_events_archive_lag_seconds", Help: "Age of the oldest event that the archive of events does not have; 0 when there is none.",
	}, func() float64 { return s.lag(time.Now()).Seconds() })
	return &metrics{
		objects:  counter("muster_events_archive_objects_total", "Objects that were stored in the archive of events."),
		bytes:    counter("muster_events_archive_bytes_total", "Bytes of those objects, compressed."),
		failures: counter("muster_events_archive_failures_total", "Attempts to write the archive of events that failed; they are repeated."),
	}
}

// lag returns the age of the oldest event that waits.
func (s *Service) lag(now time.Time) time.Duration {
	oldest := s.oldest.Load()
	if oldest == 0 {
		return 0
	}
	return max(0, now.Sub(time.Unix(0, oldest)))
}

// lost collects how many events are lost, once this node has the state: the number is part of
// it, and does not begin again with each owner.
type lost struct{ s *Service }

var lostDesc = prometheus.NewDesc("muster_events_archive_lost_total", "Events that were removed from the database before the archive had them, ever.", nil, nil)

// Describe implements prometheus.Collector.
func (l lost) Describe(out chan<- *prometheus.Desc) { out <- lostDesc }

// Collect implements prometheus.Collector.
func (l lost) Collect(out chan<- prometheus.Metric) {
	if view := l.s.st.View(); view != nil {
		out <- prometheus.MustNewConstMetric(lostDesc, prometheus.CounterValue, float64(l.s.position(view).Lost))
	}
}
