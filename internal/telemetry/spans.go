package telemetry

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/musterhq/muster/internal/tracing"
)

// Tracer returns what makes the spans of a region: nil if none are sent.
func (e *Exporter) Tracer(region string) *tracing.Tracer {
	if e.spans == nil {
		return nil
	}
	return tracing.New(e.spans, region)
}

// spans makes spans once the Exporter has started; before that, none.
type spans struct {
	embedded.Tracer
	started atomic.Pointer[sdk.TracerProvider]
	tracer  trace.Tracer // set before started
}

// Start implements trace.Tracer.
func (s *spans) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if s.started.Load() == nil {
		return ctx, noop.Span{}
	}
	return s.tracer.Start(ctx, name, o...)
}

// startTraces begins to send spans. What is sampled, the SDK reads from OTEL_TRACES_SAMPLER.
func (e *Exporter) startTraces(ctx context.Context, about *resource.Resource) error {
	var o []otlptracehttp.Option
	if e.options.Endpoint != "" {
		o = append(o, otlptracehttp.WithEndpointURL(strings.TrimSuffix(e.options.Endpoint, "/")+"/v1/traces"))
	}
	to, err := otlptracehttp.New(ctx, o...)
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	q := &queue{most: mostWaiting(), dropped: e.dropped}
	q.SpanProcessor = sdk.NewBatchSpanProcessor(countedSpans{to, q, e.outcome}, sdk.WithMaxQueueSize(int(q.most)))
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithIDGenerator(ids{}), sdk.WithSpanProcessor(q))
	e.spans.tracer = provider.Tracer("github.com/musterhq/muster")
	e.spans.started.Store(provider)
	return nil
}

// CloseTraces sends the spans that wait, and none from then on. It takes 3 s at most.
func (e *Exporter) CloseTraces(ctx context.Context) {
	if e.spans == nil {
		return
	}
	provider := e.spans.started.Swap(nil)
	if provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	if err := provider.Shutdown(ctx); err != nil {
		e.outcome.note(tracesSignal, 0, err)
	}
}

// mostWaiting returns how many spans may wait to be sent.
func mostWaiting() int64 {
	if n, err := strconv.ParseInt(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE"), 10, 32); err == nil && n > 0 {
		return n
	}
	return sdk.DefaultMaxQueueSize
}

// queue drops the spans that end while too many wait to be sent, and counts them.
type queue struct {
	sdk.SpanProcessor
	most    int64
	waiting atomic.Int64
	dropped prometheus.Counter
}

// OnEnd implements sdk.SpanProcessor.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.most {
		q.waiting.Add(-1)
		q.dropped.Inc()
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// countedSpans is an exporter whose outcomes are counted, as counted is for metrics.
type countedSpans struct {
	sdk.SpanExporter
	queue   *queue
	outcome *outcomes
}

// ExportSpans implements sdk.SpanExporter.
func (c countedSpans) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	defer c.queue.waiting.Add(-int64(len(spans)))
	c.outcome.note(tracesSignal, len(spans), c.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// ids generates random ids, but for spans whose id was promised.
type ids struct{}

var _ sdk.IDGenerator = ids{}

// NewIDs implements sdk.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := tracing.OwnID(ctx)
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
