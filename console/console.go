// Package console is the door for operators: the pages that they see (package web), and what
// these and other tools need beyond the AWS API. It serves the event log; other routes are
// added by its methods.
//
//	GET /console/api/events?after=SEQ&last=N&limit=N&follow=true&fleet=ID&session=ARN
//
// returns JSON lines, oldest first: all events after the sequence number SEQ, or else
// the last N events (default 20) of those that the other parameters select. With follow the response does not end: new events are
// sent as they are committed, and an empty line every 15 s while there are none. A
// client that lost the connection continues after the last sequence number that it
// received; no event is missed or sent twice.
package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console/web"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// Options configure a Console.
type Options struct {
	Home   arn.Home
	Events *event.Log
	Last   func() uint64 // sequence number of the newest event
	Logger *slog.Logger
	// Streams bounds how many event streams are open at the same time: one key has at
	// most a quarter of them, and the last quarter is reserved for administrators and
	// operators. Default 128.
	Streams int
	// Allow returns the sender of a request, or a fault if it may not perform action on
	// the resources.
	Allow func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error)
	// AllowOf is like Allow for a resource that is looked up once the sender is
	// authenticated.
	AllowOf func(r *http.Request, action auth.Action, look func(context.Context) (resource string, err error)) (auth.Caller, error)
	// AllowBodyOf is like AllowOf for a request whose body has been read, and any number of
	// resources.
	AllowBodyOf func(r *http.Request, body []byte, action auth.Action, look func(context.Context) (resources []string, err error)) (auth.Caller, error)
	// Still returns a fault if the sender of a request, which Allow returned before, may not
	// send requests any more; nil: all may.
	Still func(r *http.Request, caller auth.Caller) error
}

// Console serves everything under /console/.
type Console struct {
	opts    Options
	mux     *http.ServeMux
	streams *streams
	tracing chan struct{} // holds a token while a trace is being sent
	closing chan struct{}
}

// New returns a Console.
func New(o Options) *Console {
	c := &Console{
		opts: o, mux: http.NewServeMux(),
		streams: newStreams(o.Streams), tracing: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	c.mux.HandleFunc("GET /console/api/events", c.events)
	c.mux.Handle("/console/", web.Handler("/console/"))
	c.mux.HandleFunc("/console/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "the console has nothing at "+r.URL.Path)
	})
	return c
}

// ServeHTTP serves one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// Close ends the responses that follow new events. It must be called at most once.
func (c *Console) Close() { close(c.closing) }

// refused responds with an error if the sender of a request may not perform action, and
// reports whether it did.
func (c *Console) refused(w http.ResponseWriter, r *http.Request, action auth.Action, resources ...string) bool {
	_, err := c.opts.Allow(r, action, resources...)
	return c.denied(w, err)
}

// resource returns the ARN of a resource that a request names by its id, name or ARN.
func (c *Console) resource(kind, idOrARN string) string {
	if kind == "fleet" {
		return c.opts.Home.OfFleet(c.opts.Home.FleetID(idOrARN))
	}
	return c.opts.Home.Of(kind, c.opts.Home.ID(kind, idOrARN))
}

// refusedOf is like refused for something that belongs to a resource: owner returns
// that resource's id or name for the id in the path, or "" if that does not exist.
func (c *Console) refusedOf(w http.ResponseWriter, r *http.Request, action auth.Action, kind string,
	owner func(ctx context.Context, id string) (string, error)) bool {
	_, err := c.opts.AllowOf(r, action, func(ctx context.Context) (string, error) {
		id, err := owner(ctx, r.PathValue("id"))
		return c.resource(kind, id), err
	})
	return c.denied(w, err)
}

// denied responds with an error of Allow, if there is one, and reports whether it did.
func (c *Console) denied(w http.ResponseWriter, err error) bool {
	if err == nil {
		return false
	}
	f, ok := fault.As(err)
	if !ok {
		c.opts.Logger.Error("console request not checked", "error", err)
		refuse(w, http.StatusInternalServerError, "internal failure")
		return true
	}
	limit.Advise(w.Header(), err)
	refuse(w, f.Kind.HTTPStatus(), f.Message)
	return true
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"message": message})
}
