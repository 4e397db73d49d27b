package sim

import (
	"fmt"
	"strconv"
)

// Comparison compares two reports, which have the same players and seed but different
// rule sets.
type Comparison struct {
	A    *Report `json:"a"`
	B    *Report `json:"b"`
	Rows []Row   `json:"rows"`
}

// Row compares one measure.
type Row struct {
	Name  string  `json:"name"`
	A     float64 `json:"a"`
	B     float64 `json:"b"`
	Delta float64 `json:"delta"` // B minus A

	// Better is higher, lower, or "" if neither is better in general.
	Better string `json:"better,omitzero"`
}

// Compare returns the comparison of two reports.
func Compare(a, b *Report) *Comparison {
	c := &Comparison{A: a, B: b}
	share := func(n, of int) float64 { return round(100 * float64(n) / float64(max(of, 1))) }
	c.row("tickets matched, %", "higher", func(r *Report) float64 { return share(r.Tickets.Matched, r.Tickets.Arrived) })
	c.row("tickets timed out, %", "lower", func(r *Report) float64 { return share(r.Tickets.TimedOut, r.Tickets.Arrived) })
	c.row("tickets cancelled, %", "lower", func(r *Report) float64 { return share(r.Tickets.Cancelled, r.Tickets.Arrived) })
	c.row("wait mean, s", "lower", func(r *Report) float64 { return r.Wait.Mean })
	c.row("wait p50, s", "lower", func(r *Report) float64 { return r.Wait.P50 })
	c.row("wait p90, s", "lower", func(r *Report) float64 { return r.Wait.P90 })
	c.row("wait p99, s", "lower", func(r *Report) float64 { return r.Wait.P99 })
	c.row("matches", "", func(r *Report) float64 { return float64(r.Matches.Formed) })
	c.row("full matches, %", "higher", func(r *Report) float64 { return share(r.Matches.Full, r.Matches.Formed) })
	c.row("refused matches", "lower", func(r *Report) float64 { return float64(r.Matches.Refused) })
	c.row("latency p50, ms", "lower", func(r *Report) float64 { return r.Latency.P50 })
	c.row("latency p90, ms", "lower", func(r *Report) float64 { return r.Latency.P90 })
	for i, s := range a.Attributes {
		if i >= len(b.Attributes) || b.Attributes[i].Name != s.Name {
			continue
		}
		c.row(s.Name+" spread p90", "lower", func(r *Report) float64 { return r.Attributes[i].Spread.P90 })
		c.row(s.Name+" of teams p90", "lower", func(r *Report) float64 { return r.Attributes[i].Teams.P90 })
	}
	c.row("searches cut short", "lower", func(r *Report) float64 { return float64(r.Effort.Cut) })
	return c
}

func (c *Comparison) row(name, better string, of func(*Report) float64) {
	a, b := of(c.A), of(c.B)
	c.Rows = append(c.Rows, Row{Name: name, A: a, B: b, Delta: round(b - a), Better: better})
}

// Verdict returns better, worse or same for B, or "" if neither is better in general.
func (r Row) Verdict() string {
	switch {
	case r.Better == "":
		return ""
	case r.Delta == 0:
		return "same"
	case (r.Delta > 0) == (r.Better == "higher"):
		return "better"
	}
	return "worse"
}

func signed(v float64) string {
	if v < 0 {
		return "-" + short(-v)
	}
	return "+" + short(v)
}

func change(r Row) string {
	if r.A == 0 {
		return "-"
	}
	return fmt.Sprintf("%+s %%", strconv.FormatFloat(100*r.Delta/r.A, 'f', 1, 64))
}
