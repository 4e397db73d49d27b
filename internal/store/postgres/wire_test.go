package postgres_test

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// counter is a proxy between clients and PostgreSQL that counts round trips: how often
// data is sent after data was received.
type counter struct {
	URL string

	mu    sync.Mutex
	trips int
}

func count(t *testing.T, database string) *counter {
	t.Helper()
	config, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	at := url.URL{Scheme: "postgres", User: url.User(config.User), Path: "/" + config.Database, RawQuery: url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()}
	c := &counter{URL: at.String()}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			network, address := pgconn.NetworkAddress(config.Host, config.Port)
			far, err := net.Dial(network, address)
			if err != nil {
				near.Close()
				continue
			}
			answered := true // the last data was a response; guarded by mu
			go c.carry(far, near, func() {
				if answered {
					c.trips++
				}
				answered = false
			})
			go c.carry(near, far, func() { answered = true })
		}
	}()
	return c
}

// carry copies data in one direction, and calls seen with mu held before it forwards
// each piece.
func (c *counter) carry(to, from net.Conn, seen func()) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		seen()
		c.mu.Unlock()
		if _, err := to.Write(buffer[:n]); err != nil {
			from.Close()
			return
		}
	}
}

// since returns the number of round trips since its last call.
func (c *counter) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.trips
	c.trips = 0
	return n
}

// TestCommit_RoundTrips: the first commits on a connection take one round trip, like
// all others, and so does one that is refused. The first that packs takes one more.
func TestCommit_RoundTrips(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	cell := pgtest.Cell(t, direct)
	wire := count(t, direct)
	first := openBook(t, wire.URL, cell)
	commit := func(text string, want int) {
		t.Helper()
		wire.since()
		if err := first.addOnce(t, text); err != nil {
			t.Fatal(err)
		}
		if n := wire.since(); n != want {
			t.Errorf("the commit of %s took %d round trips, want %d", text, n, want)
		}
	}
	commit("one", 2) // it reads which partitions there are
	commit("two", 1)
	commit("three", 1)
	second := openBook(t, direct, cell)
	wire.since()
	if err := first.addOnce(t, "ghost"); err == nil {
		t.Error("the replaced owner committed")
	}
	<-first.Lost()
	// One for the refused commit, two to prepare and run the statement that finds the
	// cell taken, which may be before the caller has its answer.
	if n := wire.since(); n != 3 {
		t.Errorf("the refused commit took %d round trips, want 3 with those that find the cell taken", n)
	}
	if err := second.addOnce(t, "four"); err != nil {
		t.Fatal(err)
	}
	if n := second.words.Len(second.View()); n != 4 {
		t.Errorf("%d words, want 4", n)
	}
}

// TestOpen_RoundTrips: the first start on an empty database takes as many round trips
// for many tables as for few.
func TestOpen_RoundTrips(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	wire := count(t, direct)
	open := func(tables int) int {
		t.Helper()
		s := store.New(store.Options{Driver: postgres.New(wire.URL), Cell: pgtest.Cell(t, direct)})
		for n := range tables {
			store.NewTable(s, store.TableSpec[word]{Name: fmt.Sprintf("word_%d", n), Key: func(w *word) string { return w.Text }})
		}
		wire.since()
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		trips := wire.since()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return trips
	}
	few, many := open(1), open(40)
	if most := few + 5; many > most { // includes those of connecting
		t.Errorf("a state of 40 tables is made and read in %d round trips, one of a single table in %d", many, few)
	}
}
