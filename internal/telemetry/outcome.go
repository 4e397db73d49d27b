package telemetry

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/musterhq/muster/internal/limit"
)

// outcomes count what became of requests to the receiver, and log when they begin to fail
// and when they succeed again.
type outcomes struct {
	requests *prometheus.CounterVec
	log      *slog.Logger
	warnings *limit.Warnings

	mu      sync.Mutex
	failing map[string]int // requests that failed in a row, by signal
}

func newOutcomes(r prometheus.Registerer, log *slog.Logger) *outcomes {
	o := &outcomes{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_otlp_requests_total", Help: "Requests to the receiver of OpenTelemetry by signal and result, sent or failed; what a failed one had is lost.",
		}, []string{"signal", "result"}),
		log: log, warnings: limit.NewWarnings(log), failing: map[string]int{},
	}
	r.MustRegister(o.requests)
	return o
}

// note records the outcome of a request with n items.
func (o *outcomes) note(signal string, n int, err error) {
	result := "sent"
	if err != nil {
		result = "failed"
	}
	o.requests.WithLabelValues(signal, result).Inc()
	o.mu.Lock()
	failed := o.failing[signal]
	if o.failing[signal]++; err == nil {
		delete(o.failing, signal)
	}
	o.mu.Unlock()
	switch {
	case err != nil && failed == 0:
		o.log.Warn("the receiver of OpenTelemetry does not take what it is sent, which is lost until it does", "signal", signal, "items", n, "error", err)
	case err == nil && failed > 0:
		o.log.Info("the receiver of OpenTelemetry takes what it is sent again", "signal", signal, "failed_requests", failed)
	}
}

// Handle implements otel.ErrorHandler for what the SDK reports otherwise.
func (o *outcomes) Handle(err error) {
	o.warnings.Warn("", "OpenTelemetry reports an error", "error", err)
}

// counted is an exporter whose outcomes are counted, and that does not pass on its errors:
// the SDK would log each.
type counted struct {
	metric.Exporter
	outcome *outcomes
}

// Export implements metric.Exporter.
func (c counted) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	n := 0
	for i := range m.ScopeMetrics {
		n += len(m.ScopeMetrics[i].Metrics)
	}
	c.outcome.note(metricsSignal, n, c.Exporter.Export(ctx, m))
	return nil
}
