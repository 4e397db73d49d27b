package placement

import (
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
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
		r.MustRegister(queueCounts{m.counts, s}, m.wait, depths{s, prometheus.NewDesc("muster_queue",
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
	m.count(placementAt(p.Location), p.Queue)
	if len(p.Rounds) > 0 {
		m.placed(p.Rounds[len(p.Rounds)-1], p.Queue)
	}
}

// placed counts the quality of the place that a round chose.
func (m *metrics) placed(r Round, queue string) {
	if r.LowestLatency {
		m.count(metricLowestLatency, queue)
	}
	if r.LowestPrice {
		m.count(metricLowestPrice, queue)
	}
	switch r.firstChoice() {
	case Chosen, "":
	case NoFreeProcess:
		m.count(metricOutOfCapacity, queue)
	default:
		m.count(metricNotViable, queue)
	}
}

// Published names of counters.
const (
	metricStarted       = "PlacementsStarted"
	metricLowestLatency = "LowestLatencyPlacement"
	metricLowestPrice   = "LowestPricePlacement"
	metricOutOfCapacity = "FirstChoiceOutOfCapacity"
	metricNotViable     = "FirstChoiceNotViable"
)

// placementAt returns the published name of the counter of a location.
func placementAt(location string) string { return "Placement " + location }

// counted yields the names of the counters that a queue has, other than those of locations
// at remotes.
func (s *Service) counted(r store.Reader, q *Queue) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range []string{metricStarted, metricLowestLatency, metricLowestPrice, metricOutOfCapacity, metricNotViable} {
			if !yield(name) {
				return
			}
		}
		for _, end := range ends {
			if !yield(end.metric) {
				return
			}
		}
		for _, destination := range q.Destinations {
			f, _ := s.resolve(r, destination)
			if f == nil {
				continue
			}
			for _, l := range f.Locations {
				if q.allows(l.Location) && !yield(placementAt(l.Location)) {
					return
				}
			}
		}
	}
}

// queueCounts collects the counters of queues. Each queue has all of them from its creation:
// rate and increase of Prometheus do not see the event with which a counter begins.
type queueCounts struct {
	*prometheus.CounterVec
	s *Service
}

// Collect implements prometheus.Collector.
func (c queueCounts) Collect(out chan<- prometheus.Metric) {
	if view := c.s.st.View(); view != nil {
		for q := range c.s.t.queues.All(view) {
			for metric := range c.s.counted(view, q) {
				c.WithLabelValues(metric, q.Name)
			}
		}
	}
	c.CounterVec.Collect(out)
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
