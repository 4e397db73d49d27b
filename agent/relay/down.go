package relay

import (
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Limits of what waits for a process to read it.
const (
	maxUnread      = 512 // frames
	maxUnreadBytes = 8 << 20
)

// down is a connection of a process. Whoever sends on it does not wait for the process.
type down struct {
	p  *process
	ws *websocket.Conn

	mu      sync.Mutex
	unread  [][]byte
	bytes   int  // in unread
	writing bool // a goroutine writes what is unread
	over    bool
}

// send queues a frame. A process that does not read loses its connection.
func (d *down) send(frame []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	if len(d.unread) >= maxUnread || d.bytes+len(frame) > maxUnreadBytes {
		d.p.r.log.Warn("a process does not read; its connection is dropped", "process_id", d.p.id, "unread_bytes", d.bytes)
		d.shut()
		return
	}
	d.unread = append(d.unread, frame)
	d.bytes += len(frame)
	if !d.writing {
		d.writing = true
		go d.write()
	}
}

// write writes what is queued, including what is added in the meantime.
func (d *down) write() {
	for {
		d.mu.Lock()
		if d.over || len(d.unread) == 0 {
			d.unread, d.writing = nil, false
			d.mu.Unlock()
			return
		}
		frame := d.unread[0]
		d.unread = d.unread[1:]
		d.mu.Unlock()
		d.ws.SetWriteDeadline(time.Now().Add(writing))
		err := d.ws.WriteMessage(websocket.TextMessage, frame)
		d.mu.Lock()
		d.bytes -= len(frame)
		if err != nil {
			d.shut()
		}
		d.mu.Unlock()
	}
}

// drop ends the connection without a close frame and without waiting.
func (d *down) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut()
}

// shut is drop for a caller that holds mu.
func (d *down) shut() {
	if d.over {
		return
	}
	d.over = true
	socket := d.ws.NetConn()
	if secured, ok := socket.(interface{ NetConn() net.Conn }); ok {
		socket = secured.NetConn() // a TLS close alert could block
	}
	socket.Close()
}
