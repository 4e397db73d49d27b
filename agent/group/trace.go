package group

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/tracing"
)

// span begins a span of the work on a group.
func (i *Instance) span(ctx context.Context, name, group string) (context.Context, trace.Span) {
	return tracing.Start(ctx, name, trace.SpanKindInternal,
		attribute.String("muster.instance.id", i.id), attribute.String("muster.container_group", group))
}

// endSpan ends a span. What went wrong is said by its kind: errors have texts of engines.
func endSpan(ctx context.Context, span trace.Span, err error) {
	var refused *Refused
	switch {
	case err == nil:
	case ctx.Err() != nil:
		tracing.Fail(span, "abandoned")
	case errors.Is(err, ErrNoEngine):
		tracing.Fail(span, "no engine")
	case errors.As(err, &refused):
		tracing.Fail(span, "refused")
	default:
		tracing.Fail(span, "other")
	}
	span.End()
}
