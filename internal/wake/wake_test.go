package wake_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/wake"
)

// bench is a loop over a list of deadlines that records when each was served.
type bench struct {
	due    []time.Time
	served []time.Duration
	fail   int
	start  time.Time
	log    strings.Builder
}

func (b *bench) next() time.Time {
	if len(b.due) == 0 {
		return time.Time{}
	}
	return b.due[0]
}

func (b *bench) work(context.Context) error {
	if b.fail > 0 {
		b.fail--
		return errors.New("store is away")
	}
	b.served = append(b.served, time.Since(b.start))
	b.due = b.due[1:]
	return nil
}

func run(t *testing.T, b *bench, whileRunning func(*wake.Loop)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	loop := wake.NewLoop(b.next, b.work).LogTo(slog.New(slog.NewTextHandler(&b.log, nil)), "not served")
	done := make(chan struct{})
	go func() { loop.Run(ctx); close(done) }()
	whileRunning(loop)
	cancel()
	<-done
}

func TestLoop_ServesDeadlinesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		b := &bench{start: now, due: []time.Time{now, now.Add(time.Minute), now.Add(time.Hour)}}
		run(t, b, func(*wake.Loop) { wait.Pass(2 * time.Hour) })
		want := []time.Duration{0, time.Minute, time.Hour}
		for i := range want {
			if i >= len(b.served) || b.served[i] != want[i] {
				t.Fatalf("served at %v, want %v", b.served, want)
			}
		}
	})
}

func TestLoop_NudgeFindsAnEarlierDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{start: time.Now()}
		run(t, b, func(l *wake.Loop) {
			synctest.Wait() // idle: nothing is due
			b.due = append(b.due, b.start.Add(time.Minute))
			l.Nudge()
			wait.Pass(2 * time.Minute)
		})
		if len(b.served) != 1 || b.served[0] != time.Minute {
			t.Fatalf("served at %v, want [1m0s]", b.served)
		}
	})
}

func TestLoop_TriesAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{start: time.Now(), due: []time.Time{time.Now()}, fail: 3}
		run(t, b, func(*wake.Loop) { wait.Pass(time.Minute) })
		if len(b.served) != 1 || b.served[0] != 3*time.Second {
			t.Fatalf("served at %v, want [3s]", b.served)
		}
		if n := strings.Count(b.log.String(), `msg="not served" error="store is away"`); n != 3 {
			t.Errorf("%d failures are logged, want 3:\n%s", n, &b.log)
		}
	})
}

func TestNudge_SignalsAreOneUntilReceived(t *testing.T) {
	n := wake.NewNudge()
	n.Send()
	n.Send()
	<-n
	select {
	case <-n:
		t.Error("two signals were received")
	default:
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if !wake.Sleep(t.Context(), time.Minute) || time.Since(start) != time.Minute {
			t.Errorf("slept for %v", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if wake.Sleep(ctx, time.Minute) {
			t.Error("slept on after the context ended")
		}
		if since := time.Since(start); since != time.Minute+time.Second {
			t.Errorf("returned after %v", since)
		}
		if wake.Sleep(ctx, 0) {
			t.Error("an ended context must end the sleep")
		}
	})
}

func TestEarliest(t *testing.T) {
	var zero time.Time
	soon, late := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range []struct {
		times []time.Time
		want  time.Time
	}{
		{nil, zero}, {[]time.Time{zero, zero}, zero}, {[]time.Time{late, zero, soon}, soon}, {[]time.Time{zero, late}, late},
	} {
		if got := wake.Earliest(c.times...); !got.Equal(c.want) {
			t.Errorf("Earliest(%v) = %v, want %v", c.times, got, c.want)
		}
	}
}
