//go:build unix

package app_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
)

// between is a man in the middle, which agents take for the server. It tries to have its
// own archive installed instead of the build.
type between struct {
	server  *httptest.Server
	muster  *url.URL
	archive []byte
	change  func(*protocol.Assign) // changes what the server sends; may be nil
}

func standBetween(t *testing.T, a *app.App, archive []byte, change func(*protocol.Assign)) *between {
	t.Helper()
	muster := must(url.Parse(a.URL()))(t)
	b := &between{muster: muster, archive: archive, change: change}
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(muster))
	mux.HandleFunc("GET "+protocol.PathBuilds+"{sha}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(archive))
	})
	if change != nil {
		mux.HandleFunc("GET "+protocol.PathHost, b.link)
	}
	b.server = httptest.NewServer(mux)
	t.Cleanup(b.server.Close)
	return b
}

// link forwards frames in both directions, with Assign changed.
func (b *between) link(w http.ResponseWriter, r *http.Request) {
	far, _, err := websocket.DefaultDialer.DialContext(r.Context(), "ws://"+b.muster.Host+r.URL.Path, http.Header{"Authorization": r.Header["Authorization"]})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer near.Close()
	go func() {
		defer far.Close()
		for {
			kind, frame, err := near.ReadMessage()
			if err != nil || far.WriteMessage(kind, frame) != nil {
				return
			}
		}
	}()
	for {
		_, frame, err := far.ReadMessage()
		if err != nil {
			return
		}
		m, err := protocol.Decode(frame)
		if err != nil {
			return
		}
		if m.Assign != nil {
			b.change(m.Assign)
		}
		if frame, err = protocol.Encode(m); err != nil || near.WriteMessage(websocket.TextMessage, frame) != nil {
			return
		}
	}
}

// A man in the middle between the server and a host cannot make it run another program:
// not with another archive, not with its checksum, and not with a signature of their
// own. The fleet's events report the attempt.
func TestHosting_ManInTheMiddle(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	evil := archiveOf(t, map[string]string{"server": "#!/bin/sh\ntouch " + ran + "\n", "install.sh": "touch " + ran + "\n"})
	sum := sha256.Sum256(evil)
	own := ed25519.NewKeyFromSeed([]byte("the man in the middle's own key."))
	swap := func(b protocol.Build) protocol.Build {
		b.SHA256, b.Size, b.Format = hex.EncodeToString(sum[:]), int64(len(evil)), "zip"
		return b
	}
	each := func(change func(protocol.Build) protocol.Build) func(*protocol.Assign) {
		return func(wish *protocol.Assign) {
			for n := range wish.Instances {
				wish.Instances[n].Build = change(wish.Instances[n].Build)
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(*protocol.Assign)
		want   string
		from   int
	}{
		"archive":  {nil, "does not have the build's checksum", 26000},
		"checksum": {each(swap), "not Muster's", 26300},
		"unsigned": {each(func(b protocol.Build) protocol.Build { b = swap(b); b.Signature = ""; return b }), "signature of Muster is missing", 26600},
		"key": {func(wish *protocol.Assign) {
			each(func(b protocol.Build) protocol.Build { return swap(b).Sign(own) })(wish)
			wish.BuildKey = own.Public().(ed25519.PublicKey)
		}, "not Muster's", 26900},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t, nil)
			home := filepath.Join(t.TempDir(), "agent")
			honest := join(t, a, home, tt.from, nil)
			wait.Until(t, "the machine has joined", func() bool {
				_, err := os.Stat(filepath.Join(home, "credential.json"))
				return err == nil
			})
			honest.end()
			b := standBetween(t, a, evil, tt.change)
			join(t, a, home, tt.from, func(o *agent.Options) { o.Server, o.Token = b.server.URL, "" })
			f := a.MakeFleet(t, arenaBuild(t), nil)
			if said := ofFleet(t, a.URL(), f.ID, "FLEET_BINARY_DOWNLOAD_FAILED"); !strings.Contains(said, tt.want) {
				t.Errorf("the fleet's event says %q, want %q", said, tt.want)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("what the man in the middle sent was run")
			}
			for _, where := range []string{"cache/archives/*", "cache/builds/*", "instances/*/game"} {
				if left, _ := filepath.Glob(filepath.Join(home, where)); len(left) > 0 {
					t.Errorf("there is %v", left)
				}
			}
		})
	}
}
