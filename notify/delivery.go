package notify

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/tracing"
)

// DeliveriesKept is how many attempts of each sink are remembered, in memory, by the node
// that makes them.
const DeliveriesKept = 100

// Delivery is an attempt to deliver a notice.
type Delivery struct {
	At         time.Time  `json:"at"`
	Seq        uint64     `json:"seq"` // of the notice in the event log
	EventID    string     `json:"event_id"`
	Code       event.Code `json:"code"`
	DetailType string     `json:"detail_type"`
	Topic      string     `json:"topic,omitzero"`
	Try        int        `json:"try"`            // 1 is the first
	Again      bool       `json:"again,omitzero"` // of a dead letter that an operator had delivered again
	Took       int64      `json:"took_ms"`
	Result     string     `json:"result"`         // delivered, failed (it is tried again) or refused
	Error      string     `json:"error,omitzero"` // unless it was delivered
	Dead       bool       `json:"dead,omitzero"`  // with it the notice was given up
}

// Attempts counts the deliveries of a sink since the node that makes them has started.
type Attempts struct {
	Delivered int `json:"delivered"`
	Failed    int `json:"failed"`
	Refused   int `json:"refused"`
	Dead      int `json:"dead"` // notices given up, after attempts that are counted separately
}

// deliveries are the last attempts of a sink. Its zero value is ready.
type deliveries struct {
	mu     sync.Mutex
	last   [DeliveriesKept]Delivery
	n      int // made so far
	counts Attempts
}

func (d *deliveries) add(a Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[d.n%DeliveriesKept] = a
	d.n++
	switch a.Result {
	case resultDelivered:
		d.counts.Delivered++
	case resultRefused:
		d.counts.Refused++
	default:
		d.counts.Failed++
	}
	if a.Dead {
		d.counts.Dead++
	}
}

// newest returns the remembered attempts, newest first.
func (d *deliveries) newest() []Delivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Delivery, 0, min(d.n, DeliveriesKept))
	for i := max(0, d.n-DeliveriesKept); i < d.n; i++ {
		out = append(out, d.last[i%DeliveriesKept])
	}
	slices.Reverse(out)
	return out
}

func (d *deliveries) counted() Attempts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// attempt sends a notice once and remembers what came of it, unless ctx ended. lastTry
// reports whether the notice is given up with an error.
func (k *sink) attempt(ctx context.Context, n *notice, try int, again bool, lastTry func(error) bool) error {
	begin := time.Now()
	err := k.send(ctx, n, try)
	if ctx.Err() != nil {
		return err
	}
	k.note(err)
	a := Delivery{
		At: begin.UTC(), Seq: n.seq, EventID: n.event.ID, Code: n.event.Code, DetailType: n.event.Notice.DetailType, Topic: n.target(),
		Try: try, Again: again, Took: time.Since(begin).Milliseconds(), Result: resultOf(err),
	}
	if err != nil {
		a.Error, a.Dead = err.Error(), lastTry(err)
	}
	k.made.add(a)
	return err
}

// send sends a notice once, in a span unless it goes to the log.
func (k *sink) send(ctx context.Context, n *notice, try int) error {
	if k.cfg.Kind == Log {
		return k.sender.send(ctx, n)
	}
	ctx, span := tracing.Start(ctx, "deliver", trace.SpanKindClient,
		attribute.String("muster.sink", k.cfg.Name), attribute.String("muster.sink.kind", string(k.cfg.Kind)), attribute.Int("muster.delivery.try", try),
		attribute.String("muster.event.id", n.event.ID), attribute.String("muster.event.code", string(n.event.Code)))
	err := k.sender.send(ctx, n)
	if err != nil {
		tracing.Fail(span, resultOf(err))
	}
	span.End()
	return err
}

// Deliveries returns the last attempts of a sink that this node has made, newest first.
// Errors: NotFound.
func (s *Service) Deliveries(sink string) ([]Delivery, error) {
	k, err := s.sink(sink)
	if err != nil {
		return nil, err
	}
	return k.made.newest(), nil
}

func (h handler) serveDeliveries(_ *http.Request, v url.Values) (any, error) {
	made, err := h.svc.Deliveries(v.Get("sink"))
	return map[string]any{"deliveries": made}, err
}
