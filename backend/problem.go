package backend

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// problem is an error meant for the client.
type problem struct {
	status   int
	code     string
	detail   string
	wait     time.Duration // for Retry-After
	until    time.Time     // when a ban ends
	ticket   string        // the ticket that prevents the request
	conflict string        // token for merging two players
}

// Error returns the code and the detail.
func (p *problem) Error() string { return p.code + ": " + p.detail }

// statuses of the codes, including those of identity's and lobby's refusals.
var statuses = map[string]int{
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

// refuse returns a problem; detail may repeat what the client sent.
func refuse(code, detail string) *problem {
	status := statuses[code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return &problem{status: status, code: code, detail: strings.ToValidUTF8(detail, "\uFFFD")}
}

func limited(code string, wait time.Duration) *problem {
	p := refuse(code, "too many requests; wait as long as Retry-After says")
	p.wait = wait
	return p
}

// problemOf returns the client's view of an error; ok is false for errors that are not
// meant for the client.
func problemOf(err error) (p *problem, ok bool) {
	if errors.As(err, &p) {
		return p, true
	}
	if r, is := errors.AsType[*identity.Refusal](err); is {
		p = refuse(string(r.Code), r.Message)
		p.until, p.conflict = r.Until, r.ConflictToken
		return p, true
	}
	if r, is := errors.AsType[*lobby.Refusal](err); is {
		p = refuse(string(r.Code), r.Message)
		p.ticket = r.TicketID
		return p, true
	}
	f, is := fault.As(err)
	if !is {
		return refuse("internal", "something went wrong on our side"), false
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
		p := refuse("busy", "too much to do at the moment; try again")
		if p.wait = time.Second; f.Wait > 0 {
			p = refuse("rate-limited", f.Message)
			p.wait = f.Wait
		}
		return p, true
	case fault.AccessDenied, fault.Unauthorized:
		return refuse("not-allowed", f.Message), true
	case fault.MissingAuthentication, fault.InvalidSignature, fault.UnrecognizedClient:
		return refuse("signature-invalid", f.Message), true
	}
	return refuse("internal", "something went wrong on our side"), false
}

// body is the wire form (RFC 9457).
func (p *problem) body(requestID string) *protocol.Problem {
	return &protocol.Problem{
		Type: "urn:muster:problem:" + p.code, Title: strings.ReplaceAll(p.code, "-", " "), Status: int64(p.status), Detail: p.detail,
		Instance: "urn:uuid:" + requestID, Code: p.code, RetryAfterSeconds: seconds(p.wait), Until: p.until, TicketID: p.ticket,
		ConflictToken: p.conflict,
	}
}

func (p *problem) write(w http.ResponseWriter, requestID string) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Del("ETag")
	if p.wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds(p.wait), 10))
	}
	if p.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", challenge(p.code))
	}
	w.WriteHeader(p.status)
	json.MarshalWrite(w, p.body(requestID)) // fails if the client has gone
}

// challenge returns the WWW-Authenticate header for a code (RFC 6750, 3.1).
func challenge(code string) string {
	switch code {
	case "token-missing":
		return "Bearer"
	case "token-invalid", "token-expired":
		return `Bearer error="invalid_token", error_description="` + code + `"`
	}
	return `Bearer error="invalid_request", error_description="` + code + `"`
}

// seconds rounds up, so that a client that waits that long waits long enough.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
