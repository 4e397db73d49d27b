package notify

import "time"

// Pauses between attempts.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// backoff is the pause before the next attempt after so many failures in a row:
// it doubles from a second to a minute, and chance (0 ≤ chance < 1) takes up to
// half of it away, so that sinks that failed together do not come back together.
func backoff(failures int, chance float64) time.Duration {
	if failures <= 0 {
		return 0
	}
	pause := longPause
	if failures <= 6 { // the seventh doubling would pass the minute
		pause = firstPause << (failures - 1)
	}
	return pause - time.Duration(chance*float64(pause)/2)
}
