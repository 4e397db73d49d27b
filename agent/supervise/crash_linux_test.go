package supervise_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

// TestSuccessor_StartsNoDoubles kills supervisors while they launch, each at another
// point, and checks that their successor ends up with one process and that no other
// puppet lives.
func TestSuccessor_StartsNoDoubles(t *testing.T) {
	t.Parallel()
	stage, dir := newStage(t), t.TempDir()
	for round := range 10 {
		supervisor := startReaper(t, dir, stage)
		awaitRecord(t, filepath.Join(dir, "state"), "slot-0.json")
		spin(round * round * 5)
		kill(t, supervisor)

		tr := newTroupe(t, options(dir, stage.listener.Addr().String(), "puppet")).start(t)
		known := (<-tr.started).PID
		if living := puppets(t, dir); !slices.Equal(living, []int{known}) {
			t.Errorf("round %d: processes %v live, the supervisor knows %d", round, living, known)
		}
		if err := tr.Stop(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRecord returns once the supervisor has begun a launch.
func awaitRecord(t *testing.T, dir, name string) {
	t.Helper()
	for t.Context().Err() == nil {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return
		}
		runtime.Gosched()
	}
}

// spin spends time that grows with turns, without waiting for anything.
func spin(turns int) {
	for range turns {
		runtime.Gosched()
	}
}

// puppets lists the processes that are puppets of the test with the directory.
func puppets(t *testing.T, dir string) []int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil { // it has ended in the meantime
			continue
		}
		if bytes.Contains(environ, []byte(modeVariable+"=puppet\x00")) && bytes.Contains(environ, []byte("GOCOVERDIR="+dir+"\x00")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
