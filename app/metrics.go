package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics serves every metric.
func (a *App) metrics() http.Handler { return promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}) }

// handleMetrics adds the path of metrics, unless they have a separate listener.
func (a *App) handleMetrics(mux *http.ServeMux) {
	if a.opts.MetricsListen == "" {
		mux.Handle("GET /metrics", a.metrics())
	}
}

// listenMetrics serves metrics on their separate listener, if one is configured.
func (a *App) listenMetrics() error {
	if a.opts.MetricsListen == "" {
		return nil
	}
	l, err := net.Listen("tcp", a.opts.MetricsListen)
	if err != nil {
		return fmt.Errorf("metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics())
	a.metricsServer = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: a.connectionLog(),
	}
	a.metricsAddr = l.Addr()
	a.log.Info("metrics are served on an address of their own", "address", l.Addr())
	server := a.metricsServer
	a.running.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("listen on %s for metrics: %w", a.opts.MetricsListen, err))
		}
	})
	return nil
}

// MetricsAddr returns the address of the metrics' separate listener: nil if there is none,
// and before Start.
func (a *App) MetricsAddr() net.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.metricsAddr
}
