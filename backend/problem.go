package backend

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// statuses of the codes, including those of identity's and lobby's refusals.
var statuses = map[refusal.Code]int{
	"malformed-json": 400, "unknown-field": 400, "invalid-parameter": 400,
	"token-missing": 401, "token-invalid": 401, "token-expired": 401, "guest-secret-invalid": 401,
	"provider-token-invalid": 401, "refresh-invalid": 401, "refresh-reused": 401, "signature-invalid": 401,
	"banned": 403, "scope-insufficient": 403, "reauth-required": 403, "not-leader": 403, "not-allowed": 403,
	"not-found": 404, "provider-disabled": 404,
	"identity-in-use": 409, "conflict-token-invalid": 409, "not-guest": 409, "merged-too-often": 409, "last-credential": 409, "ticket-active": 409, "not-awaiting-acceptance": 409, "ticket-ended": 409,
	"party-not-ready": 409, "party-full": 409, "session-full": 409, "session-not-active": 409, "placement-ended": 409, "already-joined": 409,
	"precondition-failed": 412, "body-too-large": 413, "unsupported-media-type": 415,
	"validation-failed": 422, "attribute-rejected": 422, "latency-rejected": 422,
	"rate-limited": 429, "locked-out": 429, "internal": 500, "no-capacity": 503, "provider-unavailable": 503, "busy": 503,
}

// refuse returns a refusal; detail may repeat what the client sent.
func refuse(code refusal.Code, detail string) *refusal.Refusal {
	return &refusal.Refusal{Code: code, Message: detail}
}

func limited(code refusal.Code, wait time.Duration) *refusal.Refusal {
	return &refusal.Refusal{Code: code, Message: "too many requests; wait as long as Retry-After says", Wait: wait}
}

// errInternal is all that clients learn of an error that is not meant for them.
var errInternal = refuse("internal", "something went wrong on our side")

// refusalOf returns the client's view of an error; ok is false for errors that are not
// meant for the client.
func refusalOf(err error) (r *refusal.Refusal, ok bool) {
	if errors.As(err, &r) {
		return r, true
	}
	f, is := fault.As(err)
	if !is {
		return errInternal, false
	}
	switch f.Kind {
	case fault.NotFound:
		return refuse("not-found", f.Message), true
	case fault.InvalidRequest, fault.LimitExceeded, fault.Conflict, fault.TerminalRoutingStrategy:
		return refuse("validation-failed", f.Message), true
	case fault.GameSessionFull:
		return refuse("session-full", f.Message), true
	case fault.InvalidGameSessionStatus:
		return refuse("session-not-active", f.Message), true
	case fault.FleetCapacityExceeded, fault.OutOfCapacity:
		return refuse("no-capacity", f.Message), true
	case fault.Throttling:
		if f.Wait > 0 {
			return &refusal.Refusal{Code: "rate-limited", Message: f.Message, Wait: f.Wait}, true
		}
		return &refusal.Refusal{Code: "busy", Message: "too much to do at the moment; try again", Wait: time.Second}, true
	case fault.AccessDenied, fault.Unauthorized:
		return refuse("not-allowed", f.Message), true
	case fault.MissingAuthentication, fault.InvalidSignature, fault.UnrecognizedClient:
		return refuse("signature-invalid", f.Message), true
	}
	return errInternal, false
}

// problemBody returns the wire form of a refusal (RFC 9457).
func problemBody(r *refusal.Refusal, requestID string) *protocol.Problem {
	code := string(r.Code)
	return &protocol.Problem{
		Type: "urn:muster:problem:" + code, Title: strings.ReplaceAll(code, "-", " "), Status: int64(statuses[r.Code]),
		Detail: strings.ToValidUTF8(r.Message, "\uFFFD"), Instance: "urn:uuid:" + requestID, Code: code,
		RetryAfterSeconds: seconds(r.Wait), Until: r.Until, TicketID: r.TicketID, ConflictToken: r.ConflictToken,
	}
}

func writeProblem(w http.ResponseWriter, r *refusal.Refusal, requestID string) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Del("ETag")
	if r.Wait > 0 {
		h.Set("Retry-After", itoa(seconds(r.Wait)))
	}
	if statuses[r.Code] == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(r.Code))
	}
	w.WriteHeader(statuses[r.Code])
	json.MarshalWrite(w, problemBody(r, requestID)) // fails if the client has gone
}

// challenge returns the WWW-Authenticate header for a code (RFC 6750, 3.1).
func challenge(code refusal.Code) string {
	switch code {
	case "token-missing":
		return "Bearer"
	case "token-invalid", "token-expired":
		return `Bearer error="invalid_token", error_description="` + string(code) + `"`
	}
	return `Bearer error="invalid_request", error_description="` + string(code) + `"`
}

// seconds rounds up, so that a client that waits that long waits long enough.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
