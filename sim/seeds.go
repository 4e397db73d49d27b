package sim

import (
	"fmt"
	"math"
)

// Seeds are the figures of a rule set over several runs, each with players of another seed, or
// over stretches of a trace.
type Seeds struct {
	Runs    int      `json:"runs"` // or stretches
	Figures []Figure `json:"figures"`

	Played PlayedTimes `json:"player_minutes"` // of all runs
}

// Figure is a measure over all runs.
type Figure struct {
	Name     string    `json:"name"`
	Unit     string    `json:"unit,omitzero"`
	Mean     float64   `json:"mean"`
	Interval *Interval `json:"interval,omitzero"` // 95 % confidence of the mean; nil if fewer than two runs have the measure
	Least    float64   `json:"least"`             // of one run
	Most     float64   `json:"most"`
}

// Repeat plays a simulation as often as runs says, at most MaxRuns times, with seeds from
// o.Seed on; a trace is played once and divided into as many stretches. The report is that of
// the first seed, with Seeds of all. begin is as for Versus.
func Repeat(o Options, runs int, begin func(done, all int)) (*Report, error) {
	seeds := max(1, min(runs, MaxRuns))
	if o.Trace != nil {
		o.Stretches, seeds = seeds, 1
	}
	var first *Report
	var parts []*batch
	var played PlayedTimes
	for i := range seeds {
		if begin != nil {
			begin(i, seeds)
		}
		r, err := Run(o)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = r
		}
		parts = append(parts, r.batches...)
		played.Waiting += r.Played.Waiting
		played.Playing += r.Played.Playing
		o.Seed++
	}
	first.Seeds = &Seeds{Runs: len(parts), Figures: []Figure{}, Played: played}
	for _, m := range measures(first, first) {
		if f, ok := m.figure(parts); ok {
			first.Seeds.Figures = append(first.Seeds.Figures, f)
		}
	}
	return first, nil
}

// figure returns false if no part has the measure.
func (m *measure) figure(parts []*batch) (Figure, bool) {
	f := Figure{Name: m.name, Unit: m.unit, Least: math.Inf(1), Most: math.Inf(-1)}
	var values []float64
	for _, b := range parts {
		if v := m.of(b); !math.IsNaN(v) {
			values = append(values, v)
			f.Least, f.Most = min(f.Least, v), max(f.Most, v)
		}
	}
	if len(values) == 0 {
		return f, false
	}
	f.Mean, f.Interval = mean(values)
	f.Least, f.Most = round(f.Least), round(f.Most)
	return f, true
}

// table returns the figures as a table.
func (s *Seeds) table(ofTrace bool) section {
	parts := "seeds"
	if ofTrace {
		parts = "stretches of the trace"
	}
	out := section{
		Title: fmt.Sprintf("Over %d %s", s.Runs, parts), Head: []string{"", "mean", "95 % interval", "least", "most"},
		Text: "The interval has the true mean 95 times in 100. The tables that follow are of the first seed alone.",
	}
	if ofTrace {
		out.Text = "The interval has the true mean 95 times in 100. The tables that follow are of the whole trace."
	}
	for _, f := range s.Figures {
		between := "-"
		if f.Interval != nil {
			between = short(f.Interval.Low) + " to " + short(f.Interval.High)
		}
		out.Rows = append(out.Rows, []string{label(f.Name, f.Unit), short(f.Mean), between, short(f.Least), short(f.Most)})
	}
	return out
}
