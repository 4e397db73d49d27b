package store

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what the journal does; a nil *metrics counts nothing.
type metrics struct {
	registerer prometheus.Registerer
	registered []prometheus.Collector
	commits    prometheus.Counter
	duration   prometheus.Histogram
	commands   prometheus.Histogram
	refused    *prometheus.CounterVec
	lostOnes   prometheus.Counter
}

func newMetrics(r prometheus.Registerer, s *Store) *metrics {
	if r == nil {
		return nil
	}
	m := &metrics{
		registerer: r,
		commits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_store_commits_total", Help: "Group commits made durable."}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_store_commit_duration_seconds", Help: "Time of a group commit in SQL.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16)}),
		commands: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_store_batch_commands", Help: "Commands in a group commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11)}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_store_refused_total", Help: "Commands refused because too many waited: those that leave room for game servers (yields true), and others."}, []string{"yields"}),
	}
	m.lostOnes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "muster_store_lost_commits_total", Help: "Commands that the database had confirmed and did not have any more."})
	for _, yields := range []bool{true, false} {
		m.refused.WithLabelValues(strconv.FormatBool(yields)) // so that increase sees the first
	}
	m.registered = append(sizes(s), m.commits, m.duration, m.commands, m.refused, m.lostOnes)
	r.MustRegister(m.registered...)
	return m
}

// sizes returns gauges that read the store at each scrape.
func sizes(s *Store) []prometheus.Collector {
	all := []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "muster_store_pending", Help: "Commands waiting to become durable."}, func() float64 {
			s.mu.Lock()
			defer s.mu.Unlock()
			return float64(s.queue.pending)
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "muster_store_stalled_seconds", Help: "For how long no change could be made durable."}, func() float64 {
			stalled, _ := s.Stalled()
			return stalled.Seconds()
		}),
	}
	for _, t := range s.catalog.tables {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_store_rows", Help: "Live rows in memory.", ConstLabels: prometheus.Labels{"table": t.name()},
		}, func() float64 { return float64(t.count(s.View())) }))
	}
	return all
}

func (m *metrics) committed(commands int, took time.Duration) {
	if m == nil {
		return
	}
	m.commits.Inc()
	m.duration.Observe(took.Seconds())
	m.commands.Observe(float64(commands))
}

// refuse counts a command that was refused for lack of room.
func (m *metrics) refuse(yields bool) {
	if m != nil {
		m.refused.WithLabelValues(strconv.FormatBool(yields)).Inc()
	}
}

// lost counts commits that the database lost.
func (m *metrics) lost(n uint64) {
	if m != nil {
		m.lostOnes.Add(float64(n))
	}
}

func (m *metrics) unregister() {
	if m == nil {
		return
	}
	for _, c := range m.registered {
		m.registerer.Unregister(c)
	}
}
