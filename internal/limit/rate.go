package limit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is how often something may happen: a number of times per second in the long run,
// and a number of times in a burst.
type Rate struct {
	PerSecond float64 // 0 or less means no limit
	Burst     int     // at least 1 if there is a limit
}

// Off is the absence of a limit.
var Off = Rate{}

// burstSeconds is how many seconds' worth a burst has by default.
const burstSeconds = 10

// Parse parses a rate: a number per second, optionally followed by a colon and the
// burst (default ten seconds' worth), or "off".
func Parse(text string) (Rate, error) {
	if text == "off" {
		return Off, nil
	}
	perSecond, burst, given := strings.Cut(text, ":")
	n, err := strconv.ParseFloat(perSecond, 64)
	if err != nil || !(n > 0 && n <= 1e9) {
		return Off, fmt.Errorf("%q is no rate: write a number a second above 0, such as 50 or 0.5, with a colon and how many at once if that matters (50:200), or off", text)
	}
	r := Rate{PerSecond: n, Burst: int(math.Ceil(n * burstSeconds))}
	if given {
		if r.Burst, err = strconv.Atoi(burst); err != nil || r.Burst < 1 {
			return Off, fmt.Errorf("%q is no rate: how many at once, after the colon, is a number of at least 1", text)
		}
	}
	return r, nil
}

// String returns the rate in the form used in messages.
func (r Rate) String() string {
	if r.PerSecond <= 0 {
		return "any number"
	}
	return fmt.Sprintf("%s a second, %d at once", strconv.FormatFloat(r.PerSecond, 'g', 6, 64), r.Burst)
}

// refill returns how long an empty bucket takes to fill up.
func (r Rate) refill() time.Duration {
	return seconds(float64(r.Burst) / r.PerSecond)
}

// seconds returns n seconds as a duration, rounded up and at most 292 years.
func seconds(n float64) time.Duration {
	if n >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(math.Ceil(n * float64(time.Second)))
}
