package pages

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/internal/fault"
)

// Quality is the page of how fair the matches of a configuration are: those of the last
// hour, but no backfills.
type Quality struct {
	Name     string    `json:"name"`
	RuleSet  string    `json:"rule_set"`          // of the newest matches
	Before   string    `json:"before,omitempty"`  // the rule set before it, if there are matches of it
	Changed  time.Time `json:"changed,omitzero"`  // when the first match of RuleSet was made
	Matches  int       `json:"matches"`           // of RuleSet
	Earlier  int       `json:"earlier"`           // of Before
	Skipped  int       `json:"skipped,omitempty"` // were not measured, as too many came at once
	Measures []Measure `json:"measures"`          // most telling first
	Since    time.Time `json:"since"`             // when this node began to record
	Bounded  bool      `json:"bounded,omitempty"` // only the newest are known
}

// Measure is a number that each match has, and how it is spread.
type Measure struct {
	Key    string   `json:"key"`  // such as "rule FairSkill"
	Kind   string   `json:"kind"` // rule, spread, teams, latency or wait
	Name   string   `json:"name"` // of the rule or attribute
	Unit   string   `json:"unit,omitempty"`
	Step   float64  `json:"step"` // the width of a bin; the first begins at 0
	Limits []Limit  `json:"limits,omitempty"`
	Now    Spread   `json:"now"`
	Before *Spread  `json:"before,omitempty"`
	Change *Verdict `json:"change,omitempty"`
}

// Limit is a limit of a rule.
type Limit struct {
	At      float64 `json:"at"`
	AtLeast bool    `json:"at_least,omitempty"` // else at most
	After   int64   `json:"after_ms,omitempty"` // the age of the oldest ticket from which it applies
}

// Spread is how the values of matches are spread.
type Spread struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"` // with High, the 95 % confidence interval of the median
	High   float64 `json:"high"`
	P90    float64 `json:"p90"`
	Counts []int   `json:"counts"` // by bin
}

// Verdict compares the medians of now and before.
type Verdict struct {
	Clear bool    `json:"clear"` // the intervals do not overlap
	By    float64 `json:"by"`    // what the median has changed by
}

const (
	// matchesKept is how many matches of a configuration are remembered, within an hour.
	matchesKept = 1000
	// attributesMost bounds the attributes that are judged, rulesMost the rules.
	attributesMost = 8
	rulesMost      = 16
	// judgedAtOnce is how many matches may wait to be judged.
	judgedAtOnce = 512
	qualityBins  = 30
)

// judged is a match with its numbers.
type judged struct {
	at      time.Time
	ruleSet string
	values  []float64 // by key of scales.keys
}

// scales are the numbers of the matches of one configuration. Its zero value is ready.
type scales struct {
	mu      sync.Mutex
	keys    []Measure // with Key, Kind, Name and Unit
	all     []judged  // oldest first, in a ring
	next    int
	skipped int
}

// add remembers a match with its numbers.
func (s *scales) add(at time.Time, ruleSet string, found []measured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := judged{at: at, ruleSet: ruleSet}
	for _, m := range found {
		i := slices.IndexFunc(s.keys, func(k Measure) bool { return k.Key == m.of.Key })
		if i < 0 {
			if len(s.keys) == 4*(rulesMost+2*attributesMost) {
				continue // of rule sets that came and went
			}
			i = len(s.keys)
			s.keys = append(s.keys, m.of)
		}
		for len(j.values) <= i {
			j.values = append(j.values, math.NaN())
		}
		j.values[i] = m.value
	}
	if len(s.all) < matchesKept {
		s.all = append(s.all, j)
		return
	}
	s.all[s.next] = j
	s.next = (s.next + 1) % matchesKept
}

// since returns the matches after a time, oldest first, and the keys of their values.
func (s *scales) since(at time.Time) (keys []Measure, found []judged, skipped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.all {
		if j := s.all[(s.next+i)%len(s.all)]; j.at.After(at) {
			found = append(found, j)
		}
	}
	return slices.Clone(s.keys), found, s.skipped
}

// measured is a number of a match.
type measured struct {
	of    Measure
	value float64
}

// judge takes a match for Run to measure; it never waits.
func (r *recorder) judge(m *flexmatch.Matched) {
	if m.Backfill != "" {
		return
	}
	select {
	case r.toJudge <- m:
	default:
		if c := r.configuration(m.Configuration); c != nil {
			c.scales.mu.Lock()
			c.scales.skipped++
			c.scales.mu.Unlock()
		}
	}
}

// measure measures a match.
func (r *recorder) measure(m *flexmatch.Matched) {
	c := r.configuration(m.Configuration)
	rs, err := r.of.Matches.RuleSets.Compiled(r.of.Store.View(), m.RuleSet)
	if c == nil || err != nil {
		return // the rule set was deleted
	}
	lineup, ok := m.Lineup(rs)
	if !ok {
		return
	}
	found := rulesOf(rs, m.Level, lineup)
	found = append(found, attributesOf(rs, lineup)...)
	location := ""
	if g := r.of.Sessions.Live(r.of.Store.View(), m.GameSessionID); g != nil {
		location = g.Location
	}
	if worst, ok := slowest(m, location); ok {
		found = append(found, measured{Measure{Key: "latency", Kind: "latency", Name: "latency", Unit: "ms"}, worst})
	}
	longest := time.Duration(0)
	for _, t := range m.Of {
		longest = max(longest, m.Ended.Sub(t.Started))
	}
	found = append(found, measured{Measure{Key: "wait", Kind: "wait", Name: "wait", Unit: "s"}, longest.Seconds()})
	c.scales.add(m.Ended, m.RuleSet, found)
}

// rulesOf returns the numbers that the rules of a match compared with their limits.
func rulesOf(rs *ruleset.RuleSet, level int, lineup *ruleset.Lineup) (out []measured) {
	levels := rs.Levels()
	if level >= len(levels) {
		return nil
	}
	for _, r := range levels[level].Rules {
		unit := ""
		switch r.Type {
		case "distance", "batchDistance":
		case "latency":
			unit = "ms"
		default:
			continue
		}
		if n, ok := r.Measured(lineup); ok && finite(n.Value) && len(out) < rulesMost {
			out = append(out, measured{Measure{Key: "rule " + r.Name, Kind: "rule", Name: r.Name, Unit: unit}, math.Abs(n.Value)})
		}
	}
	return out
}

// attributesOf returns how far apart the players of a match are, and the means of its teams.
func attributesOf(rs *ruleset.RuleSet, lineup *ruleset.Lineup) (out []measured) {
	count := 0
	for i, a := range rs.Attributes {
		if a.Type != ruleset.Number || count == attributesMost {
			continue
		}
		count++
		low, high, leastMean, mostMean := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
		for _, team := range lineup.Teams {
			sum, n := 0.0, 0
			for _, m := range team {
				v := m.Party.Players[m.Index].Values[i].Number
				if !finite(v) {
					continue
				}
				low, high, sum, n = min(low, v), max(high, v), sum+v, n+1
			}
			if n > 0 {
				leastMean, mostMean = min(leastMean, sum/float64(n)), max(mostMean, sum/float64(n))
			}
		}
		if low > high {
			continue
		}
		if len(lineup.Teams) > 1 {
			out = append(out, measured{Measure{Key: "teams " + a.Name, Kind: "teams", Name: a.Name}, mostMean - leastMean})
		}
		out = append(out, measured{Measure{Key: "spread " + a.Name, Kind: "spread", Name: a.Name}, high - low})
	}
	return out
}

// slowest returns the highest latency of a match's players to a location; ok is false if
// nobody reported one.
func slowest(m *flexmatch.Matched, location string) (millis float64, ok bool) {
	for _, r := range m.Requests {
		for i := range r.Players {
			if l, known := r.Players[i].Latency[location]; known {
				millis, ok = max(millis, float64(l)), true
			}
		}
	}
	return millis, ok
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Quality returns how fair the matches of a configuration are. Errors: NotFound.
func (p *Pages) Quality(name string) (*Quality, error) {
	view, now := p.Store.View(), time.Now()
	c := p.Matches.Configurations.Get(view, name)
	if c == nil {
		return nil, fault.Missing("Name: matchmaking configuration %.128q does not exist", name)
	}
	out := &Quality{Name: c.Name, RuleSet: c.RuleSet, Measures: []Measure{}, Since: p.begun}
	h := p.configuration(c.Name)
	if h == nil {
		return out, nil
	}
	keys, all, skipped := h.scales.since(now.Add(-time.Hour))
	out.Skipped, out.Bounded = skipped, len(all) == matchesKept
	latest, earlier := out.split(all)
	for i := range keys {
		m := keys[i]
		if out.RuleSet != "" && m.Kind == "rule" {
			m.Limits = p.limits(out.RuleSet, m.Name)
		}
		if m.compare(valuesAt(latest, i), valuesAt(earlier, i)) {
			out.Measures = append(out.Measures, m)
		}
	}
	kinds := []string{"rule", "teams", "spread", "latency", "wait"}
	slices.SortStableFunc(out.Measures, func(a, b Measure) int {
		if d := slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// split divides matches into those of the newest rule set and those of the one before.
func (q *Quality) split(all []judged) (latest, earlier []judged) {
	if len(all) == 0 {
		return nil, nil
	}
	q.RuleSet = all[len(all)-1].ruleSet
	for i := len(all) - 1; i >= 0 && q.Before == ""; i-- {
		if all[i].ruleSet != q.RuleSet {
			q.Before = all[i].ruleSet
		}
	}
	for _, j := range all {
		switch j.ruleSet {
		case q.RuleSet:
			latest = append(latest, j)
		case q.Before:
			earlier = append(earlier, j)
		}
	}
	q.Matches, q.Earlier = len(latest), len(earlier)
	if q.Before != "" {
		q.Changed = latest[0].at
	}
	return latest, earlier
}

func valuesAt(all []judged, key int) (values []float64) {
	for _, j := range all {
		if key < len(j.values) && !math.IsNaN(j.values[key]) {
			values = append(values, j.values[key])
		}
	}
	slices.Sort(values)
	return values
}

// limits returns the limits of a rule, by the age from which they apply.
func (p *Pages) limits(ruleSet, rule string) (out []Limit) {
	rs, err := p.Matches.RuleSets.Compiled(p.Store.View(), ruleSet)
	if err != nil {
		return nil
	}
	for _, level := range rs.Levels() {
		i := slices.IndexFunc(level.Rules, func(r *ruleset.Rule) bool { return r.Name == rule })
		if i < 0 || !level.Rules[i].Limit().Set {
			continue
		}
		at := level.Rules[i].Limit().Value
		if n := len(out); n == 0 || out[n-1].At != at {
			out = append(out, Limit{At: at, After: level.From.Milliseconds()})
		}
	}
	return out
}

// compare fills in how sorted values are spread; it reports whether there are any.
func (m *Measure) compare(now, before []float64) bool {
	if len(now)+len(before) == 0 {
		return false
	}
	top := 0.0
	for _, values := range [][]float64{now, before} {
		if n := len(values); n > 0 {
			top = max(top, values[n-1])
		}
	}
	for _, l := range m.Limits {
		if l.At < 4*top {
			top = max(top, l.At*1.05)
		}
	}
	m.Step = niceStep(top)
	bins := int(top/m.Step) + 1
	m.Now = spreadOf(now, m.Step, bins)
	if len(before) == 0 {
		return true
	}
	b := spreadOf(before, m.Step, bins)
	m.Before = &b
	if len(now) > 0 {
		m.Change = &Verdict{Clear: m.Now.High < b.Low || m.Now.Low > b.High, By: m.Now.Median - b.Median}
	}
	return true
}

// niceStep returns a width of bins: 1, 2 or 5 times a power of ten, so that at most
// qualityBins hold values up to top.
func niceStep(top float64) float64 {
	if !(top > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(top/qualityBins)))
	for _, f := range []float64{1, 2, 5} {
		if top/(f*power) < qualityBins {
			return f * power
		}
	}
	return 10 * power
}

// spreadOf returns how sorted values are spread.
func spreadOf(values []float64, step float64, bins int) Spread {
	n := len(values)
	s := Spread{N: n, Counts: make([]int, bins)}
	if n == 0 {
		return s
	}
	for _, v := range values {
		s.Counts[min(bins-1, max(0, int(v/step)))]++
	}
	at := func(rank float64) float64 { return values[max(0, min(n-1, int(rank)))] }
	s.Median, s.P90 = at(float64(n)/2), at(.9*float64(n))
	// Ranks of the interval: the number of values below the median is binomial (n, 1/2).
	reach := 1.96 * math.Sqrt(float64(n)) / 2
	s.Low, s.High = at(math.Floor(float64(n)/2-reach)), at(math.Ceil(float64(n)/2+reach))
	return s
}
