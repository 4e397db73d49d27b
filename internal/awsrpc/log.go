package awsrpc

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
)

// record counts the request and writes its one log record: at level error if the server
// is at fault, at level debug if the request was throttled, else at level info.
func (c *call) record() {
	took := time.Since(c.start)
	c.server.metrics.observe(c.operationLabel(), c.codec.name(), c.codeLabel(), took)
	log, ctx := c.server.options.Logger, c.request.Context()
	level := slog.LevelInfo
	if c.failure != nil && c.failure.cause != nil && ctx.Err() == nil { // a caller that disconnected is not the server's error
		level = slog.LevelError
	} else if c.failure != nil && c.failure.code == fault.Throttling {
		level = slog.LevelDebug
	}
	if log.Enabled(ctx, level) {
		log.LogAttrs(ctx, level, "api request", c.logAttrs(took)...)
	}
	if c.server.options.Ended != nil {
		e := Ending{Request: c.request, Operation: c.operationLabel(), Input: c.input}
		if c.failure != nil {
			e.Code, e.Message = c.failure.code, c.failure.message
		}
		c.server.options.Ended(e)
	}
}

// Ending describes a request after its response.
type Ending struct {
	Request   *http.Request
	Operation string     // "unknown" if the API has no such operation
	Input     any        // as passed to the handler; nil if the request failed earlier
	Code      fault.Kind // of the error in the response; "" if none
	Message   string     // of the error
}

// maxUserAgent bounds what the log keeps of a User-Agent, in bytes.
const maxUserAgent = 128

// cut shortens untrusted text to longest bytes.
func cut(s string, longest int) string {
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// ClaimedKey returns the access key id that a request claims to be signed with, in a
// header or in a presigned URL, or "".
func ClaimedKey(r *http.Request) string {
	id, _, _ := strings.Cut(claimedCredential(r), "/")
	return cut(id, maxUserAgent)
}

// ClaimedRegion returns the region of the scope with which a request claims to be signed,
// "" if it does not.
func ClaimedRegion(r *http.Request) string {
	_, rest, _ := strings.Cut(claimedCredential(r), "/") // the key
	_, rest, _ = strings.Cut(rest, "/")                  // the date
	region, _, found := strings.Cut(rest, "/")
	if !found {
		return ""
	}
	return region
}

// claimedCredential returns KEY/DATE/REGION/SERVICE/aws4_request of a signed request, "" of
// any other.
func claimedCredential(r *http.Request) string {
	if _, credential, found := strings.Cut(r.Header.Get("Authorization"), "Credential="); found {
		credential, _, _ = strings.Cut(credential, ",")
		return credential
	}
	if !strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") {
		return ""
	}
	return r.URL.Query().Get("X-Amz-Credential")
}

func (c *call) logAttrs(took time.Duration) []slog.Attr {
	attrs := make([]slog.Attr, 0, 14)
	attrs = append(attrs,
		slog.String("operation", c.operationLabel()),
		slog.String("protocol", c.codec.name()),
		slog.String("principal", c.principal.label()),
		slog.String("source", door.Client(c.request).String()),
		slog.String("user_agent", cut(c.request.UserAgent(), maxUserAgent)),
		slog.String("request_id", c.id),
		slog.Int("status", c.status),
		slog.Float64("latency_ms", float64(took.Microseconds())/1000),
		slog.Int("bytes_in", c.in.Len()),
		slog.Int("bytes_out", c.out.Len()),
	)
	if claimed := ClaimedKey(c.request); claimed != "" && c.principal == (Principal{}) {
		attrs = append(attrs, slog.String("claimed_key_id", claimed))
	}
	if f := c.failure; f != nil {
		attrs = append(attrs, slog.String("error_code", string(f.code)))
		if f.cause == nil {
			attrs = append(attrs, slog.String("error", f.message))
		} else {
			attrs = append(attrs, slog.String("error", f.cause.Error()))
		}
		if p, ok := errors.AsType[*panicError](f.cause); ok {
			attrs = append(attrs, slog.String("stack", string(p.stack)))
		}
	}
	return attrs
}

// operationLabel returns the operation's name, or "unknown": names made up by callers
// must not become labels.
func (c *call) operationLabel() string {
	if c.op == nil {
		return "unknown"
	}
	return c.op.Name
}

func (c *call) codeLabel() string {
	if c.failure == nil {
		return "OK"
	}
	return string(c.failure.code)
}

// label returns the name of a principal for logs.
func (p Principal) label() string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Anonymous:
		return "anonymous"
	}
	return p.AccessKeyID
}
