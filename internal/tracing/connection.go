package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Connection is where the messages of a connection get their spans from. A message is a
// trace of its own, since connections last for hours; it links to the request that opened the
// connection, and to the trace of which the client told in it.
type Connection struct {
	tracer *Tracer
	links  []trace.Link
}

// Opened returns the Connection that a request opens, whose context is ctx and whose header is
// h: nil if there is no Tracer. It does not keep them.
func Opened(ctx context.Context, h http.Header) *Connection {
	t := of(ctx)
	if t == nil {
		return nil
	}
	c := &Connection{tracer: t}
	for _, of := range []context.Context{ctx, w3c.Extract(context.Background(), propagation.HeaderCarrier(h))} {
		if s := trace.SpanContextFromContext(of); s.IsValid() {
			c.links = append(c.links, trace.Link{SpanContext: s})
		}
	}
	return c
}

// Message begins the span of a message. The Connection must not be nil.
func (c *Connection) Message(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return c.tracer.spans.Start(c.tracer.With(ctx), name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithLinks(c.links...), c.tracer.region, trace.WithAttributes(attributes...))
}
