package bots

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Report is the result of all bots. Scripts rely on its JSON form; times are in
// milliseconds.
type Report struct {
	Players  int            `json:"players"`
	Played   int            `json:"played"` // bots that played all their games
	Failed   int            `json:"failed"`
	Attempts int            `json:"attempts"`
	Lost     int            `json:"lost"` // games that disappeared while a bot played
	Wait     Wait           `json:"wait"` // of the bots that played, for their last game
	TookMS   int64          `json:"took_ms"`
	Failures map[string]int `json:"failures"` // bots, by their last obstacle
}

// Wait is how long bots waited from the request to being admitted, in milliseconds.
type Wait struct {
	P50 int64 `json:"p50_ms"`
	P95 int64 `json:"p95_ms"`
	P99 int64 `json:"p99_ms"`
	Max int64 `json:"max_ms"`
}

func report(outcomes []Outcome, took time.Duration) Report {
	r := Report{Players: len(outcomes), TookMS: took.Milliseconds(), Failures: map[string]int{}}
	var waits []time.Duration
	for _, o := range outcomes {
		r.Attempts += o.Attempts
		r.Lost += o.Lost
		if o.Failure != "" {
			r.Failed++
			r.Failures[o.Failure]++
			continue
		}
		r.Played++
		waits = append(waits, o.Waited)
	}
	slices.Sort(waits)
	at := func(share float64) int64 {
		if len(waits) == 0 {
			return 0
		}
		return waits[int(share*float64(len(waits)-1))].Milliseconds()
	}
	r.Wait = Wait{P50: at(0.5), P95: at(0.95), P99: at(0.99), Max: at(1)}
	return r
}

// Write writes the report for people.
func (r Report) Write(w io.Writer) {
	took := time.Duration(r.TookMS) * time.Millisecond
	fmt.Fprintf(w, "%d of %d bots played, in %v; %d attempts, %d games lost on the way\n",
		r.Played, r.Players, took.Round(100*time.Millisecond), r.Attempts, r.Lost)
	if r.Played > 0 {
		fmt.Fprintf(w, "from asking to playing: half within %d ms, 95 %% within %d ms, 99 %% within %d ms, all within %d ms\n",
			r.Wait.P50, r.Wait.P95, r.Wait.P99, r.Wait.Max)
	}
	for _, why := range slices.Sorted(maps.Keys(r.Failures)) {
		fmt.Fprintf(w, "%d failed: %s\n", r.Failures[why], why)
	}
}
