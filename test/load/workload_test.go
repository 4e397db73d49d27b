package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// wireWorkload signs StartMatchmaking for every ticket of a workload.
func (m *market) wireWorkload(t *testing.T, w workload) (requests [][]byte, tickets []*search.Ticket) {
	t.Helper()
	r := rand.New(rand.NewPCG(20261121, 4))
	for i := range w.tickets {
		p := w.ticket(r)
		p.ID = fmt.Sprint("player-", i)
		ticket := &search.Ticket{ID: ticketID(i), Players: []search.Player{p}}
		request, err := m.startOf(ticket)
		check(t, err)
		requests, tickets = append(requests, request), append(tickets, ticket)
	}
	return requests, tickets
}

// startOf signs the StartMatchmaking of a ticket.
func (m *market) startOf(ticket *search.Ticket) ([]byte, error) {
	var players []any
	for _, p := range ticket.Players {
		attributes := map[string]any{}
		for name, given := range p.Attributes {
			switch {
			case given.Type == ruleset.Number:
				attributes[name] = map[string]any{"N": given.Number}
			case given.String != "":
				attributes[name] = map[string]any{"S": given.String}
			}
		}
		latencies := map[string]int{}
		for region, ms := range p.Latency {
			latencies[region] = int(ms)
		}
		players = append(players, map[string]any{"PlayerId": p.ID, "PlayerAttributes": attributes, "LatencyInMs": latencies})
	}
	return jsonCodec.signed(context.Background(), m.house, "StartMatchmaking",
		map[string]any{"ConfigurationName": "load", "TicketId": ticket.ID, "Players": players})
}

// TestMatchmaking_Workloads runs W3 to W6 over HTTP and SigV4 with a durable store:
// 128 callers start the tickets of a workload concurrently.
func TestMatchmaking_Workloads(t *testing.T) {
	measured(t, *tickets, "-tickets 20000")
	fmt.Printf("\n| over the wire | tickets | started a second | last start to last match | players matched | most possible | mean spread of skill |\n|---|---|---|---|---|---|---|\n")
	for _, w := range workloads() {
		rs, err := ruleset.Parse(w.rules)
		check(t, err)
		m := lobby(t, w.rules)
		requests, made := m.wireWorkload(t, w)
		rate := m.send(t, 128, requests)
		last := time.Now()
		m.settle()
		matched, ended, spread := m.outcome(t, made)
		fmt.Printf("| %s: %s | %d | %.0f | %v | %d | %d | %.4f |\n", w.name, w.about, len(made), rate,
			max(0, ended.Sub(last)).Round(time.Millisecond), matched, w.possible(rs, made), spread)
	}
}

// settle waits until no ticket has been matched for two seconds.
func (m *market) settle() {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for before, since := -1, time.Now(); time.Since(since) < 2*time.Second; <-look.C {
		if now := m.matches.Active(m.store.View(), "load"); now != before {
			before, since = now, time.Now()
		}
	}
}

// outcome reads the tickets and returns how many are COMPLETED, when the last of them
// was, and the mean spread of skill in a match.
func (m *market) outcome(t *testing.T, tickets []*search.Ticket) (matched int, last time.Time, spread float64) {
	t.Helper()
	type reach struct{ low, high float64 }
	matches := map[string]reach{}
	for _, ticket := range tickets {
		d, err := m.matches.Get(context.Background(), ticket.ID)
		check(t, err)
		if d.Ticket.Status != flexmatch.Completed {
			continue
		}
		matched++
		if d.Ticket.Ended.After(last) {
			last = d.Ticket.Ended
		}
		r, ok := matches[d.Ticket.MatchID]
		if !ok {
			r = reach{math.Inf(1), math.Inf(-1)}
		}
		skill := ticket.Players[0].Attributes["skill"].Number
		matches[d.Ticket.MatchID] = reach{min(r.low, skill), max(r.high, skill)}
	}
	for _, r := range matches {
		spread += r.high - r.low
	}
	return matched, last, spread / float64(max(1, len(matches)))
}

// TestMatchmaking_Steady is W7 over the wire: 1,000 tickets a second, for -sustained,
// with parties of 1 to 3, two teams of five and three expansions.
func TestMatchmaking_Steady(t *testing.T) {
	measured(t, *tickets, "-tickets 1 -sustained 10m")
	m := lobby(t, steady)
	conns, err := dial(m.address, 64)
	check(t, err)
	defer conns.close()
	r := rand.New(rand.NewPCG(20261121, 7))
	n, begin, used := int(1000*sustained.Seconds()), time.Now(), processor()
	late := make([]time.Duration, n)
	var sending sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range n {
		planned := begin.Add(time.Duration(i) * time.Millisecond)
		time.Sleep(time.Until(planned)) // the rate of the load
		ticket := arrival(r, i, planned)
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			request, err := m.startOf(ticket)
			if err == nil {
				_, err = conns.send(request)
			}
			if err != nil {
				t.Error(err)
			}
			late[i] = time.Since(planned)
		})
	}
	sending.Wait()
	took, spent := time.Since(begin), processor()-used
	waiting := m.matches.Active(m.store.View(), "load")
	var waits []time.Duration
	for i := range n {
		d, err := m.matches.Get(context.Background(), fmt.Sprint("t", i))
		check(t, err)
		if d.Ticket.Status == flexmatch.Completed {
			waits = append(waits, d.Ticket.Ended.Sub(d.Ticket.Started))
		}
	}
	slices.Sort(waits)
	slices.Sort(late)
	fmt.Printf("\n| W7 over the wire | tickets a second | StartMatchmaking answered, p50 | p99 | COMPLETED | waiting at the end | wait p50 | p99 | processor, server and load |\n|---|---|---|---|---|---|---|---|---|\n")
	fmt.Printf("| for %v | %.0f | %v | %v | %d | %d | %v | %v | %.0f %% of one |\n", *sustained, float64(n)/took.Seconds(), percentile(late, .5), percentile(late, .99),
		len(waits), waiting, percentile(waits, .5), percentile(waits, .99), 100*spent.Seconds()/took.Seconds())
}
