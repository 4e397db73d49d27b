package search

import (
	"runtime"
	"time"
)

// Limits bounds the effort of a Pool. A zero member means its default.
type Limits struct {
	Exact      int // pools of up to this many tickets are searched exhaustively, bounded only by Work; default 40, -1 for never
	Candidates int // candidates gathered around one ticket; default 64; up to 16 times as many are examined
	Nodes      int // sets tried around one ticket; default 2000
	Placements int // placements judged for one set; default 300
	Work       int // steps of one Pass, after which the rest is left to the next; default 4 million, roughly a second
	Workers    int // parts of the pool searched concurrently, without effect on the result; default one per processor, at most 8

	// Clock and Time, if both are set, also bound a Pass by time: the search that is not
	// done after Time is left to the next. A fifth of Time, as of Work, is reserved for
	// tickets whose search was cut short before. Clock must be safe for concurrent use.
	Clock func() time.Time
	Time  time.Duration
}

// maxCuts is how often the bounds of a ticket's search may be doubled.
const maxCuts = 4

// judgement is the cost in steps of judging a placement, or a candidate by the evaluator.
// Trying a set costs one step.
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
