package flexmatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/wait"
)

// counting computes 1, 2, 3, …, each in 100 ms, unless it is canceled.
type counting struct{ begun, ended, canceled int }

func (c *counting) next(ctx context.Context) (int, time.Duration, error) {
	c.begun++
	n := c.begun
	select {
	case <-time.After(100 * time.Millisecond):
		c.ended++
		return n, 100 * time.Millisecond, nil
	case <-ctx.Done():
		c.canceled++
		return 0, 0, ctx.Err()
	}
}

// Those who ask at the same time get one answer, as do those who ask while it is valid. A
// caller whose context ends returns at once, and the last of them ends the computation.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		var c counting
		got := make(chan int, 10)
		ask := func(ctx context.Context) {
			go func() {
				n, err := s.get(ctx, "a", c.next)
				if err != nil {
					n = -1
				}
				got <- n
			}()
		}
		ask(t.Context())
		gives, up := context.WithCancel(t.Context())
		ask(gives)
		ask(t.Context())
		wait.Settle(50 * time.Millisecond)
		up()
		synctest.Wait()
		if n := <-got; n != -1 || c.canceled != 0 {
			t.Errorf("who gives up gets %d; %d computations were canceled", n, c.canceled)
		}
		if a, b := <-got, <-got; a != 1 || b != 1 || c.begun != 1 {
			t.Errorf("got %d and %d of %d computations", a, b, c.begun)
		}
		wait.Pass(4900 * time.Millisecond)
		if n, err := s.get(t.Context(), "a", c.next); n != 1 || err != nil {
			t.Errorf("while the answer is valid: %d, %v", n, err)
		}
		wait.Pass(100 * time.Millisecond)
		if n, err := s.get(t.Context(), "a", c.next); n != 2 || err != nil {
			t.Errorf("when it is valid no more: %d, %v", n, err)
		}

		wait.Pass(time.Minute)
		gives, up = context.WithCancel(t.Context())
		ask(gives)
		ask(gives)
		synctest.Wait()
		up()
		if a, b := <-got, <-got; a != -1 || b != -1 {
			t.Errorf("who give up get %d and %d", a, b)
		}
		synctest.Wait()
		if c.begun != 3 || c.canceled != 1 || len(s.m) != 0 {
			t.Errorf("of %d computations %d were canceled; %d are kept", c.begun, c.canceled, len(s.m))
		}
		if n, err := s.get(t.Context(), "a", c.next); n != 4 || err != nil {
			t.Errorf("after one that was canceled: %d, %v", n, err)
		}
	})
}

// A failure is returned to all who asked, and not kept for later callers.
func TestShared_Fails(t *testing.T) {
	var s shared[int]
	broken := errors.New("broken")
	if _, err := s.get(t.Context(), "a", func(context.Context) (int, time.Duration, error) { return 0, time.Hour, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := s.get(t.Context(), "a", func(context.Context) (int, time.Duration, error) { panic("sample of none") }); err == nil || !strings.Contains(err.Error(), "panic: sample of none") {
		t.Error(err)
	}
	if n, err := s.get(t.Context(), "a", func(context.Context) (int, time.Duration, error) { return 7, 0, nil }); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
