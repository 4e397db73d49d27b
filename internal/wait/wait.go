// Package wait is how tests wait: until something holds, with one patience for all tests, or
// for virtual time to pass.
package wait

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// interval is the time between two looks at a condition.
const interval = 10 * time.Millisecond

// Patience returns how long a test waits for what takes a moment on an idle machine, before it
// fails: two minutes, or the seconds in the environment variable MUSTER_TEST_PATIENCE. It panics if
// the variable is not a positive number.
var Patience = sync.OnceValue(func() time.Duration {
	text := os.Getenv("MUSTER_TEST_PATIENCE")
	if text == "" {
		return 2 * time.Minute
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || seconds <= 0 {
		panic(fmt.Sprintf("MUSTER_TEST_PATIENCE=%s: give a positive number of seconds", text))
	}
	return time.Duration(seconds * float64(time.Second))
})

// For waits until condition returns nil. If that takes longer than Patience, For fails the test
// with the last error, which says what condition saw in place of what. Only the goroutine that
// runs the test may call For.
func For(t testing.TB, what string, condition func() error) {
	t.Helper()
	Within(t, Patience(), what, condition)
}

// Within is For with a patience of its own, a multiple of Patience, for what takes longer than a
// moment even on an idle machine.
func Within(t testing.TB, patience time.Duration, what string, condition func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(interval) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v until %s; last: %v", patience, what, err)
		}
	}
}

// Until is For with a condition that has nothing to say about what it sees.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	For(t, what, func() error {
		if holds() {
			return nil
		}
		return fmt.Errorf("it does not hold")
	})
}

// Value waits, as For does, until read returns no error, and returns its value.
func Value[T any](t testing.TB, what string, read func() (T, error)) T {
	t.Helper()
	var value T
	For(t, what, func() (err error) {
		value, err = read()
		return err
	})
	return value
}

// Receive returns the next value of c, and fails the test if none comes within Patience or c is
// closed.
func Receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	timeout := time.NewTimer(Patience())
	defer timeout.Stop()
	select {
	case v, ok := <-c:
		if !ok {
			t.Fatalf("waited for %s: the channel is closed", what)
		}
		return v
	case <-timeout.C:
		t.Fatalf("waited %v for %s: nothing came", Patience(), what)
		panic("unreachable")
	}
}

// Done waits until c is closed or has a value, and fails the test if that takes longer than
// Patience.
func Done[T any](t testing.TB, what string, c <-chan T) {
	t.Helper()
	timeout := time.NewTimer(Patience())
	defer timeout.Stop()
	select {
	case <-c:
	case <-timeout.C:
		t.Fatalf("waited %v for %s", Patience(), what)
	}
}

// Pass lets d pass in the virtual time of a synctest bubble. It panics outside of a bubble,
// where no test may wait for the clock.
func Pass(d time.Duration) {
	// The clock of a bubble begins at midnight UTC of January 1, 2000.
	if time.Now().Year() >= 2020 {
		panic("wait.Pass outside of a synctest bubble")
	}
	time.Sleep(d)
}

// Settle is Pass, and then waits until every other goroutine of the bubble waits for something.
func Settle(d time.Duration) {
	Pass(d)
	synctest.Wait()
}
