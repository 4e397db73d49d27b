package notify

import "time"

// Pauses between attempts.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// backoff returns the pause before the next attempt after a number of consecutive
// failures. It doubles from a second to a minute; chance (0 ≤ chance < 1) takes away up
// to half of it, so that sinks that failed together do not retry together.
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
