package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/auth"
)

// View is what a page shows: a value that is computed from the state at this moment.
type View struct {
	// Allow returns the sender of a request, or a fault if it may not see the view with
	// these parameters.
	Allow func(r *http.Request, q url.Values) (auth.Caller, error)
	// Data returns the view for a caller. Callers with the same role and scope get the same.
	Data func(ctx context.Context, caller auth.Caller, q url.Values) (any, error)
}

const (
	// leastEvery and mostEvery bound how often a view is computed for those who follow it.
	leastEvery = 100 * time.Millisecond
	mostEvery  = 10 * time.Second
	usualEvery = 500 * time.Millisecond
	// rest is how long a followed view is not computed again, as a multiple of the time that
	// it took: computing it takes at most 2 % of a processor.
	rest = 50
	// recheck is how often it is checked whether a follower still may see a view.
	recheck = 5 * time.Second
)

// frame is a view as it is sent to a page.
type frame struct {
	At    time.Time       `json:"at"` // the server's clock
	Seq   uint64          `json:"seq"`
	Data  json.RawMessage `json:"data,omitempty"`
	Error string          `json:"error,omitempty"` // in place of data
	Gone  bool            `json:"gone,omitempty"`  // what was asked for does not exist (any more)

	line []byte // the frame as JSON and a line break, encoded once for all followers
}

// encode returns the frame with its line.
func (f frame) encode() frame {
	text, err := json.Marshal(f)
	if err != nil { // Data is no JSON, though encoding/json returned it
		panic(err)
	}
	f.line = append(text, '\n')
	return f
}

// Views adds these routes, and must be called before the console serves requests:
//
//	GET /console/api/views/NAME?…          returns a view: {"at", "seq", "data"}
//	GET /console/api/live/NAME?every=MS&…  follows it: a JSON line now and whenever it has
//	                                       changed, at most every 100 ms (default 500)
//
// However many follow a view, it is computed once for all whose role and scope are the same.
func (c *Console) Views(views map[string]View) {
	shared := &sharedViews{of: map[string]*sharedView{}}
	find := func(w http.ResponseWriter, r *http.Request) (View, auth.Caller, bool) {
		v, ok := views[r.PathValue("name")]
		if !ok {
			refuse(w, http.StatusNotFound, fmt.Sprintf("there is no view %.40q", r.PathValue("name")))
			return v, auth.Caller{}, false
		}
		caller, err := v.Allow(r, r.URL.Query())
		return v, caller, !c.denied(w, err)
	}
	c.mux.HandleFunc("GET /console/api/views/{name}", func(w http.ResponseWriter, r *http.Request) {
		v, caller, ok := find(w, r)
		if !ok {
			return
		}
		data, err := v.Data(r.Context(), caller, r.URL.Query())
		if err != nil {
			c.answer(w, nil, err)
			return
		}
		text, err := json.Marshal(data)
		c.answer(w, frame{At: time.Now().UTC(), Seq: c.opts.Last(), Data: text}, err)
	})
	c.mux.HandleFunc("GET /console/api/live/{name}", func(w http.ResponseWriter, r *http.Request) {
		v, caller, ok := find(w, r)
		if !ok {
			return
		}
		q := r.URL.Query()
		every, err := everyOf(q)
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
		q.Del("every")
		f := follower{
			console: c, view: v, caller: caller, query: q, every: every, request: r, out: newLineWriter(w),
			shared: shared, key: r.PathValue("name") + "?" + q.Encode() + "\x00" + string(caller.Role) + "\x00" + caller.Scope.String(),
		}
		if err := f.run(r.Context()); err != nil && r.Context().Err() == nil {
			c.opts.Logger.Info("a page's stream ended early", "error", err)
		}
	})
}

func everyOf(q url.Values) (time.Duration, error) {
	text := q.Get("every")
	if text == "" {
		return usualEvery, nil
	}
	ms, err := strconv.Atoi(text)
	every := time.Duration(ms) * time.Millisecond
	if err != nil || every < leastEvery || every > mostEvery {
		return 0, fmt.Errorf("every: %.40q is no number of milliseconds from %d to %d", text, leastEvery.Milliseconds(), mostEvery.Milliseconds())
	}
	return every, nil
}

// sharedViews are the views that are being followed.
type sharedViews struct {
	mu sync.Mutex
	of map[string]*sharedView
}

// sharedView is the last computed value of a view.
type sharedView struct {
	followers int // guarded by sharedViews.mu

	mu    sync.Mutex
	next  time.Time // when it may be computed again; zero before the first time
	frame frame
}

// enter returns the view with a key for one more follower.
func (s *sharedViews) enter(key string) *sharedView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.of[key]
	if v == nil {
		v = &sharedView{}
		s.of[key] = v
	}
	v.followers++
	return v
}

func (s *sharedViews) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.of[key]; v.followers > 1 {
		v.followers--
	} else {
		delete(s.of, key)
	}
}

// get returns a value that is at most as old as age, or as the rest allows; compute returns a
// new one.
func (v *sharedView) get(age time.Duration, compute func() frame) frame {
	v.mu.Lock()
	defer v.mu.Unlock()
	if begin := time.Now(); !begin.Before(v.next) {
		v.frame = compute()
		end := time.Now()
		v.next = end.Add(max(age, rest*end.Sub(begin)))
	}
	return v.frame
}

// follower sends a view to one page.
type follower struct {
	console *Console
	view    View
	caller  auth.Caller
	query   url.Values
	every   time.Duration
	request *http.Request
	out     *lineWriter
	shared  *sharedViews
	key     string

	sent    frame // the last one; its data is nil before
	sentAt  time.Time
	checked time.Time
}

// run sends the view now and whenever it has changed, until ctx ends.
func (f *follower) run(ctx context.Context) error {
	v := f.shared.enter(f.key)
	defer f.shared.leave(f.key)
	defer f.out.end()
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	f.checked = time.Now()
	for {
		next := v.get(f.every/2, func() frame { return f.compute(ctx) })
		if err := f.send(next); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.console.closing:
			return nil
		case <-tick.C:
		}
		if time.Since(f.checked) < recheck {
			continue
		}
		if err := f.allowed(); err != nil {
			return f.refuse(err)
		}
		f.checked = time.Now()
	}
}

// allowed returns a fault if the follower may not see the view any more. A signature is not
// checked again: it expires after some minutes, but whose it is may still be asked.
func (f *follower) allowed() error {
	if still := f.console.opts.Still; still != nil && f.request.Header.Get("Authorization") != "" {
		return still(f.request, f.caller)
	}
	_, err := f.view.Allow(f.request, f.query)
	return err
}

// computeTime bounds the time to compute a view.
const computeTime = 10 * time.Second

// compute returns the view as it is now. It does not end with this follower, since others may
// get the same.
func (f *follower) compute(ctx context.Context) frame {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), computeTime)
	defer cancel()
	out := frame{At: time.Now().UTC(), Seq: f.console.opts.Last()}
	data, err := f.view.Data(ctx, f.caller, f.query)
	if err == nil {
		out.Data, err = json.Marshal(data)
	}
	if err != nil {
		out.Error, out.Gone = f.console.told(err)
	}
	return out.encode()
}

// send writes a frame if it says something new, and an empty line if nothing was sent for
// long.
func (f *follower) send(next frame) error {
	same := !f.sentAt.IsZero() && bytes.Equal(next.Data, f.sent.Data) && next.Error == f.sent.Error
	switch {
	case same && time.Since(f.sentAt) < heartbeat:
		return nil
	case same:
		f.sentAt = time.Now()
		return f.out.heartbeat()
	}
	f.sent, f.sentAt = next, time.Now()
	return f.write(next)
}

func (f *follower) write(next frame) error {
	if err := f.out.begin(); err != nil {
		return err
	}
	if _, err := f.out.w.Write(next.line); err != nil {
		return err
	}
	return f.out.ctl.Flush()
}

// refuse writes why the stream ends.
func (f *follower) refuse(err error) error {
	text, _ := f.console.told(err)
	return f.write(frame{At: time.Now().UTC(), Error: text}.encode())
}
