package pages

import (
	"net/url"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// resolution is the length of the steps of time series, and how many of them are kept.
type resolution struct {
	name  string // in the ids of saved rows
	step  time.Duration
	kept  int   // the step that has not ended included
	inRow int64 // steps in a saved row
}

// resolutions are the steps in which everything is recorded, from the finest.
var resolutions = [...]resolution{
	{"10s", 10 * time.Second, 361, 6},
	{"5m", 5 * time.Minute, 289, 1},
	{"30m", 30 * time.Minute, 337, 1},
}

// fine, middle and coarse are places in resolutions.
const (
	fine = iota
	middle
	coarse
)

// number returns the number of the step since 1970 in which a time is.
func (r *resolution) number(at time.Time) int64 { return at.UnixNano() / int64(r.step) }

// start returns when a step begins.
func (r *resolution) start(number int64) time.Time { return time.Unix(0, number*int64(r.step)).UTC() }

// row returns the number of the saved row in which a step is.
func (r *resolution) row(number int64) int64 { return number / r.inRow }

// rows returns how many rows are saved.
func (r *resolution) rows() int64 { return (int64(r.kept) + r.inRow - 1) / r.inRow }

// Range is how far back the series and sums of a page go.
type Range struct {
	in    int // the resolution
	steps int // that have ended
	each  int // steps for one quantile
}

// ranges are all ranges by their names.
var ranges = map[string]Range{
	"15m": {fine, 90, 6},
	"1h":  {fine, 360, 6},
	"24h": {middle, 288, 3},
	"7d":  {coarse, 336, 4},
}

// Hour is the range of pages that ask for none.
var Hour = ranges["1h"]

// rangeOf returns the range of a page's parameters. Errors: InvalidRequest.
func rangeOf(q url.Values) (Range, error) {
	name := q.Get("range")
	if name == "" {
		return Hour, nil
	}
	s, ok := ranges[name]
	if !ok {
		return s, fault.Invalid("range: %.40q is none of 15m, 1h, 24h and 7d", name)
	}
	return s, nil
}
