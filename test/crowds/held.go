package main

import (
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/sim"
)

// tick is the time between two passes of an evening, and look that between two looks at who waits.
const (
	tick = 100 * time.Millisecond
	look = time.Second
)

// held plays an evening, and returns for each ticket the longest time in which it waited although
// it could have been matched with the tickets that were there: one look after another, a new pool
// of those who wait matched it.
func held(rs *ruleset.RuleSet, spec *sim.Spec, seed uint64, lasts time.Duration) (longest []time.Duration) {
	timeout := time.Duration(spec.Matchmaking.RequestTimeout * float64(time.Second))
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var arrivals []*search.Ticket
	spec.Arrivals(seed, lasts, func(at time.Duration, players []search.Player) {
		arrivals = append(arrivals, &search.Ticket{ID: players[0].ID, Created: begin.Add(at), Arrival: uint64(len(arrivals)), Players: players})
	})
	p, waiting := pool.New(rs, search.Options{}, pool.Limits{}), map[string]*search.Ticket{}
	since, times := map[string]time.Duration{}, map[string]time.Duration{}
	for at, n := time.Duration(0), 0; at < lasts; at += tick {
		now := begin.Add(at)
		for ; n < len(arrivals) && !arrivals[n].Created.After(now); n++ {
			p.Add(arrivals[n])
			waiting[arrivals[n].ID], times[arrivals[n].ID] = arrivals[n], 0
		}
		for id, t := range waiting {
			if now.Sub(t.Created) >= timeout {
				p.Remove(id)
				delete(waiting, id)
			}
		}
		for p.Pending(now) {
			for _, m := range p.Pass(now) {
				for _, t := range m.Tickets {
					delete(waiting, t.ID)
				}
			}
		}
		if at%look > 0 {
			continue
		}
		could := map[string]bool{}
		again := pool.New(rs, search.Options{}, pool.Limits{})
		for _, t := range waiting {
			again.Add(t)
		}
		for again.Pending(now) {
			for _, m := range again.Pass(now) {
				for _, t := range m.Tickets {
					could[t.ID] = true
				}
			}
		}
		for id := range since {
			if !could[id] {
				delete(since, id)
			}
		}
		for id := range could {
			if _, ok := since[id]; !ok {
				since[id] = at
			}
			times[id] = max(times[id], at-since[id]+look)
		}
	}
	for _, t := range times {
		longest = append(longest, t)
	}
	slices.Sort(longest)
	return longest
}
