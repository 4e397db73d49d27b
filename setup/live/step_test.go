package live

import (
	"errors"
	"strings"
	"testing"

	"github.com/musterhq/muster/setup"
	"github.com/musterhq/muster/test/node"
)

// Whatever step of a deployment fails, the last line says which command goes on or undoes it.
func TestRolling_Commands(t *testing.T) {
	const rollback, promote, drain, same = "'muster deploy --rollback --fleet \"the arena\"'", "'muster deploy --promote --fleet \"the arena\"'", "'muster deploy --drain --fleet \"the arena\"'", "ame command"
	for at, commands := range map[rolling][]string{
		{at: untouched}: {same}, {at: updating}: {same}, {at: creating}: {same}, {at: found}: {same, rollback}, {at: beside}: {same, rollback}, {at: leading}: {promote, rollback}, {at: takingOut}: {rollback},
		{at: takenOut}: {}, {at: moving}: {promote, rollback}, {at: moved}: {promote, rollback}, {at: draining}: {drain, rollback},
		{at: returning, back: true}: {rollback}, {at: moving, back: true}: {rollback}, {at: moved, back: true}: {rollback}, {at: draining, back: true}: {drain, rollback},
	} {
		at.fleet = "the arena"
		cause := errors.New("cause")
		err := at.explained(cause)
		first, last, _ := strings.Cut(err.Error(), "\n")
		if !errors.Is(err, cause) || first != "cause" || !strings.HasPrefix(last, "State: ") || strings.Contains(last, "\n") || strings.Contains(last, "%!") {
			t.Errorf("%+v: %v", at, err)
		}
		for _, c := range []string{rollback, promote, drain, same} {
			named := false
			for _, want := range commands {
				named = named || want == c
			}
			if strings.Contains(last, c) != named {
				t.Errorf("%+v: that it names %s is not %v: %s", at, c, named, last)
			}
		}
	}
	if err := (&rolling{}).explained(nil); err != nil {
		t.Error(err)
	}
}

// A promotion knows whether something may lead to the new fleet already.
func TestRolling_Promotion(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]step{1: moving, 2: moving, 3: moving, 4: moved, 5: moved, 6: draining} { // the alias, two queues, two names
		g := newGame(t, node.InProcess(t, nil).URL())
		m := g.begin(g.killed(at, false))
		m.rolling = &rolling{fleet: "arena", at: leading}
		if err := m.promote(t.Context(), "arena", setup.NextName("arena")); (err != nil) != (at < 6) {
			t.Fatal(err)
		}
		if m.rolling.at != want {
			t.Errorf("killed at change %d it is at step %d, want %d", at, m.rolling.at, want)
		}
	}
}

// The error of a deployment does not count changes, as that of an application does: it is of one
// fleet.
func TestCarrying_Error(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rolling *rolling
		want    string
	}{
		"apply":  {nil, "1 of 2 changes is not made:\nreplace fleet game: cause\nAll that does not need them is done. Remove the causes and run the command again: it does the rest"},
		"deploy": {&rolling{fleet: "game"}, "replace fleet game: cause"},
	} {
		all := &carrying{maker: &maker{rolling: c.rolling}, all: 2, failures: []failure{{setup.Action{Kind: setup.FleetKind, Name: "game", Op: setup.Replace}, errors.New("cause")}}}
		if got := all.err().Error(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
