package door

import (
	"cmp"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Limits on how slowly a client may read. A connection has a budget of time, called
// patience, in which writes may block. It regains a second for each slowest bytes that
// the client reads. So a client that reads more than slowest bytes per second is never
// disconnected, however long a response is, and one that reads less eventually is.
const (
	slowest = 1 << 10 // bytes per second
	piece   = 16 << 10
)

// pace makes sure that a connection's peer reads what it is sent.
type pace struct {
	most time.Duration // of patience

	mu    sync.Mutex
	left  time.Duration // of patience
	asked time.Time     // the deadline set by SetWriteDeadline; zero: none
	own   time.Time     // the deadline of the current write
	slow  bool          // the peer was disconnected
}

// Write writes in pieces. Each has the time that patience and its length allow, or
// until the deadline set by SetWriteDeadline, if that is earlier.
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

// begin sets the deadline of a write.
func (p *pace) begin(c net.Conn, now time.Time, bytes int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.own = now.Add(p.left + takes(bytes))
	return c.SetWriteDeadline(earlier(p.own, p.asked))
}

// end updates patience after a write, and reports whether the peer was too slow.
func (p *pace) end(begun time.Time, bytes int, err error) (slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	slow = !p.slow && errors.Is(err, os.ErrDeadlineExceeded) && !now.Before(p.own)
	p.slow = p.slow || slow
	p.left = min(p.most, max(0, p.left-now.Sub(begun)+takes(bytes)))
	return slow
}

// takes returns how long the slowest accepted client needs to read some bytes.
func takes(bytes int) time.Duration { return time.Duration(bytes) * time.Second / slowest }

// SetWriteDeadline sets a deadline in addition to that of the connection's pace.
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

// earlier returns the earlier of two times, where the zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
