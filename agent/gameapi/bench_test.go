package gameapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// musterFor starts a server that answers each request of a game server with 200.
func musterFor(b *testing.B) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		for {
			_, frame, err := ws.ReadMessage()
			if err != nil {
				return
			}
			var head struct{ Action, RequestId string }
			if json.Unmarshal(frame, &head) != nil || ws.WriteJSON(map[string]any{"Action": head.Action, "RequestId": head.RequestId, "StatusCode": 200}) != nil {
				return
			}
		}
	}))
	b.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

// live returns the bytes in use after a collection.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkMemory measures what one process costs an agent: admitted only, ready, and
// waiting for its game session as well. The other end of the connections, which is in this
// process too, is part of what ready and waiting cost; the run peer measures it alone.
func BenchmarkMemory(b *testing.B) {
	const n = 500
	admit := func(b *testing.B, s *Server, url string) (all []*Process) {
		for i := range n {
			all = append(all, s.Admit(Admission{
				FleetID: "fleet-1", HostID: "host-1", ProcessID: fmt.Sprint("p", i), Token: fmt.Sprint("token-", i), Port: 7777,
				Endpoint: func() (string, string, error) { return url, "token", nil },
			}))
		}
		return all
	}
	listen := func(b *testing.B) *Server {
		s, err := Listen(Options{Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	}
	b.Run("admitted", func(b *testing.B) {
		for b.Loop() {
			s := listen(b)
			before := live()
			all := admit(b, s, "")
			b.ReportMetric(float64(live()-before)/n, "B/process")
			runtime.KeepAlive(all)
			s.Close()
		}
	})
	b.Run("peer", func(b *testing.B) {
		for b.Loop() {
			url, before := musterFor(b), live()
			var all []net.Conn
			for range n {
				ws, _, err := websocket.DefaultDialer.Dial(url, nil)
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, ws.NetConn())
			}
			// Both ends are here, and the dialer's is about as large as a link's.
			b.ReportMetric(float64(live()-before)/n, "B/process")
			for _, c := range all {
				c.Close()
			}
		}
	})
	for _, waiting := range []bool{false, true} {
		name := map[bool]string{false: "ready", true: "waiting"}[waiting]
		b.Run(name, func(b *testing.B) {
			url := musterFor(b)
			for b.Loop() {
				s := listen(b)
				before := live()
				all := admit(b, s, url)
				for _, p := range all {
					if err := p.ready(b.Context(), ReadyRequest{}); err != nil {
						b.Fatal(err)
					}
				}
				var conns []net.Conn
				for i, p := range all {
					if !waiting {
						break
					}
					c, err := net.Dial("tcp", s.Address().String())
					if err != nil {
						b.Fatal(err)
					}
					fmt.Fprintf(c, "GET /v1/session?wait=60 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-%d\r\n\r\n", s.Address(), i)
					conns = append(conns, c)
					for len(p.busy) == 0 {
						runtime.Gosched()
					}
				}
				b.ReportMetric(float64(live()-before)/n, "B/process")
				s.Close()
				for _, c := range conns {
					c.Close()
				}
			}
		})
	}
}

// BenchmarkHealth measures a whole request of a program that needs no answer of Muster.
func BenchmarkHealth(b *testing.B) {
	s := open(b, "")
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	request := "POST /v1/health HTTP/1.1\r\nHost: " + s.Address().String() + "\r\nAuthorization: Bearer token-a\r\nContent-Length: 2\r\n\r\n{}"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write([]byte(request)); err != nil {
			b.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil || res.StatusCode != http.StatusNoContent {
			b.Fatal(res, err)
		}
	}
}
