// Package wake runs work when its earliest deadline comes, or when it is nudged.
//
// It is the shape of every loop that ends things in time (reservations,
// activations, reconnect graces): the truth is in the store, a nudge only says
// "look", and a crash needs no recovery because the next start looks first.
package wake

import (
	"context"
	"time"
)

// retry is how long a loop waits after its work failed.
const retry = time.Second

// Loop calls Work at once, then each time Next's deadline passes or Nudge is called.
type Loop struct {
	next  func() time.Time
	work  func(context.Context) error
	nudge chan struct{}
}

// NewLoop makes a loop. next gives the earliest deadline, or the zero time when
// nothing is due; work does what is due now and may leave some for the next call.
func NewLoop(next func() time.Time, work func(context.Context) error) *Loop {
	return &Loop{next: next, work: work, nudge: make(chan struct{}, 1)}
}

// Nudge makes the loop look again; it never blocks.
func (l *Loop) Nudge() {
	select {
	case l.nudge <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. Errors of work are work's to report; the loop waits
// a second and tries again.
func (l *Loop) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-l.nudge:
		}
		if !l.look(ctx, timer) {
			return
		}
	}
}

// look does what is due and sets the timer for what comes next.
func (l *Loop) look(ctx context.Context, timer *time.Timer) bool {
	due := l.next()
	if !due.IsZero() && !due.After(time.Now()) {
		if err := l.work(ctx); err != nil {
			timer.Reset(retry)
			return ctx.Err() == nil
		}
		due = l.next()
	}
	if due.IsZero() {
		timer.Stop()
	} else {
		timer.Reset(max(0, time.Until(due)))
	}
	return true
}
