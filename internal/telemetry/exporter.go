package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Exporter sends what a server measures. It is made with New, then started, then closed.
type Exporter struct {
	options Options
	outcome *outcomes
	metrics *metric.MeterProvider // nil: not sent
	spans   *spans                // nil: not sent
	dropped prometheus.Counter    // spans
}

// New returns an Exporter, which sends nothing until Start. The error names what is
// misconfigured.
func New(o Options) (*Exporter, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	e := &Exporter{options: o, outcome: newOutcomes(o.Registerer, o.Logger), dropped: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "muster_otlp_dropped_spans_total", Help: "Spans that were not sent to the receiver of OpenTelemetry because too many waited.",
	})}
	o.Registerer.MustRegister(e.dropped)
	if o.sends(tracesSignal) {
		e.spans = &spans{}
	}
	return e, nil
}

// Start begins to send, if there is a receiver. It does not wait for it.
func (e *Exporter) Start(ctx context.Context) error {
	measured, traced := e.options.sends(metricsSignal), e.spans != nil
	if !measured && !traced {
		return nil
	}
	otel.SetErrorHandler(e.outcome) // of the whole process: the SDK knows no other
	about, err := e.resource(ctx)
	if err != nil {
		return err
	}
	if traced {
		if err := e.startTraces(ctx, about); err != nil {
			return err
		}
	}
	if measured {
		return e.startMetrics(ctx, about)
	}
	return nil
}

// resource describes this server to the receiver.
func (e *Exporter) resource(ctx context.Context) (*resource.Resource, error) {
	r, err := resource.New(ctx, resource.WithHost(), resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName(cmp.Or(e.options.Service, "muster")), semconv.ServiceVersion(e.options.Version), semconv.ServiceInstanceID(e.options.Instance),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return r, nil
}

func (e *Exporter) startMetrics(ctx context.Context, about *resource.Resource) error {
	var o []otlpmetrichttp.Option
	if e.options.Endpoint != "" {
		o = append(o, otlpmetrichttp.WithEndpointURL(strings.TrimSuffix(e.options.Endpoint, "/")+"/v1/metrics"))
	}
	to, err := otlpmetrichttp.New(ctx, o...)
	if err != nil {
		return fmt.Errorf("send metrics: %w", err)
	}
	from := bridge.NewMetricProducer(bridge.WithGatherer(e.options.Gatherer))
	e.metrics = metric.NewMeterProvider(metric.WithResource(about),
		metric.WithReader(metric.NewPeriodicReader(counted{to, e.outcome}, metric.WithProducer(from))))
	return nil
}

// closing bounds how long the end of a signal waits for a receiver.
const closing = 3 * time.Second

// CloseMetrics sends the metrics once more, and none from then on. It takes 3 s at most.
func (e *Exporter) CloseMetrics(ctx context.Context) {
	if e.metrics == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	if err := e.metrics.Shutdown(ctx); err != nil {
		e.outcome.note(metricsSignal, 0, err)
	}
}
