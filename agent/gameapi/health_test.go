package gameapi

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/musterhq/muster/internal/wait"
)

// What a program says of its health outlives the agent. Only changes are stored, at most one
// a second, and nothing else is written for them.
func TestProcess_KeepsItsHealth(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "game.json")
	synctest.Test(t, func(t *testing.T) {
		admit := func() *Process {
			return newProcess(Admission{ProcessID: "a", Token: "token-a", State: state}, nil, nil, nil, slog.New(slog.DiscardHandler))
		}
		say := func(p *Process, healthy bool) { p.health(HealthRequest{&healthy}) }
		file := func(path string) os.FileInfo {
			info, err := os.Stat(path)
			if err != nil {
				return nil
			}
			return info
		}
		p := admit()
		p.change(func(*kept) {})
		version, whole := p.kept.Version, file(state)
		ill := func(want bool) {
			t.Helper()
			if got := file(illFile(state)) != nil; got != want {
				t.Errorf("stored as ill: %v, want %v", got, want)
			}
			if p.kept.Version != version || !os.SameFile(file(state), whole) {
				t.Error("the rest of the state was written for a report of health")
			}
		}
		say(p, true)
		ill(false)
		say(p, false)
		ill(true)
		first := file(illFile(state))
		for range 100 { // the disk hears nothing of all of these
			say(p, true)
			ill(true)
			say(p, false)
		}
		wait.Pass(2 * keepEvery)
		synctest.Wait()
		if ill(true); !os.SameFile(first, file(illFile(state))) {
			t.Error("a report without a change was stored")
		}
		p.close()
		p = admit()
		if p.Healthy() {
			t.Error("the next agent takes it for healthy")
		}
		say(p, true)
		ill(false)
		say(p, false)
		ill(false)
		wait.Pass(2 * keepEvery)
		synctest.Wait()
		ill(true)
		say(p, true)
		synctest.Wait()
		ill(false)
		say(p, false)
		p.close() // stores what is new
		ill(true)
		other := newProcess(Admission{ProcessID: "b", Token: "token-b", State: state}, nil, nil, nil, slog.New(slog.DiscardHandler))
		if !other.Healthy() {
			t.Error("another process has its health")
		}
		other.close()
	})
	if err := RemoveState(state); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Dir(state) + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
