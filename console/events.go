package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
)

const (
	pageSize     = 500
	heartbeat    = 15 * time.Second
	writeTimeout = 30 * time.Second // for one page; a slower reader loses its connection and can resume
)

// query is a request for events.
type query struct {
	after    uint64    // cursor
	last     uint64    // if not 0, after is not known: begin with so many of the events that only, from and to select
	from, to time.Time // From <= time < To; zero is open
	limit    int       // maximum number of events
	follow   bool
	only     event.Filter
	hide     bool // hide the ids of player sessions, with which game servers accept players
}

func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	var of []string
	if fleet := r.URL.Query().Get("fleet"); fleet != "" {
		of = append(of, c.resource("fleet", fleet))
	}
	if session := r.URL.Query().Get("session"); session != "" {
		of = append(of, c.resource("fleet", arn.SessionFleet(session)))
	}
	caller, err := c.opts.Allow(r, "DescribeFleetEvents", of...)
	if c.denied(w, err) {
		return
	}
	if session := r.URL.Query().Get("session"); session != "" {
		if where := c.resource("location", arn.SessionLocation(session)); !caller.ReachesBeside(where) {
			c.denied(w, caller.May("DescribeFleetEvents", where))
			return
		}
	}
	q, err := c.parse(r.URL.Query())
	q.hide = caller.Has(auth.ReadPlayerSessionIDs) != nil
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if c.denied(w, c.streams.enter(caller)) {
		return
	}
	defer c.streams.leave(caller)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	still := func() error {
		if c.opts.Still == nil {
			return nil
		}
		return c.opts.Still(r, caller)
	}
	if err := c.stream(r.Context(), newLineWriter(w), q, still); err != nil && r.Context().Err() == nil {
		c.opts.Logger.Info("event stream ended early", "error", err)
	}
}

// parse parses the parameters of a request; the error names an invalid one.
func (c *Console) parse(v url.Values) (query, error) {
	q := query{limit: math.MaxInt, only: event.Filter{FleetID: v.Get("fleet"), GameSessionID: v.Get("session"), Resource: v.Get("resource")}}
	for _, code := range v["code"] {
		q.only.Codes = append(q.only.Codes, event.Code(code))
	}
	var err error
	for name, at := range map[string]*time.Time{"since": &q.from, "until": &q.to} {
		if s := v.Get(name); s != "" {
			if *at, err = time.Parse(time.RFC3339, s); err != nil {
				return q, fmt.Errorf("%s: %q is no time such as 2026-01-02T15:04:05Z", name, s)
			}
		}
	}
	if s := v.Get("follow"); s != "" {
		if q.follow, err = strconv.ParseBool(s); err != nil {
			return q, fmt.Errorf("follow: %q is neither true nor false", s)
		}
	}
	if s := v.Get("limit"); s != "" {
		if q.limit, err = strconv.Atoi(s); err != nil || q.limit < 1 {
			return q, fmt.Errorf("limit: %q is no number of at least 1", s)
		}
	}
	if s := v.Get("after"); s != "" {
		if q.after, err = strconv.ParseUint(s, 10, 63); err != nil {
			return q, fmt.Errorf("after: %q is no sequence number", s)
		}
		return q, nil
	}
	if v.Get("last") == "" && !q.from.IsZero() {
		return q, nil
	}
	last := uint64(20)
	if s := v.Get("last"); s != "" {
		if last, err = strconv.ParseUint(s, 10, 63); err != nil {
			return q, fmt.Errorf("last: %q is no number", s)
		}
	}
	newest := c.opts.Last()
	q.after = newest
	if f := q.only; last > 0 && (f.FleetID != "" || f.GameSessionID != "" || f.Resource != "" || len(f.Codes) > 0 || !q.to.IsZero()) {
		q.last = last
	} else {
		q.after -= min(last, newest)
	}
	return q, nil
}

// stream writes the events that q requests, until there are no more or, with follow,
// until ctx ends or still returns an error.
func (c *Console) stream(ctx context.Context, out *lineWriter, q query, still func() error) error {
	nudge, end := c.opts.Events.Watch()
	defer end()
	tick, check := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer tick.Stop()
	defer check.Stop()
	defer out.end()
	if err := c.back(ctx, out, &q); err != nil {
		return err
	}
	for {
		more, err := c.page(ctx, out, &q)
		if err != nil || q.limit == 0 || (!q.follow && !more) {
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.closing:
			return nil
		case <-nudge:
		case <-check.C:
			if err := still(); err != nil {
				return err
			}
		case <-tick.C:
			if err := out.heartbeat(); err != nil {
				return err
			}
		}
	}
}

// back sets the cursor in front of the last events that q selects. It reads the log from its end,
// in pages, until it has found enough of them.
func (c *Console) back(ctx context.Context, out *lineWriter, q *query) error {
	for before := uint64(0); q.last > 0; {
		entries, err := c.opts.Events.Read(ctx, event.Query{
			GameSessionID: q.only.GameSessionID, After: before, From: q.from, To: q.to, NewestFirst: true, Limit: pageSize,
		})
		if err != nil {
			return err
		}
		for _, e := range entries {
			before = e.Seq
			if _, ok := q.line(e); ok && q.last > 0 {
				q.after = e.Seq - 1
				q.last--
			}
		}
		if len(entries) < pageSize {
			return nil
		}
		if err := cmp.Or(out.begin(), out.ctl.Flush()); err != nil { // the reader sees that it is being answered, and if it is gone, this ends
			return err
		}
	}
	return nil
}

// line returns an event as q's sender sees it; ok is false if q does not select it.
func (q *query) line(e event.Entry) (l event.Line, ok bool) {
	l = event.Line{Seq: e.Seq, Event: *e.Value}
	if q.hide {
		l.PlayerSessionID = ""
	}
	return l, q.only.Has(&l.Event)
}

// page writes one page and advances the cursor; more reports whether there may be
// another.
func (c *Console) page(ctx context.Context, out *lineWriter, q *query) (more bool, err error) {
	entries, err := c.opts.Events.Read(ctx, event.Query{GameSessionID: q.only.GameSessionID, After: q.after, From: q.from, To: q.to, Limit: pageSize})
	if err != nil {
		return false, err
	}
	if err := out.begin(); err != nil {
		return false, err
	}
	for _, e := range entries {
		q.after = e.Seq
		l, ok := q.line(e)
		if !ok {
			continue
		}
		if err := out.line(l); err != nil {
			return false, err
		}
		if q.limit--; q.limit == 0 {
			break
		}
	}
	return len(entries) == pageSize, out.ctl.Flush()
}

// lineWriter writes JSON lines; each page begins with begin and ends with a flush.
type lineWriter struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
}

func newLineWriter(w http.ResponseWriter) *lineWriter {
	return &lineWriter{w: w, ctl: http.NewResponseController(w)}
}

// end removes the deadline, since the connection may serve other requests.
func (l *lineWriter) end() { l.ctl.SetWriteDeadline(time.Time{}) }

// begin sets the deadline for the next page.
func (l *lineWriter) begin() error { return l.ctl.SetWriteDeadline(time.Now().Add(writeTimeout)) }

func (l *lineWriter) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.w.Write(append(b, '\n'))
	return err
}

func (l *lineWriter) heartbeat() error {
	if err := l.begin(); err != nil {
		return err
	}
	if _, err := l.w.Write([]byte("\n")); err != nil {
		return err
	}
	return l.ctl.Flush()
}
