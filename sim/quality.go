package sim

import (
	"math"
	"strconv"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

func (t *tally) completed(r *run, p *proposal, l *ruleset.Lineup, location string) {
	b := t.batch(p.formed)
	t.formed++
	b.formed++
	if p.game != nil {
		t.filled++
	}
	size := 0
	for _, team := range l.Teams {
		size += len(team)
	}
	if size == r.RuleSet.Level(0).Capacity()-r.opts.AdditionalPlayerCount {
		t.full++
		b.full++
	}
	t.sizes[size]++
	t.levels[p.Level]++
	waits := t.waited(r, p, location)
	t.latencies(b, p, location)
	t.judge(r, b, p, l, waits)
	for i := range t.attributes {
		a := &t.attributes[i]
		players := spread(l, a.attribute)
		a.spread.add(players)
		b.spreads[i].add(players)
		if len(l.Teams) > 1 { // one team has no other to differ from
			teams := search.Spread(l, a.attribute)
			a.teams.add(teams)
			b.teams[i].add(teams)
		}
	}
}

// waited measures and returns the waits of the new tickets, in seconds.
func (t *tally) waited(r *run, p *proposal, location string) []float64 {
	var waits []float64
	step := strconv.Itoa(p.Level)
	for _, in := range p.newcomers() {
		wait := (p.formed - in.come.at).Seconds()
		waits = append(waits, wait)
		t.wait.add(wait)
		t.batch(in.come.at).wait.add(wait)
		t.waits.add(wait)
		t.populations.of(in.come.population).match(wait, len(in.Players))
		t.parties.of(strconv.Itoa(len(in.Players))).match(wait, len(in.Players))
		for _, of := range []*part{t.locations.of(named(location)), t.steps.of(step)} {
			of.tickets.Arrived++
			of.tickets.Matched++
			of.match(wait, len(in.Players))
		}
	}
	return waits
}

func (p *part) match(wait float64, players int) {
	p.wait.add(wait)
	p.players += players
}

func named(location string) string {
	if location == "" {
		return "no common location"
	}
	return location
}

func (t *tally) latencies(b *batch, p *proposal, location string) {
	at := t.locations.of(named(location))
	for _, in := range p.newcomers() {
		of := t.populations.of(in.come.population)
		for _, player := range in.Players {
			if ms, ok := player.Latency[location]; ok {
				t.latency.add(ms)
				b.latency.add(ms)
				at.latency.add(ms)
				of.latency.add(ms)
			}
		}
	}
}

// judge measures the numbers that the rules limit, and which rules an expansion had to
// relax for the match.
func (t *tally) judge(r *run, b *batch, p *proposal, l *ruleset.Lineup, waits []float64) {
	base, level := r.RuleSet.Levels()[0], r.RuleSet.Levels()[p.Level]
	for i, rule := range level.Rules {
		if !rule.Enforced {
			continue
		}
		of := &t.rules[i]
		if m, ok := rule.Measured(l); ok && m.Value >= 0 && !math.IsInf(m.Value, 0) {
			of.value.add(m.Value)
			b.values[i].add(m.Value)
		}
		relaxed := !r.RuleSet.Same(i, base, level) && !base.Holds(i, l)
		into := &of.waitStrict
		if relaxed {
			of.relaxed++
			into = &of.waitRelaxed
		} else {
			of.strict++
		}
		for _, wait := range waits {
			into.add(wait)
		}
	}
}

// spread returns the difference between the players' highest and lowest value.
func spread(l *ruleset.Lineup, attribute int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, party := range l.Parties {
		for i := range party.Players {
			v := party.Players[i].Values[attribute].Number
			low, high = min(low, v), max(high, v)
		}
	}
	return high - low
}
