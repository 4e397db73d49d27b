package placement

import "github.com/prometheus/client_golang/prometheus"

// metrics count under the names that the API publishes for queues.
type metrics struct {
	counts *prometheus.CounterVec
	wait   *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	if r == nil {
		return nil
	}
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
	r.MustRegister(m.counts, m.wait)
	return m
}

func (m *metrics) count(metric, queue string) {
	if m != nil {
		m.counts.WithLabelValues(metric, queue).Inc()
	}
}

// ended counts how a placement ended, where, and what became of its first choice.
func (m *metrics) ended(p *Placement, r *Request) {
	if m == nil {
		return
	}
	m.count(ends[p.Status].metric, p.Queue)
	if p.Status != Fulfilled {
		return
	}
	m.wait.WithLabelValues(p.Queue).Observe(p.Ended.Sub(p.Started).Seconds())
	m.count("Placement "+p.Location, p.Queue)
	if len(p.Rounds) == 0 || len(p.Rounds[len(p.Rounds)-1].Candidates) == 0 {
		return
	}
	switch first := p.Rounds[len(p.Rounds)-1].Candidates[0]; first.Outcome {
	case Chosen:
		if r != nil && len(r.Summary) > 0 {
			m.count("LowestLatencyPlacement", p.Queue)
		}
	case NoFreeProcess:
		m.count("FirstChoiceOutOfCapacity", p.Queue)
	default:
		m.count("FirstChoiceNotViable", p.Queue)
	}
}
