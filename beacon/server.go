package beacon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Options configures a beacon. Zero members mean the defaults.
type Options struct {
	Location string // named in receipts
	UDP      string // HOST:PORT to listen on; "" disables UDP
	TCP      string // HOST:PORT to listen on; "" disables TCP
	// Key signs receipts; nil issues none. The party that checks receipts needs
	// the same key.
	Key []byte

	PerPeer    int // answers per second to one address and port; default 10
	PerNetwork int // to one /24 (IPv6: /56); default 50
	Total      int // to all clients; default 50,000
}

func (o *Options) setDefaults() {
	o.PerPeer, o.PerNetwork, o.Total = cmp.Or(o.PerPeer, 10), cmp.Or(o.PerNetwork, 50), cmp.Or(o.Total, 50_000)
}

// receipts returns what issues receipts; nil without a key.
func (o *Options) receipts() *Receipts {
	if o.Key == nil {
		return nil
	}
	return NewReceipts(o.Key)
}

// MaxDatagram is the longest datagram that is answered, in bytes.
const MaxDatagram = 300

const (
	firstFreePort  = 1024
	maxConnections = 1024
	tcpLife        = 5 * time.Second // of a connection, whatever it does
)

// Server is a beacon for datagrams and connections. Listen returns one, Serve runs it.
// Web is the beacon for HTTP.
type Server struct {
	opts     Options
	receipts *Receipts // or nil
	udp      *net.UDPConn
	tcp      net.Listener
	gate     gate
}

// Listen opens the sockets.
func Listen(o Options) (*Server, error) {
	o.setDefaults()
	s := &Server{opts: o, gate: newGate(o), receipts: o.receipts()}
	if err := s.listen(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) listen() error {
	if s.opts.UDP != "" {
		at, err := net.ResolveUDPAddr("udp", s.opts.UDP)
		if err != nil {
			return fmt.Errorf("beacon: %w", err)
		}
		if s.udp, err = net.ListenUDP("udp", at); err != nil {
			return fmt.Errorf("beacon: %w", err)
		}
	}
	if s.opts.TCP != "" {
		var err error
		if s.tcp, err = net.Listen("tcp", s.opts.TCP); err != nil {
			return fmt.Errorf("beacon: %w", err)
		}
	}
	return nil
}

// UDP returns the address of the UDP beacon; "" if there is none.
func (s *Server) UDP() string {
	if s.udp == nil {
		return ""
	}
	return s.udp.LocalAddr().String()
}

// TCP returns the address of the TCP beacon; "" if there is none.
func (s *Server) TCP() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// Close closes the sockets; Serve then returns.
func (s *Server) Close() {
	if s.udp != nil {
		s.udp.Close()
	}
	if s.tcp != nil {
		s.tcp.Close()
	}
}

// Serve answers until ctx ends, and then closes the sockets.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.Close)
	defer stop()
	var serving sync.WaitGroup
	var udp, tcp error
	if s.udp != nil {
		serving.Go(func() { udp = s.serveUDP() })
	}
	if s.tcp != nil {
		serving.Go(func() { tcp = s.serveTCP() })
	}
	serving.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(udp, tcp)
}

// serveUDP answers datagrams, in one goroutine, since an answer takes microseconds.
func (s *Server) serveUDP() error {
	in, out := make([]byte, MaxDatagram+1), make([]byte, MaxDatagram)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(in)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			continue // about one datagram, such as an ICMP answer to an earlier one
		}
		now := time.Now()
		if n == 0 || n > MaxDatagram || from.Port() < firstFreePort || !s.gate.open(from, now) {
			continue
		}
		if answer := s.answer(out, in[:n], from.Addr(), now); len(answer) > 0 {
			s.udp.WriteToUDPAddrPort(answer, from) // if it is lost, the client sends another
		}
	}
}

// answer writes the answer to a datagram to out; it is never longer than the
// datagram.
func (s *Server) answer(out, in []byte, from netip.Addr, now time.Time) []byte {
	if s.receipts != nil {
		if answer, ours := s.receipts.answer(out, in, s.opts.Location, from, now); ours {
			return answer
		}
	}
	out = out[:copy(out, in)]
	if len(in) >= 2 && in[0] == 0xff && in[1] == 0xff {
		out[0], out[1] = 0, 0
	}
	return out
}

// serveTCP accepts connections, echoes one byte if one comes, and closes them.
func (s *Server) serveTCP() error {
	slots := make(chan struct{}, maxConnections)
	for {
		conn, err := s.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors, say
			continue
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				echoByte(conn)
			}()
		default:
			conn.Close()
		}
	}
}

func echoByte(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(tcpLife))
	var one [1]byte
	if n, err := conn.Read(one[:]); n == 1 && err == nil {
		conn.Write(one[:])
	}
}
