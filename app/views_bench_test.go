package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/console"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/session"
)

// crowded returns a server with 10,000 game sessions of 2 players, as many processes, and 2,000
// open tickets; and the ids of the game sessions.
func crowded(b *testing.B) (t *bench, ids []string) {
	t = newBench(b)
	ids = t.games(10_000)
	for i, id := range ids {
		var in session.ReserveInput
		in.GameSessionID = id
		for n := range 2 {
			in.Players = append(in.Players, session.Joining{PlayerID: fmt.Sprint("player-", 2*i+n)})
		}
		_, err := t.home().domain.sessions.Players.Reserve(t.Context(), in)
		t.must(err)
	}
	skill := 1000.0
	for i := range 2000 {
		_, _, err := t.home().domain.matches.Start(t.Context(), flexmatch.StartInput{Configuration: "bench", Players: []flexmatch.Player{{
			ID: fmt.Sprint("waiting-", i), Attributes: map[string]flexmatch.Attribute{"skill": {N: &skill}},
		}}})
		t.must(err)
	}
	return t, ids
}

// open lets anybody see all views.
var open = pages.Gate{
	Who:   func(*http.Request, auth.Action) (auth.Caller, error) { return auth.Anybody(), nil },
	Allow: func(*http.Request, auth.Action, ...string) (auth.Caller, error) { return auth.Anybody(), nil },
}

// BenchmarkViews measures what one computation of a console's page costs, with 10,000 game
// sessions of 2 players, as many processes, and 2,000 open tickets. A page that is open is
// computed at most once a second (a game session and a queue twice), however many have it open.
func BenchmarkViews(b *testing.B) {
	t, ids := crowded(b)
	views := t.home().domain.pages.Views(open)
	for _, v := range []struct{ name, query string }{
		{"now", ""}, {"now", "range=24h"}, {"now", "range=7d"}, {"world", ""}, {"sessions", ""}, {"sessions", "limit=10000"}, {"sessions", "sort=-players"}, {"session", "id=" + ids[0]},
		{"fleet", "id=" + t.fleet.ID}, {"matchmaker", "name=bench"}, {"matchmakers", ""}, {"matchmakers", "range=7d"}, {"player", "id=player-7"}, {"search", "text=player-19999"},
	} {
		b.Run(v.name+" "+v.query, func(b *testing.B) {
			q, err := url.ParseQuery(v.query)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var size int
			for b.Loop() {
				data, err := views[v.name].Data(b.Context(), auth.Anybody(), q)
				if err != nil {
					b.Fatal(err)
				}
				text, err := json.Marshal(data)
				if err != nil {
					b.Fatal(err)
				}
				size = len(text)
			}
			b.ReportMetric(float64(size), "bytes-sent")
		})
	}
}

// BenchmarkConsoles measures the memory of a server that each of 100 consoles takes that follow
// the same view, from its connection on. The other end of the connection is part of it.
func BenchmarkConsoles(b *testing.B) {
	const consoles = 100
	t, ids := crowded(b)
	memory := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc + m.StackInuse)
	}
	for _, view := range []string{"now?", "sessions?limit=200", "session?id=" + ids[0], "fleet?id=" + t.fleet.ID, "matchmaker?name=bench"} {
		b.Run(view[:strings.IndexByte(view, '?')], func(b *testing.B) {
			door := console.New(console.Options{Last: func() uint64 { return 1 }, Streams: 4 * consoles, Logger: slog.New(slog.DiscardHandler)})
			door.Views(t.home().domain.pages.Views(open))
			server := httptest.NewServer(door)
			defer server.Close()
			defer door.Close()
			for b.Loop() {
				before := memory()
				shown := make(chan error, consoles)
				conns := make([]net.Conn, consoles)
				for i := range conns {
					conn, err := net.Dial("tcp", server.Listener.Addr().String())
					t.must(err)
					conns[i] = conn
					fmt.Fprintf(conn, "GET /console/api/live/%s&every=1000 HTTP/1.1\r\nHost: console\r\n\r\n", view)
					go func() {
						part, first := make([]byte, 4096), true
						for {
							n, err := conn.Read(part)
							if first && (err != nil || bytes.Contains(part[:n], []byte(`"seq"`))) {
								first = false
								shown <- err
							}
							if err != nil {
								return
							}
						}
					}()
				}
				for range conns {
					t.must(<-shown)
				}
				b.ReportMetric((memory()-before)/consoles, "bytes-a-console")
				for _, conn := range conns {
					conn.Close()
				}
			}
		})
	}
}
