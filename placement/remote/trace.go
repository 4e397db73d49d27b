package remote

import (
	"net/http"
	"path"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/tracing"
)

// traced makes a span of each request for a placement that has one, and sends its context to the
// remote, in a header that is not part of the signature.
type traced struct {
	next   http.RoundTripper
	remote string
}

// RoundTrip implements http.RoundTripper.
func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	if !tracing.Sampled(r.Context()).IsValid() {
		return t.next.RoundTrip(r)
	}
	operation := path.Base(r.URL.Path) // of the protocol that AWS's client speaks
	ctx, span := tracing.Child(r.Context(), operation, trace.SpanKindClient,
		attribute.String("muster.remote", t.remote), attribute.String("server.address", r.URL.Hostname()))
	defer span.End()
	r = r.Clone(ctx)
	tracing.Inject(ctx, r.Header)
	response, err := t.next.RoundTrip(r)
	switch {
	case err != nil:
		tracing.Fail(span, "no answer")
	case response.StatusCode >= 400:
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
		span.SetStatus(codes.Error, "HTTP "+strconv.Itoa(response.StatusCode))
	default:
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	}
	return response, err
}
