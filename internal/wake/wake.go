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
func (l *Loop) Run(ctx context.Context) { Run(ctx, l.nudge, l.look) }

// look does what is due and tells what comes next.
func (l *Loop) look(ctx context.Context) time.Time {
	due := l.next()
	if due.IsZero() || due.After(time.Now()) {
		return due
	}
	if err := l.work(ctx); err != nil {
		return time.Now().Add(retry)
	}
	return l.next()
}

// Run calls look at once, then each time nudge is sent to or the time that look
// last gave has come, until ctx ends. A zero time waits for a nudge alone.
//
// No timer is made for what is due already. That saves the timer, and Go 1.26
// crashes where several goroutines of one synctest bubble receive from expired
// timers under the race detector.
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
