package backend

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/store"
)

type request struct {
	http   *http.Request
	w      http.ResponseWriter
	rates  *meters
	id     string
	from   netip.Addr      // the client
	player identity.Claims // of a route for players
	body   []byte
}

// answer is a handler's result: a status, and a body unless it is nil.
type answer struct {
	status int
	body   any
	etag   string
	wait   time.Duration // advised before the next request
}

// ok is the usual answer.
func ok(body any, err error) (answer, error) { return answer{status: http.StatusOK, body: body}, err }

// done is the answer without a body.
func done(err error) (answer, error) { return answer{status: http.StatusNoContent}, err }

type access struct {
	who    who
	action auth.Action // that an operator must be allowed
}

type who int

const (
	anybody  who = iota
	anyPage      // anybody, and pages of all sites
	player       // with an access token
	operator     // signs with an access key
)

var (
	open    = access{who: anybody}
	pages   = access{who: anyPage}
	players = access{who: player}
)

// Limits of request bodies.
const (
	maxBody  = 64 << 10
	bodyTime = 10 * time.Second
)

// serve answers a request of a route. Its id is in the answer and in the log.
func (b *Backend) serve(rt route, w http.ResponseWriter, r *http.Request) {
	rq := &request{http: r, w: w, rates: b.rates, id: newID(), from: door.Client(r)}
	h := w.Header()
	h.Set("X-Request-Id", rq.id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	begun := time.Now()
	a, err := b.run(rq, rt)
	status := a.status
	if err != nil {
		p, meant := refusalOf(err)
		if !meant && r.Context().Err() == nil {
			b.log.ErrorContext(r.Context(), "request failed", "request_id", rq.id, "route", rt.name(), "error", err)
		}
		status = statuses[p.Code]
		writeProblem(w, p, rq.id)
	} else if status != 0 { // 0: the handler has written the answer
		b.write(rq, a)
	}
	b.metrics.request(rt, status, time.Since(begun))
}

// run checks a request's origin, limits, identity and body, and calls its handler.
func (b *Backend) run(rq *request, rt route) (answer, error) {
	admitted := b.admitPage(rq, rt)
	if rt.access.who == operator && admitted {
		return b.runOperator(rq, rt)
	}
	if err := rq.limit(rq.rates.address, networkOf(rq.from)); err != nil {
		return answer{}, err
	}
	if !admitted {
		return answer{}, errForeignPage
	}
	if rt.access.who == player {
		var err error
		if rq.player, err = b.Identity.Tokens.Check(bearer(rq.http)); err != nil {
			return answer{}, err
		}
		door.Known(rq.http)
		b.sockets.absent.heard(rq.player.PlayerID)
	}
	if err := rq.readBody(); err != nil {
		return answer{}, err
	}
	return rt.handle(rq)
}

// runOperator runs a request of the operator's own backend, which acts for many players
// from one address. It is limited by its key, and by its address only if its signature
// is not valid.
func (b *Backend) runOperator(rq *request, rt route) (answer, error) {
	caller, err := b.operator(rq, rt.access.action)
	if err != nil {
		if limited := rq.limit(rq.rates.address, networkOf(rq.from)); limited != nil {
			return answer{}, limited
		}
		return answer{}, err
	}
	if err := rq.limit(rq.rates.key, caller.KeyID); err != nil {
		return answer{}, err
	}
	rq.http = rq.http.WithContext(store.WithActor(rq.http.Context(), caller.Actor()))
	return rt.handle(rq)
}

// operator returns the caller if it is allowed the action, and reads the body that proves
// its signature.
func (b *Backend) operator(rq *request, action auth.Action) (auth.Caller, error) {
	caller, proof, err := b.Operator(rq.http, action)
	if err != nil {
		return auth.Caller{}, err
	}
	if err := rq.readBody(); err != nil {
		return auth.Caller{}, err
	}
	if err := proof(rq.body); err != nil {
		return auth.Caller{}, err
	}
	door.Known(rq.http)
	return caller, nil
}

// limit counts the request; the key is usually the player or the address.
func (rq *request) limit(m meter, key string) error { return rq.rates.take(m, key) }

// count counts a request toward a limit, and returns an error if the limit is reached.
type count func(*request) error

// What requests count as.
var (
	change    count = func(rq *request) error { return rq.limit(rq.rates.write, rq.player.PlayerID) }
	newTicket count = func(rq *request) error { return rq.limit(rq.rates.ticket, rq.player.PlayerID) }
	login     count = func(rq *request) error { return rq.limit(rq.rates.login, networkOf(rq.from)) }
	newGuest  count = func(rq *request) error { return rq.limit(rq.rates.guest, siteOf(rq.from)) }
	free      count = func(*request) error { return nil }
)

// message counts a request that changes nothing, by its kind.
func message(kind string) count {
	return func(rq *request) error { return rq.limit(rq.rates.message, kind+" "+rq.player.PlayerID) }
}

type handler func(*request) (answer, error)

// counted returns a handler that counts a request before it is handled.
func counted(as count, handle handler) handler {
	return func(rq *request) (answer, error) {
		if err := as(rq); err != nil {
			return answer{}, err
		}
		return handle(rq)
	}
}

// reads returns a handler that decodes the body and counts a request before it is
// handled. Unknown members are refused.
func reads[T any](as count, handle func(*request, *T) (answer, error)) handler {
	return func(rq *request) (answer, error) {
		in := new(T)
		if len(rq.body) == 0 {
			return answer{}, refuse("malformed-json", "a body is required")
		}
		if err := decodeText(rq.body, in, ""); err != nil {
			return answer{}, err
		}
		if err := as(rq); err != nil {
			return answer{}, err
		}
		return handle(rq, in)
	}
}

// context ends when the client has gone.
func (rq *request) context() context.Context { return rq.http.Context() }

func (rq *request) param(name string) string { return rq.http.PathValue(name) }

// has reports whether the client has the version of an ETag (If-None-Match). Compressing
// proxies make our ETags weak, which makes no difference here (RFC 9110, 13.1.2).
func (rq *request) has(etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(rq.http.Header.Values("If-None-Match"), ","), ",") {
		if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == etag {
			return true
		}
	}
	return false
}

// public allows caches to keep the answer.
func (rq *request) public(maxAge string) {
	rq.w.Header().Set("Cache-Control", "public, max-age="+maxAge)
}

func (rq *request) readBody() error {
	if rq.http.Body == nil || rq.http.Body == http.NoBody {
		return nil
	}
	http.NewResponseController(rq.w).SetReadDeadline(time.Now().Add(bodyTime)) // not every writer has one
	var body bytes.Buffer
	err := door.ReadBody(rq.http, &body, maxBody)
	if errors.Is(err, door.ErrBusy) {
		return limited("busy", time.Second)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse("body-too-large", "the body has more than 64 KiB")
	}
	if err != nil {
		return refuse("malformed-json", "the body broke off")
	}
	rq.body = body.Bytes()
	if kind := rq.http.Header.Get("Content-Type"); kind != "" && len(rq.body) > 0 {
		if t, _, err := mime.ParseMediaType(kind); err != nil || t != "application/json" {
			return refuse("unsupported-media-type", "bodies are application/json")
		}
	}
	return nil
}

// decodeText decodes JSON that a client sent. Refusals name the member by its JSON Pointer,
// which begins with at: where the text is in what was sent.
func decodeText(text []byte, into any, at string) error {
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return refuse("malformed-json", cmp.Or(at, "what was sent")+": is no JSON")
	}
	member := cmp.Or(at+string(e.JSONPointer), "/")
	if errors.Is(err, json.ErrUnknownName) {
		return refuse("unknown-field", member+": there is no such member here")
	}
	return refuse("malformed-json", member+": must be "+formOf(e.GoType))
}

// formOf names the JSON that a type is decoded from.
func formOf(t reflect.Type) string {
	if t == nil {
		return "as described"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Time]() {
		return "a time of RFC 3339"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "as described"
}

func (b *Backend) write(rq *request, a answer) {
	h := rq.w.Header()
	if a.etag != "" {
		h.Set("ETag", a.etag)
	}
	if a.wait > 0 {
		h.Set("Retry-After", itoa(seconds(a.wait)))
	}
	if a.body == nil {
		rq.w.WriteHeader(a.status)
		return
	}
	text, err := json.Marshal(a.body, json.Deterministic(true), json.FormatNilSliceAsNull(false))
	if err != nil {
		b.log.Error("answer not encoded", "request_id", rq.id, "error", err)
		writeProblem(rq.w, errInternal, rq.id)
		return
	}
	h.Set("Content-Type", "application/json")
	rq.w.WriteHeader(a.status)
	rq.w.Write(append(text, '\n')) // fails if the client has gone
}

// bearer returns the token of an Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// networkOf returns the network that is assumed to belong to one client.
func networkOf(addr netip.Addr) string { return door.Network(addr).String() }

// siteOf returns the network that is assumed to belong to one household or office.
func siteOf(addr netip.Addr) string { return door.Site(addr).String() }
