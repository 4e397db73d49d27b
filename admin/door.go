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
// Other packages add their routes with Handle.
package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
)

// prefix begins the paths of this door.
const prefix = "/admin/v1/"

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

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
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		answer, err := d.run(w, r, action, h)
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

func (d *Door) run(w http.ResponseWriter, r *http.Request, action auth.Action, h Handler) (any, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, fault.Invalid("body: must have at most %d bytes", maxBody)
	}
	if err != nil {
		return nil, fault.Invalid("body: could not be read")
	}
	var resources []string
	if id := r.PathValue("id"); id != "" {
		resources = []string{id}
	}
	caller, err := d.opts.Allow(r, body, action, resources...)
	if err != nil {
		return nil, err
	}
	return h(r.WithContext(store.WithActor(r.Context(), caller.Actor())), body)
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
