package placement

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
)

// spanOf returns the name of a placement among what has begun.
func spanOf(placementID string) string { return "placement/" + placementID }

// traceBegin remembers that a placement began within a span or, if that is not valid, within
// that of the command's caller.
func (s *Service) traceBegin(tx *store.Tx, id string, within trace.SpanContext) {
	if !within.IsValid() {
		within = tx.Span()
	}
	if within.IsValid() {
		tx.OnCommit(func() { s.opts.Tracer.Begin(spanOf(id), within) })
	}
}

// traceEnd makes the span of a placement that has ended: its rounds, with the candidates of
// each.
func (s *Service) traceEnd(p *Placement) {
	s.opts.Tracer.End(spanOf(p.ID), func() tracing.Ended {
		e := tracing.Ended{Name: "placement", From: p.Started, Until: p.Ended, Attributes: []attribute.KeyValue{
			attribute.String("muster.placement.id", p.ID), attribute.String("muster.queue", p.Queue),
			attribute.String("muster.placement.status", string(p.Status)), attribute.Int("muster.placement.attempts", p.Attempts),
			attribute.String("muster.game_session.id", p.GameSessionID), attribute.String("muster.location", p.Location),
		}}
		if p.Status != Fulfilled {
			e.Failed = string(p.Status)
		}
		for _, r := range p.Rounds {
			tried := make([]string, len(r.Candidates))
			for i, c := range r.Candidates {
				tried[i] = c.Place.String() + ": " + string(c.Outcome)
			}
			e.Moments = append(e.Moments, tracing.Moment{Name: "round", At: r.At, Attributes: []attribute.KeyValue{
				attribute.StringSlice("muster.candidates", tried), attribute.Int("muster.candidates.more", r.More),
			}})
		}
		return e
	})
}
