package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/musterhq/muster/internal/fault"
)

// Tracer makes the spans of a region. Methods of a nil *Tracer make none.
type Tracer struct {
	spans  trace.Tracer
	region trace.SpanStartEventOption // an attribute of all spans
	begun  begun
}

// New returns a Tracer whose spans are made by spans. An agent's has no region.
func New(spans trace.Tracer, region string) *Tracer {
	t := &Tracer{spans: spans, region: trace.WithAttributes()}
	if region != "" {
		t.region = trace.WithAttributes(attribute.String("muster.region", region))
	}
	return t
}

type tracerKey struct{}

// With returns a context in which Start and Child make spans of t.
func (t *Tracer) With(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, t)
}

func of(ctx context.Context) *Tracer {
	t, _ := ctx.Value(tracerKey{}).(*Tracer)
	return t
}

// w3c reads and writes traceparent and tracestate.
var w3c propagation.TraceContext

// Request begins the span of a request that came over HTTP. It continues the trace of the
// caller or, if that is a stranger, links to it: strangers do not decide what is sampled.
func (t *Tracer) Request(r *http.Request, stranger bool, door string) (context.Context, trace.Span) {
	o := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), t.region, trace.WithAttributes(
		attribute.String("muster.door", door), attribute.String("http.request.method", method(r.Method)),
	)}
	ctx := t.With(r.Context())
	told := w3c.Extract(ctx, propagation.HeaderCarrier(r.Header))
	if !stranger {
		ctx = told
	} else if from := trace.SpanContextFromContext(told); from.IsValid() {
		o = append(o, trace.WithLinks(trace.Link{SpanContext: from}))
	}
	return t.spans.Start(ctx, door, o...)
}

// method returns a method of HTTP, and "_OTHER" for what callers made up.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "_OTHER"
}

// Start begins a span within that of ctx or, if there is none, a trace. If ctx has no Tracer,
// it begins nothing.
func Start(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	t := of(ctx)
	if t == nil {
		return ctx, noop.Span{}
	}
	return t.spans.Start(ctx, name, trace.WithSpanKind(kind), t.region, trace.WithAttributes(attributes...))
}

// Child is like Start, but never begins a trace: it begins nothing outside of a span that is
// sampled.
func Child(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	if !Sampled(ctx).IsValid() {
		return ctx, noop.Span{}
	}
	return Start(ctx, name, kind, attributes...)
}

// Sampled returns the span of ctx if it is sampled and there is a Tracer, else the zero value.
func Sampled(ctx context.Context) trace.SpanContext {
	if of(ctx) == nil {
		return trace.SpanContext{}
	}
	if s := trace.SpanContextFromContext(ctx); s.IsSampled() {
		return s
	}
	return trace.SpanContext{}
}

// Inject writes the span of ctx into the header of a request, if there is a Tracer.
func Inject(ctx context.Context, h http.Header) {
	if of(ctx) != nil {
		w3c.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// End ends a span. An error marks it as failed, with the kind of the fault that it is.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		kind := "other"
		if f, ok := fault.As(err); ok {
			kind = string(f.Kind)
		}
		Fail(span, kind)
	}
	span.End()
}

// Fail marks a span as failed, for a reason that has no text of callers.
func Fail(span trace.Span, reason string) {
	span.SetStatus(codes.Error, reason)
	span.SetAttributes(attribute.String("error.type", reason))
}
