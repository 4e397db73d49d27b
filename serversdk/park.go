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

// afterPong is quietAfter where only a pong has come.
const afterPong = 10 * time.Millisecond

// pinging is for how long a ping may take, which the buffer of a socket takes at once unless
// the process does not read.
const pinging = 100 * time.Millisecond

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
// nothing is buffered either, neither here nor by TLS. After a ping of the process it is called
// at the next message only, since a read returns none but messages.
func (c *conn) quiet() bool {
	own, ok := c.ws.(direct)
	if !canPark || !ok || own.fd < 0 {
		return false
	}
	defer c.ws.SetReadDeadline(time.Time{})
	for patience := quietAfter; ; patience = afterPong {
		c.ws.SetReadDeadline(time.Now().Add(patience))
		if skipped, err := own.skipPong(); !skipped {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// skipPong waits for something to read, and discards it if it is a pong, for which NextReader
// would keep the goroutine until the next message.
func (d direct) skipPong() (bool, error) {
	const final, masked, small = 0x80, 0x80, 0x7f
	head, err := d.in.Peek(1)
	if err != nil || head[0] != final|websocket.PongMessage {
		return false, err
	}
	if head, err = d.in.Peek(2); err != nil || head[1]&masked == 0 {
		return false, err
	}
	size := 2 + 4 + int(head[1]&small) // with the mask; a control frame is small
	if _, err = d.in.Peek(size); err == nil {
		_, err = d.in.Discard(size)
	}
	return err == nil, err
}

// ping sends a ping if another while, since something was read, ends between two times. It is to keep what is between here and the process from taking the connection
// for dead, so it is not sent while something else is.
func (c *conn) ping(from, to time.Time, while time.Duration) {
	own, ok := c.ws.(direct)
	read := time.UnixMilli(c.read.Load())
	if !ok || to.Sub(read)/while <= max(0, from.Sub(read))/while {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && !c.writing {
		_ = own.WriteControl(websocket.PingMessage, nil, time.Now().Add(pinging)) // a connection that is lost is seen by its reader
	}
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
