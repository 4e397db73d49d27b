package store

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what the journal does; a nil *metrics counts nothing.
type metrics struct {
	registerer prometheus.Registerer
	commits    prometheus.Counter
	duration   prometheus.Histogram
	commands   prometheus.Histogram
	refused    *prometheus.CounterVec
	state      *stateCollector
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
		state: newStateCollector(s),
	}
	r.MustRegister(m.commits, m.duration, m.commands, m.refused, m.state)
	return m
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

func (m *metrics) unregister() {
	if m == nil {
		return
	}
	for _, c := range []prometheus.Collector{m.commits, m.duration, m.commands, m.refused, m.state} {
		m.registerer.Unregister(c)
	}
}

// stateCollector reads sizes on each scrape.
type stateCollector struct {
	store   *Store
	pending *prometheus.Desc
	stalled *prometheus.Desc
	rows    *prometheus.Desc
}

func newStateCollector(s *Store) *stateCollector {
	return &stateCollector{
		store:   s,
		pending: prometheus.NewDesc("muster_store_pending", "Commands waiting to become durable.", nil, nil),
		stalled: prometheus.NewDesc("muster_store_stalled_seconds", "For how long no change could be made durable.", nil, nil),
		rows:    prometheus.NewDesc("muster_store_rows", "Live rows in memory.", []string{"table"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.pending
	ch <- c.stalled
	ch <- c.rows
}

// Collect implements prometheus.Collector.
func (c *stateCollector) Collect(ch chan<- prometheus.Metric) {
	c.store.mu.Lock()
	pending := c.store.queue.pending
	c.store.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(c.pending, prometheus.GaugeValue, float64(pending))
	stalled, _ := c.store.Stalled()
	ch <- prometheus.MustNewConstMetric(c.stalled, prometheus.GaugeValue, stalled.Seconds())
	view := c.store.View()
	for _, t := range c.store.catalog.tables {
		ch <- prometheus.MustNewConstMetric(c.rows, prometheus.GaugeValue, float64(t.count(view)), t.name())
	}
}
