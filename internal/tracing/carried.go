package tracing

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traceparent is the member of W3C's trace context that is carried in messages.
const traceparent = "traceparent"

// Carried returns a span as text, as the header traceparent has it; "" for one that is not
// valid.
func Carried(s trace.SpanContext) string {
	if !s.IsValid() {
		return ""
	}
	all := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithSpanContext(context.Background(), s), all)
	return all[traceparent]
}

// Continued returns a context whose spans are within the one that text names. If ctx has no
// Tracer, or text names none, it returns ctx.
func Continued(ctx context.Context, text string) context.Context {
	if text == "" || of(ctx) == nil {
		return ctx
	}
	return w3c.Extract(ctx, propagation.MapCarrier{traceparent: text})
}
