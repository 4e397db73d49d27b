package flexmatch

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/tracing"
)

// spanOf returns the name of a ticket among what has begun.
func spanOf(ticketID string) string { return "ticket/" + ticketID }

// spanAmong returns the span of the first of the tickets that has one: to it belongs what the
// match of all of them does.
func (l *lives) spanAmong(tickets []*Ticket) trace.SpanContext {
	for _, t := range tickets {
		if s := l.tracer.Of(spanOf(t.ID)); s.IsValid() {
			return s
		}
	}
	return trace.SpanContext{}
}

// traceEnd makes the span of a ticket that has ended.
func (l *lives) traceEnd(t *Ticket) {
	l.tracer.End(spanOf(t.ID), func() tracing.Ended {
		e := tracing.Ended{Name: "matchmaking", From: t.Started, Until: t.Ended, Attributes: []attribute.KeyValue{
			attribute.String("muster.ticket.id", t.ID), attribute.String("muster.matchmaking.configuration", t.Configuration),
			attribute.String("muster.ticket.status", string(t.Status)), attribute.String("muster.match.id", t.MatchID),
			attribute.Int("muster.ticket.players", len(t.Members)), attribute.String("muster.game_session.id", t.GameSessionID),
		}}
		if t.Status != Completed {
			e.Failed = string(t.Status)
		}
		return e
	})
}
