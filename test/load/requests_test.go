package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

var requests = flag.Int("requests", 0, "how many requests of each operation TestRequests sends; 0 skips it")

// TestRequests measures operations over HTTP and SigV4 with 128 callers next to an HTTP
// server that verifies the same requests and answers with as many bytes. Processor
// time and allocations include those of the callers.
func TestRequests(t *testing.T) {
	measured(t, *requests, "-requests 20000")
	const callers = 128
	n := *requests
	m := lobby(t, lonely)
	_, err := together(256, n, func(i int) error { return m.process(context.Background(), i) })
	check(t, err)
	ids := make([]string, n)
	fmt.Printf("\n%d processors\n\n| operation | a second | echo | ratio | processor µs each | echo | allocated KB each | allocations each |\n|---|---|---|---|---|---|---|---|\n", runtime.GOMAXPROCS(0))
	for _, o := range []struct {
		name string
		in   func(i int) any
	}{
		{"CreateGameSession", func(int) any {
			return map[string]any{
				"FleetId": m.fleet.ID, "Location": location, "MaximumPlayerSessionCount": 10, "Name": "load",
				"GameSessionData": gameData, "GameProperties": []any{map[string]any{"Key": "map", "Value": "winter"}},
			}
		}},
		{"CreatePlayerSession", func(i int) any { return map[string]any{"GameSessionId": ids[i], "PlayerId": "ana"} }},
		{"DescribeGameSessions", func(i int) any { return map[string]any{"GameSessionId": ids[i]} }},
		{"StartMatchmaking", func(i int) any { return ticket(i) }},
		{"DescribeMatchmaking", func(i int) any { return map[string]any{"TicketIds": []any{ticketID(i)}} }},
	} {
		if o.name == "CreatePlayerSession" {
			check(t, m.activate(context.Background(), ids))
		}
		signed := m.signed(t, o.name, n, o.in)
		var answer []byte
		got := m.load(t, m.address, callers, signed, func(i int, body []byte) error {
			if i == 0 {
				answer = body
			}
			if o.name != "CreateGameSession" {
				return nil
			}
			var out struct {
				GameSession struct{ GameSessionId string }
			}
			err := json.Unmarshal(body, &out)
			ids[i] = out.GameSession.GameSessionId
			return err
		})
		echo := m.load(t, m.echo(t, answer), callers, signed, func(int, []byte) error { return nil })
		fmt.Printf("| %s | %.0f | %.0f | %.2f | %.0f | %.0f | %.1f | %.0f |\n",
			o.name, got.rate, echo.rate, got.rate/echo.rate, got.processor, echo.processor, got.bytes/1000, got.allocations)
	}
}

// cost is what requests cost: their rate per second, and for each microseconds of
// processor time, bytes allocated and allocations.
type cost struct{ rate, processor, bytes, allocations float64 }

// load sends the requests and returns what they cost.
func (m *market) load(t *testing.T, address string, callers int, requests [][]byte, took func(int, []byte) error) cost {
	t.Helper()
	conns, err := dial(address, callers)
	check(t, err)
	defer conns.close()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := processor()
	rate, err := together(callers, len(requests), func(i int) error {
		body, err := conns.send(requests[i])
		if err != nil {
			return err
		}
		return took(i, body)
	})
	check(t, err)
	used = processor() - used
	runtime.ReadMemStats(&after)
	n := float64(len(requests))
	return cost{
		rate: rate, processor: float64(used/time.Nanosecond) / 1000 / n,
		bytes: float64(after.TotalAlloc-before.TotalAlloc) / n, allocations: float64(after.Mallocs-before.Mallocs) / n,
	}
}

// echo serves the answer to each request whose signature and body hash are valid, and
// returns the server's address.
func (m *market) echo(t *testing.T, answer []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claim, err := m.verifier.Claim(r, time.Now())
		if err == nil {
			var body []byte
			if body, err = io.ReadAll(r.Body); err == nil {
				err = claim.Body(body)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		w.Write(answer)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}
