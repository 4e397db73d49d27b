package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// mostBegun bounds each of the two generations of what is remembered.
const mostBegun = 8192

// begun remembers the requests that began what ends later, such as a placement, while this
// node lives. No span is open until then: that of a placement is made at its end. When
// there is too much, the older half is forgotten, and has no spans.
type begun struct {
	mu         sync.Mutex
	young, old map[string]origin
}

// origin is the span within which something began, and the id of the span that will be made
// of it.
type origin struct {
	within trace.SpanContext
	id     trace.SpanID
}

// Begin remembers that id began within a span, unless the span is not sampled.
func (t *Tracer) Begin(id string, within trace.SpanContext) {
	if t == nil || !within.IsSampled() {
		return
	}
	var own trace.SpanID
	for !own.IsValid() {
		binary.NativeEndian.PutUint64(own[:], rand.Uint64())
	}
	b := &t.begun
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.young == nil || len(b.young) >= mostBegun {
		b.old, b.young = b.young, map[string]origin{}
	}
	b.young[id] = origin{within, own}
}

func (b *begun) get(id string) (o origin, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o, ok = b.young[id]; !ok {
		o, ok = b.old[id]
	}
	return o, ok
}

func (b *begun) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.young, id)
	delete(b.old, id)
}

// Of returns the span that will be made of what began as id; the zero value if none will.
func (t *Tracer) Of(id string) trace.SpanContext {
	if t == nil {
		return trace.SpanContext{}
	}
	o, ok := t.begun.get(id)
	if !ok {
		return trace.SpanContext{}
	}
	return o.within.WithSpanID(o.id).WithRemote(false)
}

// Cause returns the span within which id began; the zero value if that is not known.
func (t *Tracer) Cause(id string) trace.SpanContext {
	if t == nil {
		return trace.SpanContext{}
	}
	o, _ := t.begun.get(id)
	return o.within
}

// Forget forgets what began as id, of which no span is made.
func (t *Tracer) Forget(id string) {
	if t != nil {
		t.begun.forget(id)
	}
}

// Within returns a context whose spans are within the one that will be made of id.
func (t *Tracer) Within(ctx context.Context, id string) context.Context {
	if s := t.Of(id); s.IsValid() {
		return trace.ContextWithSpanContext(t.With(ctx), s)
	}
	return ctx
}

// Ended is what a span says of something that has ended.
type Ended struct {
	Name        string
	From, Until time.Time
	Failed      string // the reason, without text of callers; "" if it succeeded
	Attributes  []attribute.KeyValue
	Moments     []Moment
}

// Moment is an event within a span: what happened, and when.
type Moment struct {
	Name       string
	At         time.Time
	Attributes []attribute.KeyValue
}

// End makes the span of what began as id, and forgets it. describe is called only if there
// is one.
func (t *Tracer) End(id string, describe func() Ended) {
	if t == nil {
		return
	}
	o, ok := t.begun.get(id)
	if !ok {
		return
	}
	t.begun.forget(id)
	e := describe()
	ctx := trace.ContextWithSpanContext(context.WithValue(context.Background(), ownIDKey{}, o.id), o.within)
	_, span := t.spans.Start(ctx, e.Name, trace.WithTimestamp(e.From), t.region, trace.WithAttributes(e.Attributes...))
	for _, m := range e.Moments {
		span.AddEvent(m.Name, trace.WithTimestamp(m.At), trace.WithAttributes(m.Attributes...))
	}
	if e.Failed != "" {
		Fail(span, e.Failed)
	}
	span.End(trace.WithTimestamp(e.Until))
}

type ownIDKey struct{}

// OwnID returns the id that the span to be started in ctx must have, if one was promised.
func OwnID(ctx context.Context) (trace.SpanID, bool) {
	id, ok := ctx.Value(ownIDKey{}).(trace.SpanID)
	return id, ok
}
