package cell_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// wire relays connections to an address. It can make its connections silent, and
// refuse connections for a while.
type wire struct {
	address  string        // where to connect
	accepted chan struct{} // one value for each connection, also for refused ones

	network, to string
	mu          sync.Mutex
	down        bool
	carried     map[*carried]struct{}
}

// carried is one connection to the wire and its continuation.
type carried struct {
	near, far net.Conn
	silent    atomic.Bool
}

func newWire(t *testing.T, network, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: l.Addr().String(), network: network, to: to, accepted: make(chan struct{}, 1<<16), carried: map[*carried]struct{}{}}
	t.Cleanup(func() {
		l.Close()
		w.cut()
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			w.accepted <- struct{}{}
			w.carry(near)
		}
	}()
	return w
}

// wirePostgres puts a wire before a database, and returns the URL of its near end.
func wirePostgres(t *testing.T, database string) (*wire, string) {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	network, to := pgconn.NetworkAddress(config.Host, config.Port)
	w := newWire(t, network, to)
	near := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: w.address,
		Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	return w, near.String()
}

func (w *wire) carry(near net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		near.Close()
		return
	}
	far, err := net.Dial(w.network, w.to)
	if err != nil {
		near.Close()
		return
	}
	c := &carried{near: near, far: far}
	w.carried[c] = struct{}{}
	go c.copy(near, far)
	go c.copy(far, near)
}

// copy copies one direction until either end is closed; data that arrives while the
// connection is silent is dropped.
func (c *carried) copy(to, from net.Conn) {
	defer c.close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		into := io.Writer(to)
		if c.silent.Load() {
			into = io.Discard
		}
		if _, err := into.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (c *carried) close() {
	c.near.Close()
	c.far.Close()
}

// swallow makes every existing connection silent, but not new ones.
func (w *wire) swallow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.carried {
		c.silent.Store(true)
	}
}

// cut closes every connection, and new ones immediately until mend.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for c := range w.carried {
		c.close()
		delete(w.carried, c)
	}
}

// mend lets new connections through again.
func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

// forget drops the values in accepted.
func (w *wire) forget() {
	for len(w.accepted) > 0 {
		<-w.accepted
	}
}
