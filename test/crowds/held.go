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

// evening is an evening of matching in which those who wait are looked at.
type evening struct {
	rules   *ruleset.RuleSet
	pool    *pool.Pool
	waiting map[string]*search.Ticket
	since   map[string]time.Duration // of those who could be matched at the last look: since when
	longest map[string]time.Duration // by ticket: the longest time in which it was held
}

// held plays an evening, and returns for each ticket the longest time in which it waited although
// it could have been matched with the tickets that were there: one look after another, a new pool
// of those who wait matched it.
func held(rs *ruleset.RuleSet, spec *sim.Spec, seed uint64, lasts time.Duration) (longest []time.Duration) {
	timeout, begin := time.Duration(spec.Matchmaking.RequestTimeout*float64(time.Second)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var arrivals []*search.Ticket
	spec.Arrivals(seed, lasts, func(at time.Duration, players []search.Player) {
		arrivals = append(arrivals, &search.Ticket{ID: players[0].ID, Created: begin.Add(at), Arrival: uint64(len(arrivals)), Players: players})
	})
	e := evening{rs, pool.New(rs, search.Options{}, pool.Limits{}), map[string]*search.Ticket{}, map[string]time.Duration{}, map[string]time.Duration{}}
	for at, n := time.Duration(0), 0; at < lasts; at += tick {
		now := begin.Add(at)
		for ; n < len(arrivals) && !arrivals[n].Created.After(now); n++ {
			e.enter(arrivals[n])
		}
		for id, t := range e.waiting {
			if now.Sub(t.Created) >= timeout {
				e.pool.Remove(id)
				delete(e.waiting, id)
			}
		}
		matched(e.pool, now, func(id string) { delete(e.waiting, id) })
		if at%look == 0 {
			e.look(at, now)
		}
	}
	for _, t := range e.longest {
		longest = append(longest, t)
	}
	slices.Sort(longest)
	return longest
}

func (e *evening) enter(t *search.Ticket) {
	e.pool.Add(t)
	e.waiting[t.ID], e.longest[t.ID] = t, 0
}

// look notes which of those who wait a new pool matches.
func (e *evening) look(at time.Duration, now time.Time) {
	could, again := map[string]bool{}, pool.New(e.rules, search.Options{}, pool.Limits{})
	for _, t := range e.waiting {
		again.Add(t)
	}
	matched(again, now, func(id string) { could[id] = true })
	for id := range e.since {
		if !could[id] {
			delete(e.since, id)
		}
	}
	for id := range could {
		if _, ok := e.since[id]; !ok {
			e.since[id] = at
		}
		e.longest[id] = max(e.longest[id], at-e.since[id]+look)
	}
}

// matched makes passes until nothing is left to do, and calls f for each ticket that is matched.
func matched(p *pool.Pool, now time.Time, f func(id string)) {
	for p.Pending(now) {
		for _, m := range p.Pass(now) {
			for _, t := range m.Tickets {
				f(t.ID)
			}
		}
	}
}
