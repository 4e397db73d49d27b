package serversdk

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/serversdk/protocol"
)

// metrics counts what game servers do.
type metrics struct {
	connections prometheus.Gauge
	messages    *prometheus.CounterVec
	pushes      *prometheus.CounterVec
	heartbeats  *prometheus.CounterVec
	refusals    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_game_server_" + name, Help: help}, labels)
	}
	m := &metrics{
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_game_server_connections", Help: "Open sockets of game server processes.",
		}),
		messages:   counter("messages_total", "Requests of game server processes, by the status they were answered with.", "action", "status"),
		pushes:     counter("pushes_total", "Messages written to game server processes that no request asked for.", "action"),
		heartbeats: counter("heartbeats_total", "Health reports of game server processes.", "healthy"),
		refusals:   counter("refused_connections_total", "Connections that were not granted, by HTTP status.", "status"),
	}
	m.begin()
	if r != nil {
		r.MustRegister(m.connections, m.messages, m.pushes, m.heartbeats, m.refusals)
	}
	return m
}

// begin creates the counters of what is expected of game servers, and of ill health: rate and
// increase of Prometheus do not see the event with which a counter begins.
func (m *metrics) begin() {
	ok := strconv.Itoa(protocol.StatusOK)
	m.messages.WithLabelValues(string(protocol.HeartbeatServerProcess), ok)
	for action := range handlers() {
		m.messages.WithLabelValues(string(action), ok)
	}
	for _, push := range []protocol.Action{protocol.CreateGameSession, protocol.UpdateGameSession, protocol.TerminateProcess, protocol.RefreshConnection} {
		m.pushes.WithLabelValues(string(push))
	}
	for _, healthy := range []bool{true, false} {
		m.heartbeats.WithLabelValues(strconv.FormatBool(healthy))
	}
}

// message counts a request; status 0 stands for a frame that could not be answered.
// Clients must not be able to create label values: for an unknown action, the caller
// passes otherAction.
func (m *metrics) message(action protocol.Action, status int) {
	m.messages.WithLabelValues(string(action), strconv.Itoa(status)).Inc()
}

// otherAction stands for every action that is not a request.
const otherAction protocol.Action = "other"
