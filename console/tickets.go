package console

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Tickets has the functions for requests about matchmaking. Their results are sent as
// JSON; a fault of kind NotFound becomes a 404.
type Tickets struct {
	Explain  func(ctx context.Context, id string) (any, error)            // returns why a ticket waits
	Overview func(ctx context.Context, configuration string) (any, error) // returns why the tickets of a configuration wait
	// ConfigurationOf returns the name of a ticket's configuration, "" if the ticket
	// does not exist.
	ConfigurationOf func(ctx context.Context, id string) (string, error)
	// Trace returns the tickets of a configuration, for simulations. Calls are never
	// concurrent: a whole trace is in memory until it has been sent.
	Trace func(ctx context.Context, configuration string, since time.Time) (iter.Seq[any], error)
}

// configuration is the kind of resource that tickets belong to.
const configuration = "matchmakingconfiguration"

// Tickets adds these routes, and must be called before the console serves requests:
//
//	GET /console/api/tickets/ID/explain          requires DescribeMatchmaking
//	GET /console/api/matchmaking/NAME/explain    requires DescribeMatchmaking
//	GET /console/api/matchmaking/NAME/trace?since=RFC3339   the same; JSON lines, oldest first
func (c *Console) Tickets(t Tickets) {
	c.mux.HandleFunc("GET /console/api/tickets/{id}/explain", func(w http.ResponseWriter, r *http.Request) {
		if !c.refusedOf(w, r, "DescribeMatchmaking", configuration, t.ConfigurationOf) {
			told, err := t.Explain(r.Context(), r.PathValue("id"))
			c.answer(w, told, err)
		}
	})
	c.mux.HandleFunc("GET /console/api/matchmaking/{name}/explain", func(w http.ResponseWriter, r *http.Request) {
		if !c.refused(w, r, "DescribeMatchmaking", c.resource(configuration, r.PathValue("name"))) {
			told, err := t.Overview(r.Context(), r.PathValue("name"))
			c.answer(w, told, err)
		}
	})
	c.mux.HandleFunc("GET /console/api/matchmaking/{name}/trace", func(w http.ResponseWriter, r *http.Request) {
		if c.refused(w, r, "DescribeMatchmaking", c.resource(configuration, r.PathValue("name"))) {
			return
		}
		since, err := sinceOf(r)
		if err != nil {
			c.answer(w, nil, err)
			return
		}
		select {
		case c.tracing <- struct{}{}:
			defer func() { <-c.tracing }()
		default:
			refuse(w, http.StatusServiceUnavailable, "another trace is being read, which is the bound; try again")
			return
		}
		lines, err := t.Trace(r.Context(), r.PathValue("name"), since)
		if err != nil {
			c.answer(w, nil, err)
			return
		}
		c.lines(w, lines)
	})
}

// sinceOf returns the parameter since of a request; the zero time means all that is
// kept.
func sinceOf(r *http.Request) (time.Time, error) {
	text := r.URL.Query().Get("since")
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fault.Invalid("since: must be a time such as 2026-01-02T15:04:05Z")
	}
	return at, nil
}

// lines responds with JSON lines, with a write deadline for each page.
func (c *Console) lines(w http.ResponseWriter, lines iter.Seq[any]) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	out := newLineWriter(w)
	defer out.end()
	n := 0
	for line := range lines {
		var err error
		if n%pageSize == 0 {
			err = out.begin()
		}
		if n++; err == nil {
			err = out.line(line)
		}
		if err != nil {
			c.opts.Logger.Info("console answer not written", "error", err)
			return
		}
	}
}
