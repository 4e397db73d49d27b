package feature

import (
	"errors"
	"testing"
)

// Each level has the release that first knows it, and a program knows no more than it has.
func TestLevels(t *testing.T) {
	before := Known()
	if before.Release() == "" || (before+1).Release() != "" || (First-1).Release() != "" {
		t.Errorf("of the levels up to %d, the last has release %q, and the next %q", before, before.Release(), (before + 1).Release())
	}
	newer, ok := errors.AsType[*Newer](Check(before+1, "v9.0.0"))
	if !ok || newer.Known != before || newer.Release != "v9.0.0" || Check(before, "") != nil {
		t.Errorf("a newer level is %+v", newer)
	}
	Extend("v9.0.0")
	if Known() != before+1 || Known().Release() != "v9.0.0" || Check(before+1, "") != nil {
		t.Errorf("with a level more, the last is %d, of %q", Known(), Known().Release())
	}
}
