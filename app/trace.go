package app

import (
	"cmp"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/awsrpc"
)

// serveTraced serves a request to a door in a span.
func (d *domain) serveTraced(door string, next http.Handler, w *outcomeWriter, r *http.Request) {
	ctx, span := d.tracer.Request(r, door == "player", door)
	defer span.End()
	r = r.WithContext(ctx)
	next.ServeHTTP(w, r)
	if span.IsRecording() {
		answered(span, r, w)
	}
}

// answered describes a request that has been answered.
func answered(span trace.Span, r *http.Request, w *outcomeWriter) {
	if route := r.Pattern; route != "" { // of the innermost mux that passed the request itself on
		span.SetAttributes(attribute.String("http.route", route[strings.Index(route, "/"):]))
		span.SetName(route)
	}
	if id := cmp.Or(requestID(w.Header()), w.Header().Get("X-Request-Id")); id != "" {
		span.SetAttributes(attribute.String("aws.request_id", id))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", cmp.Or(w.status, http.StatusOK)))
	if w.status >= 500 {
		span.SetStatus(codes.Error, "")
	}
}

// describe names the span of a request to the API after its operation.
func describe(e awsrpc.Ending) {
	span := trace.SpanFromContext(e.Request.Context())
	if !span.IsRecording() {
		return
	}
	span.SetName(e.Operation)
	span.SetAttributes(attribute.String("rpc.system", "aws-api"), attribute.String("rpc.service", "GameLift"), attribute.String("rpc.method", e.Operation))
	if e.Code != "" {
		span.SetAttributes(attribute.String("error.type", string(e.Code)))
	}
}
