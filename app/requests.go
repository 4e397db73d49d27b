package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// requests counts the requests that a replica answers. WebSockets are not counted, since
// they end when the replica does.
type requests struct {
	count  atomic.Int64
	closed atomic.Bool
	idle   chan struct{} // closed when there are none any more, after close
	once   sync.Once
}

func newRequests() *requests { return &requests{idle: make(chan struct{})} }

// enter counts a request, and reports whether the replica still takes any. If it does, leave
// must be called.
func (q *requests) enter(r *http.Request) bool {
	if lasting(r) {
		return !q.closed.Load()
	}
	q.count.Add(1)
	if q.closed.Load() {
		q.leave(r)
		return false
	}
	return true
}

// leave uncounts a request.
func (q *requests) leave(r *http.Request) {
	if !lasting(r) && q.count.Add(-1) == 0 && q.closed.Load() {
		q.once.Do(func() { close(q.idle) })
	}
}

// lasting reports whether a request opens a WebSocket.
func lasting(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// close makes enter refuse all further requests.
func (q *requests) close() {
	q.closed.Store(true)
	if q.count.Load() == 0 {
		q.once.Do(func() { close(q.idle) })
	}
}

// wait returns once no request is in flight after close, or with an error when ctx ends.
func (q *requests) wait(ctx context.Context) error {
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("requests were cut off: %w", ctx.Err())
	}
}
