package console

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Lists stay usable when they are long. With -games the server is as large as that says.
func TestCrowd(t *testing.T) {
	needs(t)
	large := max(*games, 400)
	c := newCrowd(t, large, large/5)
	c.stir(t, eventsPerSecond)
	run(t, "crowd.mjs", task{
		Base: c.server.URL, Passes: []pass{{"light", 1440, nil}, {"dark", 390, nil}},
		About: map[string]any{"fleet": c.place.FleetID, "games": large, "tickets": large / 5},
	}, map[string]func(string) any{"more": func(string) any {
		c.place.Server(t)
		made, err := c.place.Create(t.Context(), 8)
		if err != nil {
			t.Error(err)
			return ""
		}
		return *made.GameSessionId
	}})
}

// games is how large the server is that is measured.
var games = flag.Int("games", 0, "measure the console of a server with so many `game sessions`, such as 10000")

const (
	openTickets     = 2000
	eventsPerSecond = 50
)

// How long people wait for the pages of a large server, and what open pages cost it.
func TestSize(t *testing.T) {
	if *games == 0 {
		t.Skip("a measurement: run it with -games 10000 -v")
	}
	needs(t)
	begun := time.Now()
	c := newCrowd(t, *games, openTickets)
	t.Logf("%d game sessions and %d tickets after %v", *games, openTickets, time.Since(begun).Round(time.Second))
	c.stir(t, eventsPerSecond)
	begun = time.Now()
	run(t, "size.mjs", task{Base: c.server.URL, Pictures: *pictures, About: map[string]any{"fleet": c.place.FleetID, "game": c.games[0]}}, nil)
	t.Logf("%.1f events a second in the browser's part", 4*float64(c.turns.Load())/time.Since(begun).Seconds())
	begun, before := time.Now(), c.turns.Load()
	c.costs(t)
	t.Logf("%.1f events a second while consoles were open", 4*float64(c.turns.Load()-before)/time.Since(begun).Seconds())
}

// costs measures what 1 and 50 open consoles of each page cost the server, beside the same
// server without any right before and after.
func (c *crowd) costs(t *testing.T) {
	pages := []string{"now?every=1000", "sessions?every=1000&limit=200", "fleet?every=1000&id=" + c.place.FleetID, "matchmaker?every=1000&name=duels"}
	alone := c.cost(t, 0, nil)
	measure := func(open int, views ...string) {
		with := c.cost(t, open, views)
		after := c.cost(t, 0, nil)
		rest := (alone.share + after.share) / 2
		names := make([]string, len(views))
		for i, view := range views {
			names[i], _, _ = strings.Cut(view, "?")
		}
		t.Logf("%2d consoles of %s: %+.1f %% of a processor (%.1f without any), %.0f kB/s, %.0f MB resident (%.0f)", open, strings.Join(names, ", "),
			with.share-rest, rest, with.received/1000, with.memory, after.memory)
		alone = after
	}
	for _, page := range pages {
		measure(1, page)
		measure(50, page)
	}
	measure(50, pages...)
}

// cost is what a server used for some seconds.
type cost struct {
	share    float64 // of a processor, %
	received float64 // bytes a second, by the consoles
	memory   float64 // MB that are resident
}

// cost measures the server while consoles are open, which have the views in turn.
func (c *crowd) cost(t *testing.T, open int, views []string) (out cost) {
	t.Helper()
	const window = 10 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	var received atomic.Int64
	for i := range open {
		stream, err := follow(ctx, c.server.URL+"/console/api/live/"+views[i%len(views)])
		if err != nil {
			t.Errorf("console %d: %v", i, err)
			return out
		}
		reading.Go(func() {
			defer stream.Close()
			part := make([]byte, 64<<10)
			for err := error(nil); err == nil; {
				var n int
				n, err = stream.Read(part)
				received.Add(int64(n))
			}
		})
	}
	time.Sleep(2 * time.Second) // what the first frames cost is not measured
	before, from, began := c.used(t), received.Load(), time.Now()
	time.Sleep(window) // in which the cost is measured
	after, took := c.used(t), time.Since(began).Seconds()
	return cost{100 * (after.processor - before.processor).Seconds() / took, float64(received.Load()-from) / took, float64(after.memory) / 1e6}
}

// follow opens a stream as a browser does.
func follow(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("status %s", response.Status)
	}
	return response.Body, nil
}
