package app_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/backend"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/notify"
)

// pair writes a self-signed certificate and its key to two files, as renewals do.
func pair(t *testing.T, cert, key string) (der []byte) {
	t.Helper()
	dir := t.TempDir()
	c, err := sniff.SelfSigned(dir, []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, sniff.PairFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{cert, key} {
		if err := os.WriteFile(file+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	return c.Certificate[0]
}

// shown returns the certificate that a server presents.
func shown(t *testing.T, address, name string) []byte {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, ServerName: name})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Raw
}

// measured returns a metric's value.
func measured(t *testing.T, c *http.Client, base, metric string) string {
	t.Helper()
	answer, err := c.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(metric) + " (\\S+)$").FindSubmatch(text)
	if found == nil {
		t.Fatalf("there is no metric %s", metric)
	}
	return string(found[1])
}

// A certificate is replaced during requests, each on a separate connection: none fails,
// and new connections get the new one. An invalid one changes nothing.
func TestReload_CertificateUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first := pair(t, cert, key)
	a := start(t, func(o *app.Options) { o.TLSCert, o.TLSKey = cert, key })
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	var load sync.WaitGroup
	var served, stop atomic.Int64
	for range 4 {
		load.Go(func() {
			for stop.Load() == 0 {
				answer, err := c.Get(a.URL() + "/healthz")
				if err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
				answer.Body.Close()
				served.Add(1)
			}
		})
	}
	serves := func() {
		was := served.Load()
		wait.Until(t, "8 more requests are served", func() bool { return served.Load() >= was+8 || t.Failed() })
	}
	serves()
	second := pair(t, cert, key)
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	serves()
	address := a.Addr().String()
	if now := shown(t, address, "127.0.0.1"); string(now) != string(second) || string(now) == string(first) {
		t.Error("the old certificate is shown after the reload")
	}
	if now := shown(t, address, "node.muster.invalid"); string(now) != string(first) {
		t.Error("other nodes are not shown the certificate that they know")
	}
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a bad certificate: %v", err)
	}
	serves()
	stop.Store(1)
	load.Wait()
	if now := shown(t, address, "127.0.0.1"); string(now) != string(second) {
		t.Error("the good certificate is gone with the bad one")
	}
	if is := measured(t, c, a.URL(), `muster_reload_successful{file="certificate"}`); is != "0" {
		t.Errorf("the metric of the reload is %s", is)
	}
	if is := measured(t, c, a.URL(), "muster_tls_certificate_expiry_timestamp_seconds"); is == "0" {
		t.Error("the metric of the certificate's end is 0")
	}
}

// Sinks and the players' configuration are replaced; invalid files change nothing.
func TestReload_Files(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told.Add(1) }))
	defer receiver.Close()
	var files app.Files
	a := start(t, func(o *app.Options) { o.Reread = func() (app.Files, error) { return files, nil } })
	get := func(path string) string {
		answer, err := http.Get(a.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	files = app.Files{
		Players: backend.Config{Matchmakers: []lobby.Matchmaker{{Name: "ranked"}}},
		Sinks:   []notify.SinkConfig{{Name: "hook", Kind: notify.Webhook, URL: receiver.URL, Topics: []string{notify.Everything}}},
	}
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get("/player/v1/config"); !strings.Contains(got, "ranked") {
		t.Errorf("players are offered %s", got)
	}
	if got := get("/notify/sinks"); !strings.Contains(got, "hook") {
		t.Errorf("the sinks are %s", got)
	}
	good := files
	files.Players.Matchmakers = []lobby.Matchmaker{{Name: "ranked"}, {Name: "ranked"}}
	files.Sinks = []notify.SinkConfig{{Name: "other", Kind: "pigeon"}}
	err := a.Reload(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pigeon") || !strings.Contains(err.Error(), "ranked") {
		t.Errorf("wrong files: %v", err)
	}
	if got := get("/notify/sinks"); !strings.Contains(got, "hook") || strings.Contains(got, "other") {
		t.Errorf("after wrong files the sinks are %s", got)
	}
	for _, what := range []string{"players", "sinks"} {
		if is := measured(t, http.DefaultClient, a.URL(), `muster_reload_successful{file="`+what+`"}`); is != "0" {
			t.Errorf("the metric of the reload of %s is %s", what, is)
		}
	}
	files = good
	if err := a.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is := measured(t, http.DefaultClient, a.URL(), `muster_reload_successful{file="sinks"}`); is != "1" {
		t.Errorf("the metric of the reload is %s after a good one", is)
	}
}

// A site that origins names after a reload may use the player API at once, on a server that
// asks for no keys too, whose outer door refuses pages; and no longer after another one.
func TestReload_Origins(t *testing.T) {
	t.Parallel()
	var files app.Files
	for name, open := range map[string]bool{"keys": false, "no keys": true} {
		t.Run(name, func(t *testing.T) {
			a := start(t, func(o *app.Options) {
				o.AcceptAny = open
				o.Reread = func() (app.Files, error) { return files, nil }
			})
			get := func() int {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/player/v1/config", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Origin", "https://game.example")
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				return answer.StatusCode
			}
			for _, origins := range [][]string{nil, {"https://game.example"}, {"https://other.example"}} {
				files.Players.Origins = origins
				if err := a.Reload(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := http.StatusForbidden
				if slices.Contains(origins, "https://game.example") {
					want = http.StatusOK
				}
				if got := get(); got != want {
					t.Errorf("with the origins %q a page gets %d, want %d", origins, got, want)
				}
			}
		})
	}
}
