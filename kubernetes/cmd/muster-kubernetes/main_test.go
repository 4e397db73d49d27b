package main

import (
	"context"
	"errors"
	"testing"
)

// A replica that loses the Lease ends with an error, and one that is told to end without.
func TestOutcome(t *testing.T) {
	t.Parallel()
	told, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	for _, c := range []struct {
		asked context.Context
		ended error
		want  error
	}{{t.Context(), nil, errDeposed}, {told, nil, nil}, {t.Context(), broken, broken}, {told, broken, broken}} {
		if got := outcome(c.asked, c.ended); got != c.want {
			t.Errorf("told: %t, the work ended with %v: %v, want %v", c.asked.Err() != nil, c.ended, got, c.want)
		}
	}
}
