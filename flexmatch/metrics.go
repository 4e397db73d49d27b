package flexmatch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/internal/store"
)

// metrics uses the metric names that the API publishes for configurations.
type metrics struct {
	counts *prometheus.CounterVec
	rules  *prometheus.CounterVec
	times  *prometheus.HistogramVec
	stages *prometheus.HistogramVec

	passes   *prometheus.HistogramVec
	turns    *prometheus.HistogramVec
	searches *prometheus.CounterVec
	cut      *prometheus.CounterVec
	left     *prometheus.CounterVec
}

// topRules is the most rules counted per configuration (developer guide, "Monitor with
// CloudWatch").
const topRules = 50

// passBuckets are bounds of the times of passes, in seconds.
var passBuckets = []float64{.0001, .001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5}

func newMetrics(r prometheus.Registerer, st *store.Store, t *tables) *metrics {
	if r == nil {
		r = prometheus.NewRegistry()
	}
	buckets := []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}
	ofConfiguration := []string{"configuration_name"}
	m := &metrics{
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_matchmaking_events_total",
			Help: "Events of matchmaking configurations, under the published metric names (TicketsStarted, MatchesCreated, PlayersStarted, …).",
		}, []string{"metric", "configuration_name"}),
		rules: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_matchmaking_rule_evaluations_total",
			Help: "Evaluations of rules in matches that were found, under the published metric names (RuleEvaluationsPassed, RuleEvaluationsFailed).",
		}, []string{"metric", "configuration_name", "rule_name"}),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_matchmaking_time_seconds", Buckets: buckets,
			Help: "Times from StartMatchmaking, under the published metric names (TimeToMatch, TimeToTicketSuccess, TimeToTicketCancel).",
		}, []string{"metric", "configuration_name"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_matchmaking_stage_seconds", Buckets: buckets,
			Help: "How long tickets took after they were matched: stage accept, until the last player of the match has accepted, if they are asked; stage place, from then until the ticket has its game session.",
		}, []string{"stage", "configuration_name"}),
		passes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_matchmaking_pass_seconds", Buckets: passBuckets,
			Help: "Time that one pass over a configuration's waiting tickets took.",
		}, ofConfiguration),
		turns: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_matchmaking_pass_wait_seconds", Buckets: passBuckets,
			Help: "Time that a pass waited for its turn: all configurations share the processors.",
		}, ofConfiguration),
		searches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_matchmaking_searches_total",
			Help: "Searches for a match around a ticket.",
		}, ofConfiguration),
		cut: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_matchmaking_searches_cut_total",
			Help: "Of the searches for a match, those without one that a bound ended before all was tried: the rule set is expensive.",
		}, ofConfiguration),
		left: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_matchmaking_passes_ended_total",
			Help: "Passes that took all their time and left tickets to the next pass.",
		}, ofConfiguration),
	}
	r.MustRegister(configurationCounts{m, st, t}, m.rules, m.turns, m.times, m.stages, m.passes, current{st, t, prometheus.NewDesc("muster_matchmaking",
		"State of matchmaking configurations, under the published metric name (CurrentTickets).", []string{"metric", "configuration_name"}, nil)})
	return m
}

func (m *metrics) count(metric, configuration string, n int) {
	if n > 0 {
		m.counts.WithLabelValues(metric, configuration).Add(float64(n))
	}
}

func (m *metrics) ended(t *Ticket) {
	took := t.Ended.Sub(t.Started).Seconds()
	switch t.Status {
	case Completed:
		m.times.WithLabelValues("TimeToTicketSuccess", t.Configuration).Observe(took)
	case life.Cancelled:
		m.times.WithLabelValues("TimeToTicketCancel", t.Configuration).Observe(took)
	case life.TimedOut:
		m.count("TicketsTimedOut", t.Configuration, 1)
	case life.Failed:
		m.count("TicketsFailed", t.Configuration, 1)
	}
}

func (m *metrics) found(match *Match) {
	m.count("MatchesCreated", match.Configuration, 1)
	for _, r := range match.Rules[:min(len(match.Rules), topRules)] {
		m.rules.WithLabelValues("RuleEvaluationsPassed", match.Configuration, r.Rule).Add(float64(r.Passed))
		m.rules.WithLabelValues("RuleEvaluationsFailed", match.Configuration, r.Rule).Add(float64(r.Failed))
	}
}

func (m *metrics) matched(match *Match) {
	m.count("PlayersStarted", match.Configuration, match.Players)
}

// waited observes how long a ticket waited for its match.
func (m *metrics) waited(configuration string, d time.Duration) {
	m.times.WithLabelValues("TimeToMatch", configuration).Observe(d.Seconds())
}

// staged observes how long a ticket was in a stage. TimeToMatch has the first.
func (m *metrics) staged(configuration string, s Stage, took time.Duration) {
	if s != Matching {
		m.stages.WithLabelValues(string(s), configuration).Observe(took.Seconds())
	}
}

// passed observes a pass: how long it waited for its turn, how long it took, and what it did.
func (m *metrics) passed(configuration string, waited, took time.Duration, did pool.Effort) {
	m.turns.WithLabelValues(configuration).Observe(waited.Seconds())
	m.passes.WithLabelValues(configuration).Observe(took.Seconds())
	m.searches.WithLabelValues(configuration).Add(float64(did.Searches))
	m.cut.WithLabelValues(configuration).Add(float64(did.Cut))
	m.left.WithLabelValues(configuration).Add(float64(did.Ended))
}

// events are the published names of the counters that each configuration has.
var events = []string{
	"TicketsStarted", "TicketsTimedOut", "TicketsFailed", "MatchesCreated", "MatchesAccepted", "MatchesRejected",
	"MatchAcceptancesTimedOut", "MatchesPlaced", "PlayersStarted",
}

// configurationCounts collects the counters of configurations. Each configuration has all of
// them from its creation: rate and increase of Prometheus do not see the event with which a
// counter begins.
type configurationCounts struct {
	of *metrics
	st *store.Store
	t  *tables
}

func (c configurationCounts) vectors() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{c.of.counts, c.of.searches, c.of.cut, c.of.left}
}

// Describe implements prometheus.Collector.
func (c configurationCounts) Describe(out chan<- *prometheus.Desc) {
	for _, v := range c.vectors() {
		v.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (c configurationCounts) Collect(out chan<- prometheus.Metric) {
	if view := c.st.View(); view != nil {
		for conf := range c.t.configurations.All(view) {
			for _, metric := range events {
				c.of.counts.WithLabelValues(metric, conf.Name)
			}
			for _, v := range []*prometheus.CounterVec{c.of.searches, c.of.cut, c.of.left} {
				v.WithLabelValues(conf.Name)
			}
		}
	}
	for _, v := range c.vectors() {
		v.Collect(out)
	}
}

// current collects the number of active tickets of each configuration.
type current struct {
	st   *store.Store
	t    *tables
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c current) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c current) Collect(out chan<- prometheus.Metric) {
	view := c.st.View()
	if view == nil {
		return // the store is not open yet
	}
	for conf := range c.t.configurations.All(view) {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(c.t.active.Count(view, conf.Name)), "CurrentTickets", conf.Name)
	}
}
