package backend

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// handleControl makes the writer answer control frames, which the package websocket would
// have the reader do. So only the writer writes to the connection, until a message that
// breaks the protocol ends it.
func (c *socket) handleControl() {
	c.ws.SetPongHandler(func(string) error { c.hear(); return nil })
	c.ws.SetPingHandler(func(data string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.echo = data
		c.writeLater(pong)
		return nil
	})
	c.ws.SetCloseHandler(func(code int, _ string) error { c.end(code, ""); return nil })
}

// hear records that the client has sent something.
func (c *socket) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = c.of.door.clock()
	if c.doubted {
		c.doubted = false
		c.ws.SetReadDeadline(time.Time{})
	}
}

// doubt sets a deadline for the reader if the client may have been silent for too long
// before the next ping. A client that answers pings has no deadline, because moving one at
// each pong costs a timer. The caller must hold mu.
func (c *socket) doubt(now time.Duration) {
	if left := c.heard + silentFor - now; !c.doubted && left < pingEvery+time.Second {
		c.doubted = true
		c.ws.SetReadDeadline(time.Now().Add(left))
	}
}

// ping pings the client, if it is known. It never blocks: where a ping cannot be written
// immediately, or more than it is to be written, a goroutine writes it.
func (c *socket) ping(now time.Duration) {
	c.mu.Lock()
	c.doubt(now)
	alone := c.access != nil && c.mark(ping)
	access := c.access
	c.mu.Unlock()
	if !alone { // not known, closed, or its writer will write it
		return
	}
	written := false
	if _, warn := c.expiring(access); c.raw != nil && !warn && c.stillIn(access) {
		var err error
		if written, err = writePing(c.raw); err != nil {
			c.shut()
			c.writer.Done()
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if written {
		c.due &^= ping
	}
	if c.due == 0 && len(c.answers) == 0 {
		c.writing = false
		c.writer.Done()
		return
	}
	go c.write()
}

// answerPing writes the pong for the last ping from the client.
func (c *socket) answerPing() error {
	c.mu.Lock()
	data := c.echo
	c.echo = ""
	c.mu.Unlock()
	return c.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeWithin))
}

// rawOf returns the socket below a connection, or nil if there is none or what is written is
// encrypted first.
func rawOf(conn net.Conn) syscall.RawConn {
	for {
		if _, encrypts := conn.(*tls.Conn); encrypts {
			return nil
		}
		if of, ok := conn.(syscall.Conn); ok {
			raw, err := of.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		}
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = outer.NetConn()
	}
}

// joining is a ResponseWriter whose hijacked connection sends the answer to the upgrade
// together with what is written next.
type joining struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (j joining) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(j.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &joined{Conn: conn}, both, nil
}

// joined is a connection that keeps the first bytes that are written until more are.
type joined struct {
	net.Conn
	kept  []byte
	began bool // the first bytes were written
}

// NetConn returns the underlying connection.
func (j *joined) NetConn() net.Conn { return j.Conn }

// Write implements net.Conn.
func (j *joined) Write(p []byte) (int, error) {
	if !j.began {
		j.began, j.kept = true, bytes.Clone(p)
		return len(p), nil
	}
	if j.kept == nil {
		return j.Conn.Write(p)
	}
	before := len(j.kept)
	n, err := j.Conn.Write(append(j.kept, p...))
	j.kept = nil
	return max(0, n-before), err
}
