package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The health check finds a server with and without a certificate, and fails unless it is
// ready.
func TestHealth(t *testing.T) {
	t.Parallel()
	answer := func(status int) http.Handler {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"status":"as told"}`))
		})
		return mux
	}
	plain, secure, away := httptest.NewServer(answer(200)), httptest.NewTLSServer(answer(200)), httptest.NewServer(answer(503))
	gone := httptest.NewServer(answer(200))
	gone.Close()
	for _, s := range []*httptest.Server{plain, secure, away} {
		t.Cleanup(s.Close)
	}
	for _, c := range []struct {
		what   string
		server *httptest.Server
		code   int
	}{{"plain", plain, 0}, {"TLS", secure, 0}, {"not ready", away, 1}, {"gone", gone, 1}} {
		at := c.server.Listener.Addr().String()
		var out, problem strings.Builder
		code := run([]string{"health", "--listen", at}, &streams{ctx: t.Context(), out: &out, err: &problem})
		if code != c.code || c.server != gone && !strings.Contains(out.String(), "as told") || c.server == gone && !strings.Contains(problem.String(), "no server answers on "+at) {
			t.Errorf("%s: exit code %d, %s%s", c.what, code, &out, &problem)
		}
	}
}
