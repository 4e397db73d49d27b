package app_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	c := must(sniff.SelfSigned(dir, []string{"127.0.0.1"}, time.Now()))(t)
	text := must(os.ReadFile(filepath.Join(dir, sniff.PairFile)))(t)
	for _, file := range []string{cert, key} {
		check(t, os.WriteFile(file+".new", text, 0o600))
		check(t, os.Rename(file+".new", file))
	}
	return c.Certificate[0]
}

// shown returns the certificate that a server presents.
func shown(t *testing.T, address, name string) []byte {
	t.Helper()
	c := must(tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, ServerName: name}))(t)
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Raw
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
	check(t, a.Reload(t.Context()))
	serves()
	address := a.Addr().String()
	if now := shown(t, address, "127.0.0.1"); string(now) != string(second) || string(now) == string(first) {
		t.Error("the old certificate is shown after the reload")
	}
	if now := shown(t, address, "node.muster.invalid"); string(now) != string(first) {
		t.Error("other nodes are not shown the certificate that they know")
	}
	check(t, os.WriteFile(cert, []byte("no certificate"), 0o600))
	if err := a.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a bad certificate: %v", err)
	}
	serves()
	stop.Store(1)
	load.Wait()
	if now := shown(t, address, "127.0.0.1"); string(now) != string(second) {
		t.Error("the good certificate is gone with the bad one")
	}
	if is := metric(t, c, a.URL(), `muster_reload_successful{file="certificate"}`); is != "0" {
		t.Errorf("the metric of the reload is %s", is)
	}
	if is := metric(t, c, a.URL(), "muster_tls_certificate_expiry_timestamp_seconds"); is == "0" {
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
		_, text := get(t, a.URL()+path)
		return text
	}
	files = app.Files{
		Players: backend.Config{Matchmakers: []lobby.Matchmaker{{Name: "ranked"}}},
		Sinks:   []notify.SinkConfig{{Name: "hook", Kind: notify.Webhook, URL: receiver.URL, Topics: []string{notify.Everything}}},
	}
	check(t, a.Reload(t.Context()))
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
		if is := metric(t, direct, a.URL(), `muster_reload_successful{file="`+what+`"}`); is != "0" {
			t.Errorf("the metric of the reload of %s is %s", what, is)
		}
	}
	files = good
	check(t, a.Reload(t.Context()))
	if is := metric(t, direct, a.URL(), `muster_reload_successful{file="sinks"}`); is != "1" {
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
			for _, origins := range [][]string{nil, {"https://game.example"}, {"https://other.example"}} {
				files.Players.Origins = origins
				check(t, a.Reload(t.Context()))
				want := http.StatusForbidden
				if slices.Contains(origins, "https://game.example") {
					want = http.StatusOK
				}
				page := map[string]string{"Origin": "https://game.example"}
				if answer, _ := send(t, direct, http.MethodGet, a.URL()+"/player/v1/config", "", page); answer.StatusCode != want {
					t.Errorf("with the origins %q a page gets %s, want %d", origins, answer.Status, want)
				}
			}
		})
	}
}
