package search

import (
	"runtime"
	"time"
)

// Limits bound the effort of a Pool. The zero value of each means its default.
type Limits struct {
	Exact      int // pools of up to this many tickets are searched by the definition, only Work bounds them; default 40, -1 never
	Candidates int // tickets that may join, gathered around one ticket; default 64; 16 times as many are looked at
	Nodes      int // sets tried around one ticket; default 2000
	Placements int // placements judged for one set; default 300
	Work       int // steps of one Pass, after which the rest waits for the next; default 4 million, roughly a second
	Workers    int // parts of the pool searched at a time; the result is the same; default one for each processor, at most 8

	// Clock and Time bound a Pass by time as well, when both are given: what is not
	// searched in Time by the Clock waits for the next. A fifth of it, as of Work,
	// is kept for tickets whose search was cut short before. Several goroutines may
	// read the clock at once.
	Clock func() time.Time
	Time  time.Duration
}

// maxCuts is how often the bounds of a ticket's search are doubled.
const maxCuts = 4

// A placement judged, or a candidate judged by the evaluator, counts as so many
// steps; a set tried is one.
const judgement = 20

func (l Limits) defaults() Limits {
	for _, d := range []struct {
		at    *int
		value int
	}{{&l.Exact, 40}, {&l.Candidates, 64}, {&l.Nodes, 2000}, {&l.Placements, 300}, {&l.Work, 4_000_000}, {&l.Workers, min(8, runtime.GOMAXPROCS(0))}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	return l
}
