package door

import (
	"cmp"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// What a client may take to receive what it is sent. A connection has patience for
// times in which nothing can be written, which it gets back as bytes are taken: for
// each slowest bytes a second. So whoever takes more than slowest a second is never cut
// off, however long an answer is, and whoever takes less is after a while.
const (
	slowest = 1 << 10 // bytes a second
	piece   = 16 << 10
)

// pace holds a connection's peer to taking what it is sent.
type pace struct {
	most time.Duration // of patience

	mu    sync.Mutex
	left  time.Duration // of patience
	asked time.Time     // the deadline that somebody set; zero: none
	own   time.Time     // the deadline of the write that is being made
	slow  bool          // the peer was cut off
}

// Write writes in pieces, each of which has the time that patience and its length
// allow, or until the deadline that was set, if that is earlier.
func (c *conn) Write(p []byte) (n int, err error) {
	for first := true; first || n < len(p) && err == nil; first = false {
		var m int
		m, err = c.writePiece(p[n:min(n+piece, len(p))])
		n += m
	}
	return n, err
}

func (c *conn) writePiece(p []byte) (int, error) {
	begun := time.Now()
	if err := c.pace.begin(c.Conn, begun, len(p)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if c.pace.end(begun, n, err) {
		c.conns.slow.Add(1)
	}
	return n, err
}

// begin gives a write its deadline.
func (p *pace) begin(c net.Conn, now time.Time, bytes int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own = now.Add(p.left + takes(bytes))
	return c.SetWriteDeadline(earlier(p.own, p.asked))
}

// end settles what a write took, and reports whether the peer was too slow for it.
func (p *pace) end(begun time.Time, bytes int, err error) (slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	slow = !p.slow && errors.Is(err, os.ErrDeadlineExceeded) && !now.Before(p.own)
	p.slow = p.slow || slow
	p.left = min(p.most, max(0, p.left-now.Sub(begun)+takes(bytes)))
	return slow
}

// takes is how long the slowest client may need for some bytes.
func takes(bytes int) time.Duration { return time.Duration(bytes) * time.Second / slowest }

// SetWriteDeadline sets a deadline besides the one that the connection's pace has.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.pace.mu.Lock()
	defer c.pace.mu.Unlock()
	c.pace.asked = t
	return c.Conn.SetWriteDeadline(earlier(c.pace.own, t))
}

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error {
	return cmp.Or(c.Conn.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// earlier returns the earlier of two times, of which the zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
