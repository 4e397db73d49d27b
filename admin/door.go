// Package admin is the door for administrators of a running server: JSON requests and
// responses, signed like any request of the API (SigV4, service gamelift).
//
//	GET    /admin/v1/keys                 list all access keys, with their last use
//	POST   /admin/v1/keys                 create a key: {"name", "role", "scope", "expires"}
//	POST   /admin/v1/keys/ID/rotate       create a replacement: {"expires", "old_until"}
//	POST   /admin/v1/keys/ID/disable      disable a key
//	POST   /admin/v1/keys/ID/enable       enable a disabled key
//	DELETE /admin/v1/keys/ID              delete a key
//	GET    /admin/v1/logins               list who is logged in to the console
//	DELETE /admin/v1/logins/ID            end a login, or all of the person or key with an ID
//
// An error is {"message": …} with status 400, 401 (no valid signature), 403 (not
// allowed), 404, 409 or 429 (too many requests; Retry-After says when to try again).
// Other packages add their routes with Handle and its siblings.
package admin

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
)

// prefix begins the paths of this door.
const prefix = "/admin/v1/"

// maxBody bounds the body of a request, in bytes, unless its route says otherwise.
const maxBody = 64 << 10

// writeWait is how long a part of an answer that is written bit by bit may take to be sent.
const writeWait = 30 * time.Second

// Options configure a Door.
type Options struct {
	Store *store.Store  // required
	Keys  *auth.Service // required
	// Allow returns the sender of a request whose body has been read, or a fault if it
	// may not perform action on the resources.
	Allow  func(r *http.Request, body []byte, action auth.Action, resources ...string) (auth.Caller, error)
	Logger *slog.Logger // nil discards
}

// Door serves everything under /admin/.
type Door struct {
	opts Options
	mux  *http.ServeMux
}

// New returns the door with its routes for keys and logins.
func New(o Options) *Door {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	d := &Door{opts: o, mux: http.NewServeMux()}
	d.keyRoutes()
	d.loginRoutes()
	d.mux.HandleFunc("/admin/", func(w http.ResponseWriter, r *http.Request) {
		d.refuse(w, fault.Missing("there is nothing at %s %s", r.Method, r.URL.Path))
	})
	return d
}

// ServeHTTP serves one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// Handler handles an authorized request: it returns a value to encode as JSON, or an
// error. The request's context has the sender as the actor of commands.
type Handler func(r *http.Request, body []byte) (any, error)

// Handle adds a route, such as "GET /admin/v1/keys", for callers that may perform
// action. It must be called before the door serves requests.
func (d *Door) Handle(pattern string, action auth.Action, h Handler) {
	d.HandleLarge(pattern, action, maxBody, h)
}

// HandleLarge is Handle for a route whose requests have bodies of up to most bytes.
func (d *Door) HandleLarge(pattern string, action auth.Action, most int64, h Handler) {
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r, body, err := d.allowed(r, action, most)
		var answer any
		if err == nil {
			answer, err = h(r, body)
		}
		if err != nil {
			d.refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			d.opts.Logger.Info("administration answer not written", "error", err)
		}
	})
}

// HandleLines adds a route that answers with JSON lines (application/x-ndjson), which h writes.
// If h returns an error the answer is cut off, so that no client takes it for whole.
func (d *Door) HandleLines(pattern string, action auth.Action, h func(r *http.Request, w io.Writer) error) {
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r, _, err := d.allowed(r, action, maxBody)
		if err != nil {
			d.refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Cache-Control", "no-store")
		lines := bufio.NewWriterSize(&patientWriter{w, http.NewResponseController(w)}, 64<<10)
		if err = h(r, lines); err == nil {
			err = lines.Flush()
		}
		if err != nil {
			d.opts.Logger.Info("administration answer not written", "error", err)
			panic(http.ErrAbortHandler)
		}
	})
}

// patientWriter gives each write writeWait, and not the whole answer.
type patientWriter struct {
	io.Writer
	control *http.ResponseController
}

// Write implements io.Writer.
func (p *patientWriter) Write(b []byte) (int, error) {
	p.control.SetWriteDeadline(time.Now().Add(writeWait))
	return p.Writer.Write(b)
}

// allowed returns the body of a request whose sender may perform action, and the request with
// the sender as the actor of commands.
func (d *Door) allowed(r *http.Request, action auth.Action, most int64) (*http.Request, []byte, error) {
	var body bytes.Buffer
	err := door.ReadBody(r, &body, most)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, nil, fault.Invalid("body: must have at most %d bytes", most)
	}
	if errors.Is(err, door.ErrBusy) {
		return nil, nil, fault.New(fault.Throttling, "%s; try again later", err)
	}
	if err != nil {
		return nil, nil, fault.Invalid("body: could not be read")
	}
	var resources []string
	if id := r.PathValue("id"); id != "" {
		resources = []string{id}
	}
	caller, err := d.opts.Allow(r, body.Bytes(), action, resources...)
	if err != nil {
		return nil, nil, err
	}
	return r.WithContext(store.WithActor(r.Context(), caller.Actor())), body.Bytes(), nil
}

// refuse responds with an error.
func (d *Door) refuse(w http.ResponseWriter, err error) {
	f, ok := fault.As(err)
	if !ok {
		d.opts.Logger.Error("administration request failed", "error", err)
		f = &fault.Fault{Kind: fault.InternalService, Message: "internal failure; the log of the server tells why"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	limit.Advise(w.Header(), err)
	w.WriteHeader(f.Kind.HTTPStatus())
	json.NewEncoder(w).Encode(map[string]string{"message": f.Message})
}
