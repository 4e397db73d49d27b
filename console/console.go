// Package console is the door for operators: what the terminal, and later the
// browser, needs beyond the AWS API. So far that is the event log.
//
//	GET /console/api/events?after=SEQ&last=N&limit=N&follow=true&fleet=ID&session=ARN
//
// answers JSON lines, oldest first: everything behind the sequence number after,
// or else the last N events (default 20). With follow the answer does not end:
// new events come as they are committed, and an empty line every 15 s while
// there are none. Who lost the connection goes on from the last seq it has; no
// event is missed or told twice.
package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// Options of the console.
type Options struct {
	Home   arn.Home
	Events *event.Log
	Last   func() uint64 // sequence number of the newest event
	Logger *slog.Logger
	// Streams bounds how many event streams are open at a time: one key has at most a
	// quarter of them, and the last quarter is for administrators and operators.
	// Default 128.
	Streams int
	// Allow returns the sender of a request, or a fault if it may not do what
	// action says with the resources.
	Allow func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error)
	// AllowOf is Allow for a resource that has to be looked up, once the sender is known.
	AllowOf func(r *http.Request, action auth.Action, look func(context.Context) (resource string, err error)) (auth.Caller, error)
}

// Console serves everything under /console/.
type Console struct {
	opts    Options
	mux     *http.ServeMux
	streams *streams
	tracing chan struct{} // holds a token while a trace is being given
	closing chan struct{}
}

// New makes the console.
func New(o Options) *Console {
	c := &Console{
		opts: o, mux: http.NewServeMux(),
		streams: newStreams(o.Streams), tracing: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	c.mux.HandleFunc("GET /console/api/events", c.events)
	c.mux.HandleFunc("/console/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "the console has nothing at "+r.URL.Path)
	})
	return c
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// Close ends the answers that are being followed. Call it once.
func (c *Console) Close() { close(c.closing) }

// refused answers a request whose sender may not do what action says, and
// reports whether it did.
func (c *Console) refused(w http.ResponseWriter, r *http.Request, action auth.Action, resources ...string) bool {
	_, err := c.opts.Allow(r, action, resources...)
	return c.denied(w, err)
}

// resource returns the ARN of a resource that a request names by its id, name or ARN.
func (c *Console) resource(kind, idOrARN string) string {
	return c.opts.Home.Of(kind, c.opts.Home.ID(kind, idOrARN))
}

// refusedOf is refused for what belongs to a resource: owner returns that by its id
// or name, or "" where there is no such thing.
func (c *Console) refusedOf(w http.ResponseWriter, r *http.Request, action auth.Action, kind string,
	owner func(ctx context.Context, id string) (string, error)) bool {
	_, err := c.opts.AllowOf(r, action, func(ctx context.Context) (string, error) {
		id, err := owner(ctx, r.PathValue("id"))
		return c.resource(kind, id), err
	})
	return c.denied(w, err)
}

// denied answers for an error of Allow, and reports whether there was one.
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
