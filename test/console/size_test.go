package console

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
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
	run(t, "size.mjs", task{Base: c.server.URL, Pictures: *pictures, About: map[string]any{"fleet": c.place.FleetID, "game": c.games[0]}}, nil)
	c.costs(t)
}

// costs measures the server with 0, 1 and 50 open consoles of each page.
func (c *crowd) costs(t *testing.T) {
	const window = 10 * time.Second
	pages := []string{"now?every=1000", "sessions?every=1000&limit=200", "fleet?every=1000&id=" + c.place.FleetID, "matchmaker?every=1000&name=duels"}
	measure := func(open int, views ...string) {
		ctx, cancel := context.WithCancel(t.Context())
		var reading sync.WaitGroup
		var received atomic.Int64
		for i := range open {
			stream, err := follow(ctx, c.server.URL+"/console/api/live/"+views[i%len(views)])
			if err != nil {
				t.Errorf("console %d: %v", i, err)
				break
			}
			reading.Go(func() {
				defer stream.Close()
				lines := bufio.NewReader(stream)
				for {
					line, err := lines.ReadSlice('\n')
					received.Add(int64(len(line)))
					if err != nil && err != bufio.ErrBufferFull {
						return
					}
				}
			})
		}
		time.Sleep(2 * time.Second) // what the first frames cost is not measured
		before, from := c.used(t), received.Load()
		time.Sleep(window)
		after := c.used(t)
		t.Logf("%2d consoles of %v: %.1f %% of a processor, %.0f kB/s, %.0f MB resident", open, views,
			100*(after.processor-before.processor).Seconds()/window.Seconds(), float64(received.Load()-from)/window.Seconds()/1000, float64(after.memory)/1e6)
		cancel()
		reading.Wait()
	}
	measure(0)
	for _, page := range pages {
		measure(1, page)
		measure(50, page)
		measure(0)
	}
	measure(50, pages...)
	measure(0)
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
