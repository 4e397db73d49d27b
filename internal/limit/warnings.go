package limit

import (
	"log/slog"
	"sync"
	"time"
)

const (
	warnEvery  = time.Minute
	maxWarning = 4096 // subjects that are counted separately
)

// Warnings logs warnings of which unauthenticated clients could cause any number: for
// each subject the first immediately, then once a minute the latest with the number of
// others.
type Warnings struct {
	log *slog.Logger

	mu sync.Mutex
	of map[subject]*warning
}

// subject identifies alike warnings: the message, and the client that caused it.
type subject struct{ message, from string }

// warning is what has not been written yet.
type warning struct {
	more int
	args []any // of the latest warning
}

// NewWarnings returns Warnings that write to a log.
func NewWarnings(log *slog.Logger) *Warnings {
	return &Warnings{log: log, of: map[subject]*warning{}}
}

// Warn writes a warning, or counts it. Warnings with the same message and the same
// from, such as an address, have the same subject.
func (w *Warnings) Warn(from, message string, args ...any) {
	if w.first(from, message, args) {
		w.log.Warn(message, args...)
	}
}

// first reports whether a warning should be written now; otherwise it counts it.
func (w *Warnings) first(from, message string, args []any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.of) >= maxWarning && w.of[subject{message, from}] == nil {
		from = "" // the excess is counted together
	}
	s := subject{message, from}
	if held := w.of[s]; held != nil {
		held.more, held.args = held.more+1, args
		return false
	}
	w.of[s] = &warning{}
	time.AfterFunc(warnEvery, func() { w.rest(s) })
	return true
}

// rest writes the latest of the warnings since the last one was written, with their
// number, and removes a subject without any.
func (w *Warnings) rest(s subject) {
	w.mu.Lock()
	held := *w.of[s]
	if held.more == 0 {
		delete(w.of, s)
		w.mu.Unlock()
		return
	}
	*w.of[s] = warning{}
	time.AfterFunc(warnEvery, func() { w.rest(s) })
	w.mu.Unlock()
	w.log.Warn(s.message, append(held.args, "alike_in_the_last_minute", held.more)...)
}
