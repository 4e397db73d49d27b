package serversdk

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

// quietAfter is for how long nothing must arrive until a connection gives up its goroutine.
const quietAfter = time.Second

// lender lends the upgrader a reader, so that what it has buffered can be seen. The upgrader
// uses it if it has no buffer size itself and the reader's is above 256 bytes.
type lender struct {
	http.ResponseWriter
	in *bufio.Reader
}

// Hijack implements http.Hijacker.
func (l *lender) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	socket, both, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err == nil && both.Reader.Buffered() == 0 {
		l.in = bufio.NewReaderSize(socket, readBuffer)
		both = bufio.NewReadWriter(l.in, both.Writer)
	}
	return socket, both, err
}

// descriptor returns the file descriptor below a WebSocket, or -1. It is valid until the
// connection is dropped: nothing but Drop may close it.
func descriptor(ws *websocket.Conn) int32 {
	fd := int32(-1)
	for socket := ws.NetConn(); ; {
		if inner, ok := socket.(interface{ NetConn() net.Conn }); ok {
			socket = inner.NetConn()
			continue
		}
		if of, ok := socket.(syscall.Conn); ok {
			if raw, err := of.SyscallConn(); err == nil {
				raw.Control(func(n uintptr) { fd = int32(n) })
			}
		}
		return fd
	}
}

// quiet waits for something to read, and reports whether nothing came for quietAfter. Then
// nothing is buffered either, neither here nor by TLS. After a ping or pong it is called at
// the next message only, since a read returns none but messages.
func (c *conn) quiet() bool {
	own, ok := c.ws.(direct)
	if !canPark || !ok || own.fd < 0 {
		return false
	}
	c.ws.SetReadDeadline(time.Now().Add(quietAfter))
	_, err := own.in.Peek(1)
	c.ws.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// park reports whether the goroutine of run is to end: another one runs when the connection
// has something to read, or is dropped.
func (c *conn) park() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parked = !c.closed && c.s.poller.watch(c.ws.(direct).fd, c)
	return c.parked
}

// unpark starts run again.
func (c *conn) unpark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parked {
		c.parked = false
		go c.run()
	}
}
