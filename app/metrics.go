package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/musterhq/muster/internal/release"
)

// metrics are the figures of a node, and where they are served.
type metrics struct {
	registry *prometheus.Registry // of the node itself
	listener net.Listener         // of their own; nil: the paths have them, or not open yet
	server   *http.Server

	mu      sync.Mutex
	regions map[string]prometheus.Gatherer // of their replicas
}

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), regions: map[string]prometheus.Gatherer{}}
	v := release.This()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "muster_build_info", Help: "1, with the release of this program and what it was built from."}, []string{"version", "commit", "go"})
	build.WithLabelValues(v.Number, v.Commit, v.Go).Set(1)
	m.registry.MustRegister(build)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// set makes g the figures of a region.
func (m *metrics) set(region string, g prometheus.Gatherer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.regions[region] = g
}

// Gather implements prometheus.Gatherer with the figures of the node and of all regions.
func (m *metrics) Gather() ([]*dto.MetricFamily, error) {
	m.mu.Lock()
	all := prometheus.Gatherers{m.registry}
	for _, g := range m.regions {
		all = append(all, g)
	}
	m.mu.Unlock()
	return all.Gather()
}

// handle adds the metrics to the paths of a listener.
func (m *metrics) handle(mux *http.ServeMux) {
	mux.Handle("GET /metrics", promhttp.HandlerFor(m, promhttp.HandlerOpts{}))
}

// open opens a listener for metrics alone; serve serves it.
func (m *metrics) open(o *Options) error {
	l, err := net.Listen("tcp", o.MetricsListen)
	if err != nil {
		return fmt.Errorf("metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	m.handle(mux)
	m.listener = l
	m.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: connectionLog(o.Logger),
	}
	o.Logger.Info("metrics are served on an address of their own", "address", l.Addr())
	return nil
}

// serve serves the listener for metrics until close.
func (m *metrics) serve() error {
	if err := m.server.Serve(m.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen on %s for metrics: %w", m.listener.Addr(), err)
	}
	return nil
}

func (m *metrics) close() {
	if m.server != nil {
		m.server.Close()
	}
}
