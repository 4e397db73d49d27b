package cell_test

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// A server of the URL that takes connections and never answers, as one that hangs does, leaves
// time for the next one.
func TestLease_PassesOverSilentServer(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	host, port, err := net.SplitHostPort(silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	q := server.Query()
	if q.Get("host") == "" { // the server is named before the path
		q.Set("host", server.Hostname())
	}
	next := server.Port()
	if next == "" {
		next = "5432"
	}
	q.Set("host", host+","+q.Get("host"))
	q.Set("port", port+","+next)
	server.Host, server.RawQuery = "", q.Encode()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // half of it for each
	defer cancel()
	if err := cell.Connects(ctx, server.String()); err != nil {
		t.Error(err)
	}
}
