package audit

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Origin is where a request came from, as far as known before anything was checked.
type Origin struct {
	Source       string // address
	UserAgent    string
	ClaimedKeyID string // that the request claims to be signed with
	RequestID    string
}

// Request is a request being served. Doors set its caller and action; whether and when
// it is recorded is decided here. The methods of a nil Request do nothing.
type Request struct {
	log    *Log
	origin func() Origin

	mu      sync.Mutex
	record  Record
	kind    auth.Kind
	known   bool // caller and action are known
	refused bool // because of missing credentials or permissions
	written bool
}

// Begin begins tracking a request to a door; most are not recorded, so origin is called
// only when a record is made. End ends it.
func (l *Log) Begin(ctx context.Context, door string, origin func() Origin) (context.Context, *Request) {
	if l.opts.Level == Off {
		return ctx, nil
	}
	q := &Request{log: l, origin: origin, record: Record{Door: door}}
	return store.WithCause(ctx, q), q
}

// From returns the request that ctx belongs to, or nil.
func From(ctx context.Context) *Request {
	q, _ := store.CauseOf(ctx).(*Request)
	return q
}

// SetCaller sets the request's caller, action and resources.
func (q *Request) SetCaller(c auth.Caller, action auth.Action, names ...string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.record.KeyID, q.record.KeyName, q.record.Role = c.KeyID, c.Name, string(c.Role)
	q.record.Action, q.record.Resources = text(string(action), maxText), resources(names)
	q.kind, q.known = action.Kind(c.Role), true
}

// SetRefused records that the request was refused because of missing credentials or
// permissions; it does nothing if err is nil or another fault.
func (q *Request) SetRefused(action auth.Action, err error) {
	f, ok := fault.As(err)
	if q == nil || !ok {
		return
	}
	switch f.Kind {
	case fault.MissingAuthentication, fault.InvalidSignature, fault.UnrecognizedClient, fault.AccessDenied, fault.Unauthorized:
	default:
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.record.Action, q.record.Outcome = text(string(action), maxText), string(f.Kind)
	q.refused = true
	if f.Kind != fault.AccessDenied && f.Kind != fault.Unauthorized { // the caller is not authenticated
		q.record.KeyID, q.record.KeyName, q.record.Role, q.known = "", "", "", false
	}
}

// AddResources adds resources that the request names. It calls names only if the request is
// recorded, as far as is known by now.
func (q *Request) AddResources(names func() []string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.wanted() {
		q.record.Resources = resources(append(q.record.Resources, names()...))
	}
}

// SetFailure sets the error code with which the request ends.
func (q *Request) SetFailure(code string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.record.Outcome = text(code, maxText)
}

// wanted reports whether the level requires a record of the request; the caller must
// hold q.mu.
func (q *Request) wanted() bool {
	switch {
	case q.refused:
		return true
	case !q.known || q.kind == auth.Reads:
		return false
	}
	return q.kind != auth.Plays || q.log.opts.Level == All
}

// Describe implements store.Cause.
func (q *Request) Describe() jsontext.Value {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.written || q.refused || !q.wanted() {
		return nil
	}
	doc, err := json.Marshal(q.sealed(), json.Deterministic(true))
	if err != nil {
		return nil // its texts are valid UTF-8
	}
	return doc
}

// sealed returns the record as it is stored; the caller must hold q.mu.
func (q *Request) sealed() Record {
	r, o := q.record, q.origin()
	r.Source, r.UserAgent, r.RequestID = o.Source, text(o.UserAgent, maxText), o.RequestID
	if !q.known {
		r.ClaimedKeyID = text(o.ClaimedKeyID, 128)
	}
	return r
}

// Attested implements store.Cause.
func (q *Request) Attested() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.written = true
}

// Record appends a record of one step of a request that takes long, and returns once it is
// durable. End then makes no record of a request that was served.
func (q *Request) Record(ctx context.Context, action auth.Action, outcome string, names ...string) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	r := q.sealed()
	q.written = true
	q.mu.Unlock()
	r.Action, r.Resources, r.Outcome = text(string(action), maxText), resources(names), text(outcome, maxText)
	return q.log.append.Do(ctx, []Record{r})
}

// End ends the request, with the given outcome unless SetFailure has set one. A change that
// was recorded in its transaction and succeeded is not recorded again.
func (q *Request) End(outcome string) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.wanted() {
		return
	}
	r := q.sealed()
	if r.Outcome == "" {
		r.Outcome = outcome
	}
	if !q.written || r.Outcome != OK {
		q.log.put(r, time.Now())
	}
}
