package awsrpc

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// within calls f with the context of a call that may take a minute.
func within(t *testing.T, f func(ctx *callContext, hangUp func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		request, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		c := &call{server: &Server{options: Options{Timeout: time.Minute}}, request: httptest.NewRequest("POST", "/", nil).WithContext(request)}
		c.ctx.begin(c)
		defer c.ctx.end()
		f(&c.ctx, hangUp)
	})
}

func wantErr(t *testing.T, ctx context.Context, want error) {
	t.Helper()
	synctest.Wait()
	if err := ctx.Err(); !errors.Is(err, want) || (err == nil) != (want == nil) {
		t.Errorf("the context's error is %v, want %v", err, want)
	}
	select {
	case <-ctx.Done():
		if want == nil {
			t.Error("the context is done")
		}
	default:
		if want != nil {
			t.Error("the context is not done")
		}
	}
}

// The context of a handler ends at its deadline, whether somebody waits for that or looks
// afterward, and so do the contexts derived from it.
func TestCallContext_Deadline(t *testing.T) {
	within(t, func(ctx *callContext, _ func()) {
		derived, cancel := context.WithCancel(context.WithValue(ctx, t, 1))
		defer cancel()
		wait.Pass(time.Minute - time.Nanosecond)
		wantErr(t, derived, nil)
		wait.Pass(time.Nanosecond)
		wantErr(t, ctx, context.DeadlineExceeded)
		wantErr(t, derived, context.DeadlineExceeded)
	})
	within(t, func(ctx *callContext, _ func()) {
		wait.Pass(time.Hour)
		wantErr(t, ctx, context.DeadlineExceeded)
		if at, ok := ctx.Deadline(); !ok || time.Since(at) != 59*time.Minute {
			t.Errorf("the deadline was at %v, %t", at, ok)
		}
	})
}

// It ends when the client hangs up, and when the handler has returned.
func TestCallContext_Ends(t *testing.T) {
	for _, waited := range []bool{false, true} {
		within(t, func(ctx *callContext, hangUp func()) {
			if waited {
				ctx.Done()
			}
			hangUp()
			wantErr(t, ctx, context.Canceled)
		})
		within(t, func(ctx *callContext, _ func()) {
			if waited {
				ctx.Done()
			}
			ctx.end()
			wantErr(t, ctx, context.Canceled)
			wantErr(t, context.WithoutCancel(ctx), nil)
		})
	}
}

// It has no timer, and starts no goroutine for derived contexts, until somebody waits; it
// may be used by several goroutines.
func TestCallContext_Lean(t *testing.T) {
	within(t, func(ctx *callContext, _ func()) {
		if ctx.Err() != nil || ctx.Value(t) != nil || ctx.Value(callKey{}) != ctx.call || ctx.timed != nil {
			t.Errorf("reading made a timer, or the values are wrong: %+v", ctx)
		}
		var using sync.WaitGroup
		for range 4 {
			using.Go(func() {
				derived, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				<-derived.Done()
				if !errors.Is(derived.Err(), context.DeadlineExceeded) {
					t.Error(derived.Err())
				}
			})
		}
		using.Wait()
		wantErr(t, ctx, nil)
	})
}
