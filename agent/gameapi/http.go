package gameapi

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed openapi.yaml
var description []byte

// Limits of requests.
const (
	maxBody = 256 << 10
	maxWait = 60 // seconds
)

// call handles a request of a process. It returns what to answer; nil means that there is
// no content.
type call func(p *Process, r *http.Request) (any, error)

// calls are the requests of the interface, by method and path below /v1.
var calls = map[string]call{
	"POST /ready": body(func(p *Process, r *http.Request, in ReadyRequest) (any, error) {
		return p.status(p.ready(r.Context(), in))
	}),
	"GET /session": func(p *Process, r *http.Request) (any, error) {
		return p.wait(r)
	},
	"PATCH /session": body(func(p *Process, r *http.Request, in SessionChange) (any, error) {
		return p.status(p.accepting(r.Context(), in))
	}),
	"POST /session/activate": body(func(p *Process, r *http.Request, _ struct{}) (any, error) { return p.status(p.activate(r.Context())) }),
	"GET /players": func(p *Process, r *http.Request) (any, error) {
		return p.players(r.Context(), r.URL.Query().Get("state"))
	},
	"POST /players":        body(func(p *Process, r *http.Request, in PlayerRequest) (any, error) { return p.accept(r.Context(), in) }),
	"DELETE /players/{id}": func(p *Process, r *http.Request) (any, error) { return nil, p.remove(r.Context(), r.PathValue("id")) },
	"POST /health": body(func(p *Process, _ *http.Request, in HealthRequest) (any, error) {
		p.health(in)
		return nil, nil
	}),
	"POST /backfill": body(func(p *Process, r *http.Request, in BackfillRequest) (any, error) {
		return p.startBackfill(r.Context(), in)
	}),
	"DELETE /backfill/{id}": func(p *Process, r *http.Request) (any, error) {
		return nil, p.stopBackfill(r.Context(), r.PathValue("id"))
	},
	"GET /certificate": func(p *Process, r *http.Request) (any, error) { return p.certificate(r.Context()) },
	"POST /end": body(func(p *Process, r *http.Request, _ struct{}) (any, error) {
		p.leave(r.Context())
		return p.status(nil)
	}),
}

// routes finds the call of a request.
var routes = func() *http.ServeMux {
	m := http.NewServeMux()
	for pattern := range calls {
		method, path, _ := strings.Cut(pattern, " ")
		m.Handle(method+" /v1"+path, http.NotFoundHandler())
	}
	return m
}()

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // of the request before
	_ = control.SetReadDeadline(time.Now().Add(reading))
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	body := r.Body
	answer, leave, err := s.handle(w, r)
	if r.Body == body && r.ContentLength != 0 {
		h.Set("Connection", "close") // or net/http waits for the rest of the body, before it answers and after
		_ = control.SetReadDeadline(time.Now())
	}
	defer leave() // after the answer is written: it takes memory until then
	_ = control.SetWriteDeadline(time.Now().Add(writing))
	var p *Problem
	switch {
	case errors.As(err, &p):
		p.write(w)
	case err != nil:
		s.o.Log.Error("a request is not answered", "method", r.Method, "path", r.URL.Path, "error", err)
		problemOf(err, "").write(w)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		if text, ok := answer.([]byte); ok {
			h.Set("Content-Type", "application/yaml")
			_, _ = w.Write(text) // fails if the program has gone
			return
		}
		h.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // fails if the program has gone
	}
}

// handle returns the answer to a request. The caller must call leave when it is written.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) (answer any, leave func(), err error) {
	leave = func() {}
	if err := s.checkPage(r); err != nil {
		return nil, leave, err
	}
	if r.URL.Path == "/v1/openapi.yaml" && r.Method == http.MethodGet {
		return description, leave, nil
	}
	p, err := s.caller(r)
	if err != nil {
		return nil, leave, err
	}
	if err := s.conns.claim(r, p); err != nil {
		w.Header().Set("Connection", "close")
		return nil, leave, err
	}
	pattern, err := find(r)
	if err != nil {
		return nil, leave, err
	}
	select {
	case p.busy <- struct{}{}:
		leave = func() { <-p.busy }
	default:
		busy := problem(http.StatusTooManyRequests, "rate-limited", "", fmt.Sprintf("the process has %d requests under way, which is the limit", maxRequests), "wait for an answer before the next request")
		busy.retryAfter = 1
		return nil, leave, busy
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, leave, unread(err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(text))
	answer, err = calls[pattern](p, r)
	return answer, leave, err
}

func unread(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem(http.StatusRequestEntityTooLarge, "body-too-large", "", fmt.Sprintf("the body has more than %d bytes", maxBody), "")
	}
	return problem(http.StatusBadRequest, "malformed-json", "", "the body cannot be read", "send it whole, with Content-Length")
}

// find returns the pattern of a request's call, and sets the values of its path.
func find(r *http.Request) (pattern string, err error) {
	_, pattern = routes.Handler(r)
	method, path, _ := strings.Cut(pattern, " /v1")
	pattern = method + " " + path
	if calls[pattern] != nil {
		if strings.HasSuffix(path, "/{id}") {
			id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
			r.SetPathValue("id", id)
		}
		return pattern, nil
	}
	var allowed []string
	for other := range calls {
		method, path, _ := strings.Cut(other, " ")
		if "/v1"+path == r.URL.Path {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		return "", problem(http.StatusMethodNotAllowed, "method-not-allowed", "", r.Method+" is not a method of this path", "use "+strings.Join(allowed, " or "))
	}
	return "", problem(http.StatusNotFound, "not-found", "", "there is nothing at this path", "GET /v1/openapi.yaml describes what there is")
}

// body returns a call whose body has the members of T. An empty body has none of them.
func body[T any](do func(*Process, *http.Request, T) (any, error)) call {
	return func(p *Process, r *http.Request) (any, error) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		in, err := decode[T](text)
		if err != nil {
			return nil, err
		}
		return do(p, r, in)
	}
}

// decode reads a body. Errors: malformed-json, unknown-field, invalid-parameter.
func decode[T any](text []byte) (in T, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return in, nil
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return in, problem(http.StatusBadRequest, "malformed-json", "", "the body is not a JSON object", `send an object such as {}`)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&in)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, more := d.Token(); more != io.EOF {
			return in, problem(http.StatusBadRequest, "malformed-json", "", "the body has more than one JSON value", "send one object")
		}
		return in, nil
	case errors.As(err, &kind):
		return in, invalid(kind.Field, fmt.Sprintf("%s must not be a %s", orBody(kind.Field), kind.Value), "GET /v1/openapi.yaml describes the members")
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name, _ := strconv.Unquote(strings.TrimPrefix(err.Error(), "json: unknown field "))
		return in, problem(http.StatusBadRequest, "unknown-field", name, fmt.Sprintf("the request has no member %q", name), "GET /v1/openapi.yaml describes the members")
	}
	return in, problem(http.StatusBadRequest, "malformed-json", "", "the body is not valid JSON: "+err.Error(), "")
}

func orBody(member string) string {
	if member == "" {
		return "the body"
	}
	return member
}

// status returns the status for the answer of a call that succeeded.
func (p *Process) status(err error) (any, error) {
	if err != nil {
		return nil, err
	}
	now, _ := p.Look()
	return now, nil
}

// wait is GET /session. It waits until there is a game session or the process should end
// or, with after, until the version is above it.
func (p *Process) wait(r *http.Request) (any, error) {
	query := r.URL.Query()
	seconds, err := number(query.Get("wait"), "wait", maxWait)
	if err != nil {
		return nil, err
	}
	after, err := number(query.Get("after"), "after", 1<<62)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	for {
		now, changed := p.Look()
		if query.Has("after") && now.Version > uint64(after) || !query.Has("after") && (now.Session != nil || now.State == Ending || now.State == Ended) {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			now, _ = p.Look()
			return now, nil
		case <-p.leaving:
			return now, nil
		case <-p.life.Done():
			return now, nil
		}
	}
}

// number reads a whole number of the query; "" is 0.
func number(text, member string, most int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, invalid(member, fmt.Sprintf("%s must be a whole number from 0 to %d", member, most), "")
	}
	return n, nil
}
