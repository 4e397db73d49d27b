package app

import (
	"testing"
	"time"
)

// A node that fails to serve a region again and again leaves it to others for longer and longer.
func TestReplacePause(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := replacePause(failures); got != want {
			t.Errorf("after %d failures the pause is %s, want %s", failures, got, want)
		}
	}
}
