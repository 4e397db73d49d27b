// Package wake runs work when its earliest deadline comes, or when it is nudged.
//
// It implements every loop that ends things in time (reservations, activations,
// reconnect grace periods): the state is in the store, a nudge only means "look", and
// a crash needs no recovery because the next start looks first.
package wake

import (
	"context"
	"log/slog"
	"time"
)

// retry is how long a loop waits after its work failed.
const retry = time.Second

// Nudge is a signal to look again. Signals that have not been received yet merge into one.
type Nudge chan struct{}

// NewNudge returns a Nudge.
func NewNudge() Nudge { return make(Nudge, 1) }

// Send signals; it never blocks.
func (n Nudge) Send() {
	select {
	case n <- struct{}{}:
	default:
	}
}

// Loop runs work immediately, then each time the deadline from next passes or Nudge
// is called.
type Loop struct {
	next  func() time.Time
	work  func(context.Context) error
	nudge Nudge
	log   *slog.Logger // nil discards
	what  string
}

// NewLoop returns a loop. next returns the earliest deadline, or the zero time if
// nothing is due; work does what is due now and may leave some for the next call.
func NewLoop(next func() time.Time, work func(context.Context) error) *Loop {
	return &Loop{next: next, work: work, nudge: NewNudge()}
}

// LogTo makes the loop log the errors of its work with a message, and returns the loop.
func (l *Loop) LogTo(log *slog.Logger, message string) *Loop {
	l.log, l.what = log, message
	return l
}

// Nudge makes the loop look again; it never blocks.
func (l *Loop) Nudge() { l.nudge.Send() }

// Run works until ctx ends. After an error, the loop waits a second and tries again.
func (l *Loop) Run(ctx context.Context) { Run(ctx, l.nudge, l.look) }

// look does what is due and returns the next deadline.
func (l *Loop) look(ctx context.Context) time.Time {
	due := l.next()
	if due.IsZero() || due.After(time.Now()) {
		return due
	}
	if err := l.work(ctx); err != nil {
		if l.log != nil && ctx.Err() == nil {
			l.log.Error(l.what, "error", err)
		}
		return time.Now().Add(retry)
	}
	return l.next()
}

// Run calls look immediately, then each time nudge receives a value or the time that
// look last returned has come, until ctx ends. A zero time waits for a nudge only.
//
// No timer is used for what is already due. That saves the timer, and Go 1.26 crashes
// if several goroutines of one synctest bubble receive from expired timers under the
// race detector.
func Run(ctx context.Context, nudge <-chan struct{}, look func(context.Context) time.Time) {
	timer := time.NewTimer(retry)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := look(ctx)
		wait := time.Until(next)
		switch {
		case next.IsZero():
			timer.Stop()
		case wait <= 0:
			continue
		default:
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-nudge:
		}
	}
}

// Sleep waits, and reports whether d passed before ctx ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 { // under the race detector, such a timer can crash Go's virtual time
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// Earliest returns the earliest of some times, or zero. Those that are zero do not count.
func Earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// Passed reports whether a deadline has passed. Zero means that there is none.
func Passed(deadline, now time.Time) bool { return !deadline.IsZero() && !deadline.After(now) }
