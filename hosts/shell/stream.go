// Package shell is one end of a remote shell's WebSocket, for clients and for hosts: data
// with flow control, and frames that overtake it.
//
// Each end sends at most a window of data that the other end has not used
// (hosts/protocol). So a terminal that is paused, or a program that does not read, holds
// up its data and nothing else: signals, new sizes and the signs of life go on, and no
// queue grows beyond the window.
package shell

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
)

// Times of a connection.
const (
	silence = 35 * time.Second // without a frame or a pong
	pinging = 10 * time.Second
	writing = 30 * time.Second // of one frame
)

// Errors that end a stream.
var (
	ErrOver    = errors.New("the shell's connection has ended")
	errOverrun = errors.New("the other end of the shell sends more than its window")
)

// Stream is one end of a connection. Run reads it; the other methods can be called
// concurrently.
type Stream struct {
	ws     *websocket.Conn
	credit credit
	inbox  inbox

	writing sync.Mutex
}

// New returns the end of a connection that has been established.
func New(ws *websocket.Conn) *Stream {
	ws.SetReadLimit(protocol.MaxShellFrame)
	s := &Stream{ws: ws}
	s.credit.init()
	s.inbox.init()
	return s
}

// Run reads the connection until it ends, and returns why. Frames with a place among the
// data are returned by Next; control is called with the others, and ends the connection
// by an error.
func (s *Stream) Run(control func(protocol.ShellFrame) error) error {
	defer s.Close()
	alive := func() error { return s.ws.SetReadDeadline(time.Now().Add(silence)) }
	s.ws.SetPongHandler(func(string) error { return alive() })
	over := make(chan struct{})
	defer close(over)
	go s.ping(over)
	for {
		if err := alive(); err != nil {
			return err
		}
		_, message, err := s.ws.ReadMessage() // a new slice each time, so frames may be kept
		if err != nil {
			return err
		}
		f, err := protocol.ParseShellFrame(message)
		if err != nil {
			return err
		}
		switch f.Op {
		case protocol.ShellAck:
			err = s.credit.acknowledge(f.Acknowledged())
		case protocol.ShellResize, protocol.ShellSignal:
			err = control(f)
		default:
			err = s.inbox.put(f)
		}
		if err != nil {
			return err
		}
	}
}

// ping shows the other end that this one is there.
func (s *Stream) ping(over <-chan struct{}) {
	tick := time.NewTicker(pinging)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writing)) // Run notices if it fails
		case <-over:
			return
		}
	}
}

// Close ends the connection: every method returns. Frames that were received can still be
// read by Next.
func (s *Stream) Close() {
	s.ws.Close()
	s.credit.close()
	s.inbox.close()
}

// Send sends a frame.
func (s *Stream) Send(f protocol.ShellFrame) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.ws.SetWriteDeadline(time.Now().Add(writing))
	return s.ws.WriteMessage(websocket.BinaryMessage, f.Bytes())
}

// Copy sends what it reads, in frames of a type, until the reader ends. It returns nil at
// io.EOF.
func (s *Stream) Copy(op protocol.ShellOp, from io.Reader) error {
	buffer := make([]byte, protocol.MaxShellData)
	for {
		n := s.credit.take(len(buffer))
		if n == 0 {
			return ErrOver
		}
		got, err := from.Read(buffer[:n])
		s.credit.back(n - got)
		if got > 0 {
			if err := s.Send(protocol.ShellFrame{Op: op, Payload: buffer[:got]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Next waits for the next frame that has its place among the data. It reports false when
// the connection has ended and every frame was returned. The caller acknowledges data
// with Used.
func (s *Stream) Next() (protocol.ShellFrame, bool) { return s.inbox.next() }

// Used acknowledges a frame of data: the other end may send as much again. That fails
// only if the connection has ended, which Next reports.
func (s *Stream) Used(f protocol.ShellFrame) {
	s.inbox.used(len(f.Payload))
	_ = s.Send(protocol.ShellAcknowledged(len(f.Payload)))
}

// credit is how many bytes of data may be sent.
type credit struct {
	mu     sync.Mutex
	more   sync.Cond
	left   int
	closed bool
}

func (c *credit) init() {
	c.more.L = &c.mu
	c.left = protocol.ShellWindow
}

// take waits until some bytes may be sent, and takes at most as many as asked for. It
// returns 0 when the connection has ended.
func (c *credit) take(most int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left == 0 && !c.closed {
		c.more.Wait()
	}
	if c.closed {
		return 0
	}
	n := min(most, c.left)
	c.left -= n
	return n
}

// back returns bytes that were taken and not sent.
func (c *credit) back(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += n
	c.more.Broadcast()
}

// acknowledge adds bytes that the other end has used.
func (c *credit) acknowledge(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > protocol.ShellWindow-c.left {
		return errors.New("the other end of the shell acknowledges more than it was sent")
	}
	c.left += n
	c.more.Broadcast()
	return nil
}

func (c *credit) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.more.Broadcast()
}

// maxOthers bounds the frames without data that wait. An honest end sends three.
const maxOthers = 16

// inbox holds the frames that were received and not yet used.
type inbox struct {
	mu     sync.Mutex
	more   sync.Cond
	frames []protocol.ShellFrame
	held   int // bytes of data, including those of frames being used
	others int // frames without data
	closed bool
}

func (b *inbox) init() { b.more.L = &b.mu }

// put adds a frame. It fails if the other end does not wait for acknowledgments.
func (b *inbox) put(f protocol.ShellFrame) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.Op.IsData() {
		b.held += len(f.Payload)
	} else {
		b.others++
	}
	switch last := len(b.frames) - 1; {
	case b.held > protocol.ShellWindow || b.others > maxOthers:
		return errOverrun
	case b.closed:
		return nil
	case last >= 0 && f.Op.IsData() && b.frames[last].Op == f.Op && len(b.frames[last].Payload)+len(f.Payload) <= protocol.MaxShellData:
		b.frames[last].Payload = append(b.frames[last].Payload, f.Payload...) // small frames would have more to store than their data
	default:
		b.frames = append(b.frames, f)
	}
	b.more.Signal()
	return nil
}

func (b *inbox) next() (protocol.ShellFrame, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && !b.closed {
		b.more.Wait()
	}
	if len(b.frames) == 0 {
		return protocol.ShellFrame{}, false
	}
	f := b.frames[0]
	b.frames[0] = protocol.ShellFrame{}
	b.frames = b.frames[1:]
	return f, true
}

func (b *inbox) used(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
}
