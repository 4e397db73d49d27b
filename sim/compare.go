package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Comparison compares the reports of two rule sets, which have the same players and
// seeds.
type Comparison struct {
	A      *Report `json:"a"` // with the first seed
	B      *Report `json:"b"`
	Runs   int     `json:"runs"` // parts that the figures are means of: runs with a seed each, or stretches of a trace
	Rows   []Row   `json:"rows"`
	Charts []Pair  `json:"charts"`

	Played PlayedTimes `json:"player_minutes"` // of all runs

	effort [2]Effort // of all runs of A and of B
}

// Row compares one measure.
type Row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitzero"`
	A     float64 `json:"a"` // the mean of all parts
	B     float64 `json:"b"`
	Delta float64 `json:"delta"` // B minus A

	// The 95 % confidence intervals, nil if fewer than two parts have the measure. That of
	// the difference is of the differences within each part, since both rule sets get the
	// same players: it is narrower than those of A and B suggest.
	RangeA *Interval `json:"a_interval,omitzero"`
	RangeB *Interval `json:"b_interval,omitzero"`
	Range  *Interval `json:"delta_interval,omitzero"`

	// Better is higher, lower, or "" if neither is better in general.
	Better string `json:"better,omitzero"`
	// Is says what B is: better, worse, same, unclear if the interval of the difference
	// includes 0, or "" if neither is better in general.
	Is string `json:"b_is,omitzero"`

	words [3]string // what is measured, and what one of its values is called that is lower or higher
}

// Interval is a range of numbers.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// The verdicts of a Row.
const (
	IsBetter  = "better"
	IsWorse   = "worse"
	IsSame    = "same"
	IsUnclear = "unclear"
)

// measure is a measure of batches; it is NaN for a batch that does not have it.
type measure struct {
	name, unit, better string
	words              [3]string
	of                 func(*batch) float64
}

// Compare compares reports of two rule sets: a[i] and b[i] have the same players and seed.
// Each has at least one.
func Compare(a, b []*Report) *Comparison {
	c := &Comparison{A: a[0], B: b[0], Rows: []Row{}}
	var left, right []*batch
	for i := range a {
		left, right = append(left, a[i].batches...), append(right, b[i].batches...)
	}
	played := a
	if a[0] != b[0] {
		played = slices.Concat(a, b)
	}
	for _, r := range played {
		c.Played.Waiting += r.Played.Waiting
		c.Played.Playing += r.Played.Playing
	}
	c.Runs = len(left)
	for _, m := range measures(a[0], b[0]) {
		if row, ok := m.compare(left, right); ok {
			c.Rows = append(c.Rows, row)
		}
	}
	for i := range a {
		c.effort[0].add(&a[i].Effort)
		c.effort[1].add(&b[i].Effort)
	}
	cut := Row{Name: "searches cut short", A: float64(c.effort[0].Cut), B: float64(c.effort[1].Cut)}
	cut.Delta = cut.B - cut.A
	c.Rows = append(c.Rows, cut)
	c.Charts = pairs(a[0], b[0], whole(left), whole(right))
	return c
}

func share(n, of int) float64 {
	if of == 0 {
		return math.NaN()
	}
	return 100 * float64(n) / float64(of)
}

func quantile(s *sketch, of float64) float64 {
	if s.n == 0 {
		return math.NaN()
	}
	return s.at(of)[0]
}

// measures returns what is compared. Attributes that only one of the rule sets has are
// left out.
func measures(a, b *Report) []measure {
	out := []measure{
		{"tickets matched", "%", "higher", [3]string{"the share of tickets that are matched", "lower", "higher"}, func(b *batch) float64 { return share(b.tickets.Matched, b.tickets.Arrived) }},
		{"tickets timed out", "%", "lower", [3]string{"the share of tickets that time out", "lower", "higher"}, func(b *batch) float64 { return share(b.tickets.TimedOut, b.tickets.Arrived) }},
		{"tickets cancelled", "%", "lower", [3]string{"the share of tickets that are cancelled", "lower", "higher"}, func(b *batch) float64 { return share(b.tickets.Cancelled, b.tickets.Arrived) }},
		{"wait p50", "s", "lower", [3]string{"the wait of half of the tickets", "shorter", "longer"}, func(b *batch) float64 { return quantile(&b.wait, .5) }},
		{"wait p90", "s", "lower", [3]string{"the wait of nine in ten tickets", "shorter", "longer"}, func(b *batch) float64 { return quantile(&b.wait, .9) }},
		{"wait p99", "s", "lower", [3]string{"the wait of 99 in 100 tickets", "shorter", "longer"}, func(b *batch) float64 { return quantile(&b.wait, .99) }},
		{"matches", "", "", [3]string{}, func(b *batch) float64 { return float64(b.formed) }},
		{"full matches", "%", "higher", [3]string{"the share of matches without an open slot", "lower", "higher"}, func(b *batch) float64 { return share(b.full, b.formed) }},
		{"refused matches", "%", "lower", [3]string{"the share of matches that players refuse", "lower", "higher"}, func(b *batch) float64 { return share(b.refused, b.refused+b.formed) }},
		{"latency p50", "ms", "lower", [3]string{"the latency of half of the players", "lower", "higher"}, func(b *batch) float64 { return quantile(&b.latency, .5) }},
		{"latency p90", "ms", "lower", [3]string{"the latency of nine in ten players", "lower", "higher"}, func(b *batch) float64 { return quantile(&b.latency, .9) }},
	}
	for i, s := range a.Attributes {
		if i >= len(b.Attributes) || b.Attributes[i].Name != s.Name {
			continue
		}
		out = append(out,
			measure{s.Name + " spread p90", "", "lower", [3]string{"the " + s.Name + " spread in nine of ten matches", "narrower", "wider"}, func(b *batch) float64 { return quantile(&b.spreads[i], .9) }},
			measure{s.Name + " of teams p90", "", "lower", [3]string{"the " + s.Name + " difference of teams in nine of ten matches", "smaller", "larger"}, func(b *batch) float64 { return quantile(&b.teams[i], .9) }})
	}
	return out
}

// compare returns false if a rule set has the measure in no batch.
func (m *measure) compare(left, right []*batch) (Row, bool) {
	row := Row{Name: m.name, Unit: m.unit, Better: m.better, words: m.words}
	var a, b, delta []float64
	for i := range left {
		x, y := m.of(left[i]), m.of(right[i])
		if !math.IsNaN(x) && !math.IsNaN(y) {
			a, b, delta = append(a, x), append(b, y), append(delta, y-x)
		}
	}
	if len(a) == 0 {
		return row, false
	}
	row.A, row.RangeA = mean(a)
	row.B, row.RangeB = mean(b)
	row.Delta, row.Range = mean(delta)
	row.Is = row.verdict()
	return row, true
}

func (r *Row) verdict() string {
	switch {
	case r.Better == "":
		return ""
	case r.Delta == 0:
		return IsSame
	case r.Range != nil && r.Range.Low <= 0 && r.Range.High >= 0:
		return IsUnclear
	case (r.Delta > 0) == (r.Better == "higher"):
		return IsBetter
	}
	return IsWorse
}

// student are the 97.5 % points of Student's distribution, by degrees of freedom from 1.
var student = []float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}

// mean returns the mean of numbers, and its 95 % confidence interval if there are several.
func mean(of []float64) (float64, *Interval) {
	n, sum, squares := float64(len(of)), 0.0, 0.0
	for _, v := range of {
		sum += v
	}
	middle := sum / n
	if len(of) < 2 {
		return round(middle), nil
	}
	for _, v := range of {
		squares += (v - middle) * (v - middle)
	}
	half := student[min(len(of)-1, len(student))-1] * math.Sqrt(squares/(n-1)/n)
	return round(middle), &Interval{round(middle - half), round(middle + half)}
}

// Words says what B gains and what it loses, and which measures show no clear difference,
// each in a sentence, "" if there is nothing to say.
func (c *Comparison) Words() (gains, losses, unclear string) {
	said := map[string][]string{}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.words[0] == "" || strings.HasSuffix(r.Name, "p99") {
			continue
		}
		if r.Is == IsUnclear {
			said[r.Is] = append(said[r.Is], r.words[0])
			continue
		}
		how := r.words[1]
		if r.Delta > 0 {
			how = r.words[2]
		}
		said[r.Is] = append(said[r.Is], fmt.Sprintf("%s is %s (%s to %s%s)", r.words[0], how, short(r.A), short(r.B), r.unit()))
	}
	return sentence("", said[IsBetter]), sentence("", said[IsWorse]), sentence("no clear difference in ", said[IsUnclear])
}

func (r *Row) unit() string {
	if r.Unit == "" {
		return ""
	}
	return " " + r.Unit
}

// sentence joins parts to a sentence, "" of none.
func sentence(begin string, parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	text := begin + strings.Join(parts, ", ")
	if last := len(parts) - 1; last > 0 {
		text = begin + strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func signed(v float64) string {
	if v < 0 {
		return "-" + short(-v)
	}
	return "+" + short(v)
}

// change returns the difference as a share of A.
func change(r Row) string {
	if r.A == 0 || r.Unit == "%" {
		return "-"
	}
	return fmt.Sprintf("%+s %%", strconv.FormatFloat(100*r.Delta/r.A, 'f', 1, 64))
}
