package sim

import (
	"fmt"
	"html/template"
	"strconv"
	"time"
)

// section is a chart or a table with a title and text. Charts are in HTML pages only.
type section struct {
	Title string
	Text  string
	Chart template.HTML
	Head  []string
	Rows  [][]string
}

func tables(r *Report) []section {
	m := r.Matches
	var out []section
	if r.Seeds != nil {
		out = append(out, r.Seeds.table(len(r.batches) > 1))
	}
	if warning := r.Effort.warning(""); len(warning.Rows) > 0 {
		out = append(out, warning)
	}
	out = append(out, []section{
		{Title: "Outcomes", Head: []string{"", "arrived", "matched", "timed out", "cancelled", "declined", "waiting", "pending"}, Rows: [][]string{outcomes("tickets", r.Tickets), outcomes("players", r.Players)},
			Text: fmt.Sprintf("%d matches: %d new game sessions, %d filled ones, %d full; %d refused; %d backfill requests.", m.Formed, m.New, m.Filled, m.Full, m.Refused, m.Backfills)},
		{Title: "Wait and latency", Head: []string{"", "count", "mean", "p10", "p50", "p90", "p95", "p99", "max"},
			Rows: [][]string{quantileRow("wait until matched, s", r.Wait), quantileRow("wait of the unmatched, s", r.Waited), quantileRow("latency in the match, ms", r.Latency)}},
	}...)
	for _, of := range []struct {
		title string
		parts []Part
	}{{"Populations", r.Populations}, {"Party sizes", r.Parties}, {"Locations", r.Locations}, {"Expansion steps", r.Steps}} {
		s := section{Title: of.title, Head: []string{"", "tickets", "matched", "wait s p50", "p90", "p99", "latency ms p50", "p90"}}
		for _, p := range of.parts {
			s.Rows = append(s.Rows, []string{p.Name, strconv.Itoa(p.Tickets.Arrived), percent(p.Tickets.Matched, p.Tickets.Arrived), dashed(p.Wait, p.Wait.P50), dashed(p.Wait, p.Wait.P90), dashed(p.Wait, p.Wait.P99), dashed(p.Latency, p.Latency.P50), dashed(p.Latency, p.Latency.P90)})
		}
		out = append(out, s)
	}
	rules := section{Title: "Rules", Text: "A match is relaxed when it breaks the rule as it stands before any expansion. Value is the number that the rule limits.",
		Head: []string{"", "type", "relaxed", "wait s p50 strict", "relaxed", "value p50", "p90", "p99", "limit"}}
	for _, u := range r.Rules {
		rules.Rows = append(rules.Rows, ruleRow(u))
	}
	spreads := section{Title: "Attributes", Head: []string{"", "spread of players p50", "p90", "of team averages p50", "p90"}}
	for _, a := range r.Attributes {
		spreads.Rows = append(spreads.Rows, []string{a.Name, dashed(a.Spread, a.Spread.P50), dashed(a.Spread, a.Spread.P90), dashed(a.Teams, a.Teams.P50), dashed(a.Teams, a.Teams.P90)})
	}
	whys := section{Title: "Why tickets timed out or were cancelled", Text: fmt.Sprintf("Of %d evenly chosen ones.", r.Examined), Head: []string{"", "share"}}
	for _, y := range r.Unmatched {
		whys.Rows = append(whys.Rows, []string{y.Text, percent(y.Tickets, r.Examined)})
	}
	return append(out, rules, spreads, whys)
}

// warning returns a warning about searches and passes that bounds ended, without rows if there are none.
// whose is which of several rule sets it is about.
func (e *Effort) warning(whose string) section {
	s := section{Title: "Warning: searches" + whose + " were cut short", Head: []string{"", "all", "cut short", "share"},
		Text: "A bound ended searches before all that might have been a match was tried, so matches can be missing; or it ended passes with tickets left to the next, so waits are longer. docs/capacity.md compares what rules cost."}
	if e.Cut > 0 {
		s.Rows = append(s.Rows, []string{"searches around a ticket", strconv.Itoa(e.Searches), strconv.Itoa(e.Cut), percent(e.Cut, e.Searches)})
	}
	if e.Ended > 0 {
		s.Rows = append(s.Rows, []string{"passes", strconv.Itoa(e.Passes), strconv.Itoa(e.Ended), percent(e.Ended, e.Passes)})
	}
	return s
}

func (c *Comparison) table() section {
	s := section{Title: "A and B", Head: []string{"", "A", "B", "B - A", "change", "B is"}}
	if c.Runs > 1 {
		s.Text = fmt.Sprintf("Means of %d %s, with 95 %% intervals. Where that of the difference includes 0, there is no clear difference.", c.Runs, c.parts())
	}
	for _, r := range c.Rows {
		s.Rows = append(s.Rows, []string{label(r.Name, r.Unit), ranged(r.A, r.RangeA, short), ranged(r.B, r.RangeB, short), ranged(r.Delta, r.Range, signed), change(r), verdicts[r.Is]})
	}
	return s
}

// verdicts are the words for what B is.
var verdicts = map[string]string{IsBetter: "better", IsWorse: "worse", IsSame: "the same", IsUnclear: "no clear difference"}

// parts returns what the figures are means of.
func (c *Comparison) parts() string {
	if len(c.A.batches) > 1 {
		return "stretches of the trace"
	}
	return "runs"
}

// label returns what a measure is called in a table.
func label(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + ", " + unit
}

// ranged formats a number and how far its interval reaches to both sides.
func ranged(v float64, i *Interval, format func(float64) string) string {
	if i == nil {
		return format(v)
	}
	return format(v) + " ± " + short((i.High-i.Low)/2)
}

func ruleRow(u RuleUse) []string {
	row := []string{u.Name, u.Type, percent(u.Relaxed, u.Relaxed+u.Strict), dashed(u.WaitStrict, u.WaitStrict.P50), dashed(u.WaitRelaxed, u.WaitRelaxed.P50), "-", "-", "-", "-"}
	if u.Value != nil {
		row[5], row[6], row[7] = short(u.Value.P50), short(u.Value.P90), short(u.Value.P99)
	}
	if u.Limit != nil {
		row[8] = short(*u.Limit)
	}
	return row
}

func quantileRow(name string, q Quantiles) []string {
	row := []string{name, strconv.Itoa(q.Count)}
	for _, v := range []float64{q.Mean, q.P10, q.P50, q.P90, q.P95, q.P99, q.Max} {
		row = append(row, dashed(q, v))
	}
	return row
}

func outcomes(name string, f Outcomes) []string {
	row := []string{name}
	for _, n := range []int{f.Arrived, f.Matched, f.TimedOut, f.Cancelled, f.Declined, f.Waiting, f.Pending} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

// short formats a number with the digits that matter.
func short(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

func span(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// dashed formats one of the quantiles, or as "-" if there are none.
func dashed(q Quantiles, v float64) string {
	if q.Count == 0 {
		return "-"
	}
	return short(v)
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*float64(n)/float64(of), 'f', 1, 64) + " %"
}
