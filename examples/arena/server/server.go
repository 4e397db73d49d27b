package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/examples/arena/wire"
)

// healthyFor is the longest time since the last tick at which a running session
// counts as healthy.
const healthyFor = 5 * time.Second

// maxReadFailures is how many consecutive reads may fail before the socket counts as
// broken.
const maxReadFailures = 64

// Server runs one game session. Create one with New.
type Server struct {
	conn     *net.UDPConn
	sessions PlayerSessions
	opts     Options
	lastTick atomic.Int64 // Unix nanoseconds; 0 while no session runs

	packets chan arrival
	answers chan answer
	calls   sync.WaitGroup
	buffer  []byte
}

type arrival struct {
	from    peer
	message wire.Message
}

type answer struct {
	session string
	verdict verdict
}

// New returns a server on a socket, which the caller closes after Run. Run closes
// opts.Web.
func New(conn *net.UDPConn, sessions PlayerSessions, opts Options) *Server {
	return &Server{
		conn: conn, sessions: sessions, opts: opts.withDefaults(),
		packets: make(chan arrival, 256),
		answers: make(chan answer, maxAsking),
	}
}

// Healthy reports whether the game advances. It is true before and after a session.
func (s *Server) Healthy() bool {
	last := s.lastTick.Load()
	return last == 0 || time.Since(time.Unix(0, last)) < healthyFor
}

// Run plays the game session until it ends. When ctx is cancelled, the players are
// notified and the session ends. Run returns when all calls to the hosting service
// have returned, nothing reads the socket and all WebSockets are closed. It may be called
// once.
func (s *Server) Run(ctx context.Context) Result {
	room := newRoom(s.opts, time.Now(), randomKey)
	broken := make(chan error, 1)
	stopReading := s.startReading(broken)
	if s.opts.Web != nil {
		web := newWeb(s.opts.Web, s.opts.Log, s.deliver)
		defer web.stop()
	}
	s.lastTick.Store(time.Now().UnixNano())
	s.play(ctx, room, broken)
	s.lastTick.Store(0)
	stopReading()
	s.calls.Wait()
	return room.result
}

func (s *Server) play(ctx context.Context, room *room, broken <-chan error) {
	ticker := time.NewTicker(time.Second / time.Duration(s.opts.TicksASecond))
	defer ticker.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			room.close(EndTerminating)
			ended = true
		case err := <-broken:
			s.opts.Log.Error("read from the socket", "error", err)
			room.close(EndBroken)
			ended = true
		case p := <-s.packets:
			room.receive(time.Now(), p.from, p.message)
		case a := <-s.answers:
			room.accepted(time.Now(), a.session, a.verdict)
		case <-ticker.C:
			ended = s.tick(room)
		}
		s.carryOut(room)
	}
}

func (s *Server) tick(room *room) bool {
	now := time.Now()
	s.lastTick.Store(now.UnixNano())
	return room.tick(now)
}

func (s *Server) carryOut(room *room) {
	for _, p := range room.out {
		s.buffer = wire.Append(s.buffer[:0], p.message)
		// A packet that cannot be sent is a lost packet, which the protocol expects.
		if p.to.web != nil {
			p.to.web.send(s.buffer)
			continue
		}
		_, _ = s.conn.WriteToUDPAddrPort(s.buffer, p.to.addr)
	}
	for _, id := range room.accept {
		s.calls.Go(func() { s.answers <- answer{id, s.ask(id)} })
	}
	for _, id := range room.remove {
		s.calls.Go(func() {
			if err := s.sessions.Remove(id); err != nil {
				s.opts.Log.Warn("remove player session", "player_session_id", id, "error", err)
			}
		})
	}
	room.out, room.accept, room.remove = room.out[:0], room.accept[:0], room.remove[:0]
}

func (s *Server) ask(session string) verdict {
	err := s.sessions.Accept(session)
	switch {
	case err == nil:
		return admitted
	case errors.Is(err, ErrRefused):
		return rejected
	}
	s.opts.Log.Warn("accept player session", "player_session_id", session, "error", err)
	return unanswered
}

// startReading reads packets until stop is called; stop waits for the reading to end.
// Packets that arrive faster than the game handles them are lost, as on the network.
func (s *Server) startReading(broken chan<- error) (stop func()) {
	_ = s.conn.SetReadDeadline(time.Time{})
	var reading sync.WaitGroup
	reading.Go(func() {
		if err := s.read(); err != nil {
			broken <- err
		}
	})
	return func() {
		_ = s.conn.SetReadDeadline(time.Unix(1, 0))
		reading.Wait()
	}
}

// read returns nil at the deadline that stop sets. Some systems report a client's
// closed port as an error of the next read, so only consecutive errors count.
func (s *Server) read() error {
	buffer := make([]byte, wire.MaxPacket+1)
	for failures := 0; ; {
		n, from, err := s.conn.ReadFromUDPAddrPort(buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case errors.Is(err, net.ErrClosed) || err != nil && failures == maxReadFailures:
			return err
		case err != nil:
			failures++
			continue
		}
		failures = 0
		s.deliver(buffer[:n], peer{addr: from})
	}
}

func (s *Server) deliver(packet []byte, from peer) {
	m, err := wire.Decode(packet)
	if err != nil {
		return
	}
	select {
	case s.packets <- arrival{from, m}:
	default:
	}
}

// randomKey returns a key that cannot be guessed.
func randomKey() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
