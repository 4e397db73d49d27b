package serversdk

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/gameframe"
)

// Limits of one connection.
const (
	maxQueued      = 512 // frames that wait to be written
	maxQueuedBytes = 8 << 20
	maxAtOnce      = 16 // requests of a connection that run at a time
	keepBuffer     = 64 << 10
)

// conn is one socket of a process.
type conn struct {
	s    *Server
	peer *peer
	ws   door.Socket

	read atomic.Int64 // when a frame was last read, in ms since 1970

	mu      sync.Mutex
	queue   []outgoing
	queued  int32 // bytes in queue
	running int32 // requests
	writing bool
	last    bool // ends once the queue is written
	closed  bool
	parked  bool          // without a goroutine, watched by the server's poller
	changed chan struct{} // closed when a request or the writing ends; nil if nothing waits for it
}

// outgoing is a frame to be written. An answer belongs to its connection; a push that
// has not been tried may move to another.
type outgoing struct {
	frame []byte
	push  *push           // nil for answers
	sent  func(err error) // called after the attempt, may be nil
}

func newConn(s *Server, p *peer, ws door.Socket) *conn {
	c := &conn{s: s, peer: p, ws: ws}
	c.read.Store(time.Now().UnixMilli())
	return c
}

// run reads frames until the connection ends or is parked; then it is called again when
// something comes. Requests already received are finished before the peer is told, so a
// process that announced its end is not counted as lost.
func (c *conn) run() {
	for {
		if c.quiet() && c.park() {
			return
		}
		frame, err := c.next()
		if large, is := errors.AsType[*gameframe.TooLarge](err); is {
			c.refuse(large)
			continue
		}
		if err != nil {
			break
		}
		if !c.s.begin() {
			c.recycle(frame) // the node that serves next will answer it
			continue
		}
		c.await(func() bool { return c.running < maxAtOnce })
		c.running++
		c.mu.Unlock()
		go c.handle(frame)
	}
	c.drop()
	c.await(func() bool { return !c.writing })
	c.mu.Unlock()
	c.s.metrics.connections.Dec()
	c.peer.close(c)
	c.await(func() bool { return c.running == 0 })
	c.mu.Unlock()
	c.peer.depart(c.s.ctx)
	c.s.release(c.peer.ref())
}

// await waits until done, which it calls with mu held, returns true. It returns with mu
// held. Only run may call it.
func (c *conn) await(done func() bool) {
	for c.mu.Lock(); !done(); c.mu.Lock() {
		c.changed = make(chan struct{})
		changed := c.changed
		c.mu.Unlock()
		<-changed
	}
}

// notify wakes await. mu must be held.
func (c *conn) notify() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// ended counts a request as no longer running.
func (c *conn) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.notify()
}

// next reads one frame. A frame that has begun must arrive within WriteTimeout.
func (c *conn) next() (*bytes.Buffer, error) {
	_, r, err := c.ws.NextReader()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c.read.Store(now.UnixMilli())
	c.ws.SetReadDeadline(now.Add(c.s.opts.WriteTimeout))
	buf, _ := c.s.buffers.Get().(*bytes.Buffer)
	if buf == nil {
		buf = &bytes.Buffer{}
	}
	buf.Reset()
	err = gameframe.Read(r, buf)
	c.ws.SetReadDeadline(time.Time{})
	return buf, err
}

// refuse answers a frame that is too large.
func (c *conn) refuse(large *gameframe.TooLarge) {
	c.s.metrics.message(otherAction, http.StatusBadRequest)
	c.s.warnings.Warn(c.peer.key, "frame too large", "process", c.peer.key, "action", large.Action, "error", large)
	if answer := large.Answer(); answer != nil {
		c.answer(outgoing{frame: answer})
	}
}

// recycle returns a frame's buffer to the pool.
func (c *conn) recycle(buf *bytes.Buffer) {
	if buf.Cap() <= keepBuffer {
		c.s.buffers.Put(buf)
	}
}

// answer queues an answer, and writes it in the caller's goroutine if no other writes.
func (c *conn) answer(o outgoing) {
	if c.enqueue(o) == mustWrite {
		c.write()
	}
}

// offer queues a push without blocking, and reports whether the connection accepted it.
func (c *conn) offer(p push) bool {
	switch c.enqueue(outgoing{frame: p.frame, push: &p}) {
	case refused:
		return false
	case mustWrite:
		go c.write()
	}
	return true
}

type taken int

const (
	refused   taken = iota
	queued          // another goroutine is writing, and will write it
	mustWrite       // the caller must have write called
)

// enqueue adds a frame. A process that does not read loses its connection rather than
// using up our memory.
func (c *conn) enqueue(o outgoing) taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return refused
	}
	if len(c.queue) >= maxQueued || int(c.queued)+len(o.frame) > maxQueuedBytes {
		c.s.log.Warn("process does not read, dropping its connection", "process", c.peer.key)
		c.shut()
		return refused
	}
	c.queue = append(c.queue, o)
	c.queued += int32(len(o.frame))
	if c.writing {
		return queued
	}
	c.writing = true
	return mustWrite
}

// write writes what is queued, including what is added in the meantime.
func (c *conn) write() {
	for {
		o, ok := c.dequeue()
		if !ok {
			return
		}
		c.ws.SetWriteDeadline(time.Now().Add(c.s.opts.WriteTimeout))
		err := c.ws.WriteMessage(websocket.TextMessage, o.frame)
		if err != nil {
			c.drop()
		}
		if o.push != nil {
			c.s.metrics.pushes.WithLabelValues(string(o.push.action)).Inc()
		}
		if o.sent != nil {
			o.sent(err)
		}
	}
}

func (c *conn) dequeue() (outgoing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.queue) == 0 {
		c.writing = false
		c.notify()
		if c.last {
			c.shut()
		}
		return outgoing{}, false
	}
	o := c.queue[0]
	c.queue = c.queue[1:]
	c.queued -= int32(len(o.frame))
	if len(c.queue) == 0 {
		c.queue = nil
	}
	return o, true
}

// drop ends the connection as a broken wire would: without a close frame, which
// the SDKs of a living process take for the end.
func (c *conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut()
}

// finish drops the connection as soon as what is queued has been written.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last = true; !c.writing {
		c.shut()
	}
}

func (c *conn) shut() {
	if c.closed {
		return
	}
	c.closed = true
	if c.parked {
		c.parked = false
		c.s.poller.forget(c.ws.(direct).fd, c)
		go c.run()
	}
	c.ws.Drop()
}

// untried returns the pushes of an ended connection whose write did not begin.
func (c *conn) untried() []push {
	c.mu.Lock()
	defer c.mu.Unlock()
	var left []push
	for _, o := range c.queue {
		if o.push != nil {
			left = append(left, *o.push)
		}
	}
	c.queue, c.queued = nil, 0
	return left
}
