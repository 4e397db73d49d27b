package server

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/examples/arena/wire"
)

// Limits of WebSockets.
const (
	maxWeb         = 2 * maxSeats // connections, admitted or not
	webQueue       = 16           // packets that wait to be written; what does not fit is lost, as on the network
	webSilentFor   = 15 * time.Second
	webWriteWithin = 2 * time.Second
)

// web accepts WebSockets, for players in browsers. Each binary message is one packet.
type web struct {
	http     http.Server
	upgrader websocket.Upgrader
	deliver  func(packet []byte, from peer)
	log      *slog.Logger

	ending chan struct{} // closed to end all connections
	ended  sync.WaitGroup
	mu     sync.Mutex // guards open, and Add of ended against its Wait
	open   int
	closed bool
}

// webConn is one WebSocket.
type webConn struct {
	ws   *websocket.Conn
	out  chan []byte
	gone chan struct{} // closed when nothing is read any more
}

// newWeb returns a web that accepts connections from a listener until stop.
func newWeb(l net.Listener, log *slog.Logger, deliver func(packet []byte, from peer)) *web {
	w := &web{deliver: deliver, log: log, ending: make(chan struct{})}
	// Pages of any site may connect: what admits a player is the player session.
	w.upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, HandshakeTimeout: webWriteWithin}
	w.http = http.Server{Handler: w, ReadHeaderTimeout: webWriteWithin, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	w.ended.Go(func() { _ = w.http.Serve(l) }) // ends with stop
	return w
}

// stop closes the listener, has what was sent written, and waits until all connections have
// ended. The caller must send nothing any more.
func (w *web) stop() {
	w.mu.Lock()
	w.closed = true
	close(w.ending)
	w.mu.Unlock()
	_ = w.http.Close()
	w.ended.Wait()
}

func (w *web) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.open == maxWeb {
		return false
	}
	w.open++
	w.ended.Add(1)
	return true
}

func (w *web) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	w.ended.Done()
}

// ServeHTTP implements http.Handler.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !w.enter() {
		http.Error(rw, "too many connections", http.StatusServiceUnavailable)
		return
	}
	defer w.leave()
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		http.Error(rw, "no address", http.StatusInternalServerError)
		return
	}
	ws, err := w.upgrader.Upgrade(rw, r, nil)
	if err != nil {
		return // already answered
	}
	c := &webConn{ws: ws, out: make(chan []byte, webQueue), gone: make(chan struct{})}
	var writing sync.WaitGroup
	writing.Go(func() { c.write(w.ending) })
	c.read(func(packet []byte) { w.deliver(packet, peer{from, c}) })
	close(c.gone)
	writing.Wait()
	ws.Close()
}

// read passes messages on until the connection ends or falls silent.
func (c *webConn) read(deliver func(packet []byte)) {
	c.ws.SetReadLimit(wire.MaxPacket)
	for {
		_ = c.ws.SetReadDeadline(time.Now().Add(webSilentFor))
		kind, packet, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		if kind == websocket.BinaryMessage {
			deliver(packet)
		}
	}
}

// send queues a copy of a packet. It never blocks.
func (c *webConn) send(packet []byte) {
	select {
	case c.out <- bytes.Clone(packet):
	default:
	}
}

// write writes packets until the connection ends or, once ending is closed, none is left.
func (c *webConn) write(ending <-chan struct{}) {
	defer c.ws.Close() // so that read returns
	for {
		select {
		case packet := <-c.out:
			if !c.writeOne(packet) {
				return
			}
		case <-c.gone:
			return
		case <-ending:
			for len(c.out) > 0 {
				if !c.writeOne(<-c.out) {
					return
				}
			}
			text := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "the game is over")
			_ = c.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(webWriteWithin))
			return
		}
	}
}

func (c *webConn) writeOne(packet []byte) bool {
	_ = c.ws.SetWriteDeadline(time.Now().Add(webWriteWithin))
	return c.ws.WriteMessage(websocket.BinaryMessage, packet) == nil
}
