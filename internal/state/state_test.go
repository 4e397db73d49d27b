package state_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/state"
)

type status string

var moves = state.Machine[status]{{"", "OPEN"}: "created", {"OPEN", "SHUT"}: "closed"}

func TestMove(t *testing.T) {
	t.Parallel()
	var s status
	moves.Move(&s, "OPEN", "door-1")
	moves.Move(&s, "SHUT", "door-1")
	if s != "SHUT" {
		t.Errorf("status is %q, want SHUT", s)
	}
}

func TestMove_PanicsIfNotListed(t *testing.T) {
	t.Parallel()
	s := status("SHUT")
	defer func() {
		text, _ := recover().(string)
		for _, part := range []string{"door-1", `"SHUT"`, `"OPEN"`, "status"} {
			if !strings.Contains(text, part) {
				t.Errorf("panic %q does not contain %s", text, part)
			}
		}
		if s != "SHUT" {
			t.Errorf("status is %q after the refused move", s)
		}
	}()
	moves.Move(&s, "OPEN", "door-1")
}
