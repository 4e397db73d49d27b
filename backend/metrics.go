package backend

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/refusal"
)

type metrics struct {
	requests *prometheus.CounterVec
	took     prometheus.Histogram
	limits   *prometheus.CounterVec
	logins   *prometheus.CounterVec
	sockets  prometheus.Gauge
}

// newMetrics returns metrics that are registered with r unless r is nil. methods are the
// providers with which players log in.
func newMetrics(r prometheus.Registerer, h *hub, methods ...string) *metrics {
	factory := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "muster_player_" + name, Help: help}, labels)
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "muster_player_long_polls", Help: "Long polls that wait."},
		func() float64 { return float64(h.waiting.Load()) })
	m := &metrics{
		requests: counter("requests_total", "Requests of game clients.", "route", "status"),
		took: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_player_request_seconds", Help: "Time to answer game clients, long polls included.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30},
		}),
		limits:  counter("limited_total", "Requests refused because of a limit.", "limit"),
		logins:  counter("logins_total", "Logins.", "method", "result"),
		sockets: factory.NewGauge(prometheus.GaugeOpts{Name: "muster_player_sockets", Help: "Open WebSockets of game clients."}),
	}
	for _, name := range []string{limitAddress, limitKey, limitGuest, limitLogin, limitTicket, limitSession, limitWrite, limitMessage, limitLockout} {
		m.limits.WithLabelValues(name) // so that increase sees the first
	}
	for _, method := range append(methods, identity.Guest, "refresh", "merge") {
		m.logins.WithLabelValues(method, loginOK)
	}
	return m
}

func (m *metrics) request(rt route, status int, took time.Duration) {
	m.requests.WithLabelValues(rt.name(), strconv.Itoa(status)).Inc()
	m.took.Observe(took.Seconds())
}

func (m *metrics) limit(name string) { m.limits.WithLabelValues(name).Inc() }

const loginOK = "ok" // the result of a login

func (m *metrics) login(method string, err error) {
	if refusal.Is(err, identity.ProviderDisabled) { // the name is chosen by the client
		return
	}
	result := loginOK
	if r, _ := refusalOf(err); err != nil {
		result = string(r.Code)
	}
	m.logins.WithLabelValues(method, result).Inc()
}
