package state_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/state"
)

type status string

var moves = state.Machine[status]{{"", "OPEN"}: "created", {"OPEN", "SHUT"}: "closed"}

// A move that is listed is made; another one panics, and names what it was about.
func TestMove(t *testing.T) {
	t.Parallel()
	var s status
	moves.Move(&s, "OPEN", "door-1")
	moves.Move(&s, "SHUT", "door-1")
	defer func() {
		text, _ := recover().(string)
		for _, part := range []string{"door-1", `"SHUT"`, `"OPEN"`, "status"} {
			if !strings.Contains(text, part) {
				t.Errorf("panic %q does not contain %s", text, part)
			}
		}
		if s != "SHUT" {
			t.Errorf("status is %q after the refused move, want SHUT", s)
		}
	}()
	moves.Move(&s, "OPEN", "door-1")
}
