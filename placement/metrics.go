package placement

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics uses the metric names that the API publishes for queues.
type metrics struct {
	counts *prometheus.CounterVec
	wait   *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer, s *Service) *metrics {
	m := &metrics{
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_queue_events_total",
			Help: "Events of game session queues, under the published metric names (PlacementsStarted, FirstChoiceOutOfCapacity, Placement LOCATION, …).",
		}, []string{"metric", "queue_name"}),
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_queue_time_to_place_seconds",
			Help:    "Time from StartGameSessionPlacement to FULFILLED.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600},
		}, []string{"queue_name"}),
	}
	if r != nil {
		r.MustRegister(m.counts, m.wait, depths{s, prometheus.NewDesc("muster_queue",
			"State of game session queues, under the published metric names (QueueDepth, AverageWaitTime in seconds).",
			[]string{"metric", "queue_name"}, nil)})
	}
	return m
}

func (m *metrics) count(metric, queue string) {
	m.counts.WithLabelValues(metric, queue).Inc()
}

// ended counts the result of a placement, its location and the outcome of its first
// choice.
func (m *metrics) ended(p *Placement) {
	m.count(ends[p.Status].metric, p.Queue)
	if p.Status != Fulfilled {
		return
	}
	m.wait.WithLabelValues(p.Queue).Observe(p.Ended.Sub(p.Started).Seconds())
	m.count("Placement "+p.Location, p.Queue)
	if len(p.Rounds) > 0 {
		m.placed(p.Rounds[len(p.Rounds)-1], p.Queue)
	}
}

// placed counts the quality of the place that a round chose.
func (m *metrics) placed(r Round, queue string) {
	if r.LowestLatency {
		m.count("LowestLatencyPlacement", queue)
	}
	if r.LowestPrice {
		m.count("LowestPricePlacement", queue)
	}
	switch r.firstChoice() {
	case Chosen, "":
	case NoFreeProcess:
		m.count("FirstChoiceOutOfCapacity", queue)
	default:
		m.count("FirstChoiceNotViable", queue)
	}
}

// depths collects the number of pending placements and their average wait for each queue.
type depths struct {
	s    *Service
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (d depths) Describe(out chan<- *prometheus.Desc) { out <- d.desc }

// Collect implements prometheus.Collector.
func (d depths) Collect(out chan<- prometheus.Metric) {
	view, now := d.s.st.View(), time.Now()
	if view == nil {
		return // the store is not open yet
	}
	for q := range d.s.t.queues.All(view) {
		depth := d.s.depth(view, q.Name, now)
		out <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, float64(depth.Pending), "QueueDepth", q.Name)
		out <- prometheus.MustNewConstMetric(d.desc, prometheus.GaugeValue, depth.AverageWait.Seconds(), "AverageWaitTime", q.Name)
	}
}
