package supervise_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/supervise"
)

func TestSupervisor_ReplacesARunThatEnds(t *testing.T) {
	t.Parallel()
	stage, tr := perform(t, nil)
	first := stage.next()
	if r := <-tr.started; r.ID != first.id || r.PID != first.pid {
		t.Fatalf("got run %+v, puppet %+v", r, first)
	}
	first.ask("stderr out of memory")
	first.exit(3)
	e := <-tr.exited
	if e.ID != first.id || !e.Known || e.Code != 3 || !slices.Equal(e.Tail, []string{"out of memory"}) || e.String() != "ended with code 3" {
		t.Errorf("got end %+v", e)
	}
	again := stage.next()
	if r := <-tr.started; r.ID != again.id || again.id == first.id || r.PID != again.pid {
		t.Errorf("got run %+v, puppet %+v", r, again)
	}
	if r, ok := tr.Running(); !ok || r.ID != again.id {
		t.Errorf("running: %+v, %v", r, ok)
	}
}

func TestSupervisor_GivesRunsTheirOwnWorld(t *testing.T) {
	t.Parallel()
	stage, tr := perform(t, func(o *supervise.Options) {
		launch := o.Spec.Launch
		o.Spec.Launch = func(cmd *exec.Cmd, id string) error {
			cmd.Args = append(cmd.Args, "--id", id)
			return launch(cmd, id)
		}
	})
	p := stage.next()
	if got := p.ask("args"); got != "--id "+p.id {
		t.Errorf("got arguments %q", got)
	}
	if got := p.ask("env"); strings.Count(got, "=") != 4 || !strings.Contains(got, "MUSTER_RUN_ID="+p.id) {
		t.Errorf("got environment %q", got)
	}
	p.ask("stdout hello")
	r := <-tr.started
	if got, err := os.ReadFile(r.Stdout); err != nil || string(got) != "hello\n" {
		t.Errorf("got stdout %q, %v", got, err)
	}
}

func TestStop_AsksThenKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, prepare, signal string
		grace                 time.Duration
		done                  bool // the context of the stop
	}{
		{"willing", "stdout hello", "SIGTERM", time.Hour, false},
		{"stubborn", "ignore", "SIGKILL", time.Millisecond, false},
		{"stubborn, and nobody waits", "ignore", "SIGKILL", time.Hour, true},
		{"not asked", "stdout hello", "SIGKILL", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stage, tr := perform(t, nil)
			p := stage.next()
			p.ask("fork")
			offspring := stage.next()
			offspring.ask("ignore")
			p.ask(c.prepare)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.done {
				cancel()
			}
			if err := tr.Stop(ctx, c.grace); err != nil {
				t.Error(err)
			}
			offspring.gone()
			if e := <-tr.exited; e.Signal != c.signal || e.Code != -1 || e.Clean() {
				t.Errorf("got end %+v, want by %s", e, c.signal)
			}
			if r, ok := tr.Running(); ok {
				t.Errorf("got run %+v after the stop", r)
			}
		})
	}
}

func TestStopRun_StopsOneAndRefills(t *testing.T) {
	t.Parallel()
	stage, tr := perform(t, func(o *supervise.Options) { o.Restart.Base, o.Restart.Max = time.Hour, time.Hour }) // a requested end is not a crash
	p := stage.next()
	<-tr.started
	if err := tr.StopRun(t.Context(), p.id, time.Hour); err != nil {
		t.Error(err)
	}
	if again := stage.next(); again.id == p.id {
		t.Errorf("the run %s was not replaced", p.id)
	}
	if err := tr.StopRun(t.Context(), p.id, 0); !errors.Is(err, supervise.ErrNotRunning) {
		t.Errorf("got %v, want ErrNotRunning", err)
	}
}

func TestDrain_WaitsForRunsToEnd(t *testing.T) {
	t.Parallel()
	stage, tr := perform(t, nil)
	p := stage.next()
	<-tr.started
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Drain(impatient); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	p.exit(0)
	if err := tr.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if e := <-tr.exited; !e.Clean() || len(tr.started) > 0 {
		t.Errorf("got end %+v and %d more starts", e, len(tr.started))
	}
}

func TestSupervisor_ProbesACrashLoop(t *testing.T) {
	t.Parallel()
	opts := options(t.TempDir(), "", "crash")
	opts.Restart.LoopAfter, opts.Restart.ProbeEvery = 3, time.Hour
	tr := newTroupe(t, opts).start(t)
	if crashes := <-tr.crashing; crashes != 3 || len(tr.exited) != 3 {
		t.Errorf("got a crash loop after %d crashes and %d ends, want 3", crashes, len(tr.exited))
	}
	for range 3 {
		if e := <-tr.exited; e.Code != 3 || !slices.Equal(e.Tail, []string{"no map found"}) {
			t.Errorf("got end %+v", e)
		}
	}
}

// Once the program has changed, the next run does not wait, and crashes before do not count.
func TestSupervisor_Again(t *testing.T) {
	t.Parallel()
	opts := options(t.TempDir(), "", "crash")
	opts.Restart.Base, opts.Restart.Max, opts.Restart.LoopAfter = time.Hour, time.Hour, 2
	tr := newTroupe(t, opts).start(t)
	for range 3 {
		<-tr.started
		<-tr.exited
		tr.Again()
	}
	<-tr.started
	if len(tr.crashing) > 0 {
		t.Error("crashes of different programs make a crash loop")
	}
}

// While May returns false nothing starts, and that is not a failure.
func TestSupervisor_StartsWhenItMay(t *testing.T) {
	t.Parallel()
	opts := options(t.TempDir(), "", "crash")
	asked := 0
	opts.May = func() bool {
		asked++
		return asked > 2
	}
	answers := make(chan int, 64)
	launch := opts.Spec.Launch
	opts.Spec.Launch = func(cmd *exec.Cmd, id string) error {
		answers <- asked
		return launch(cmd, id)
	}
	opts.Restart.Base, opts.Restart.Max = time.Hour, time.Hour
	tr := newTroupe(t, opts).start(t)
	if n := <-answers; n != 3 || len(tr.failed) != 0 {
		t.Errorf("a run started when it was asked %d times, with %d failures; want 3 and none", n, len(tr.failed))
	}
}

func TestSupervisor_TellsOfFailedLaunches(t *testing.T) {
	t.Parallel()
	opts := options(t.TempDir(), "", "puppet")
	opts.Spec.Path = filepath.Join(opts.Spec.Dir, "absent")
	opts.Restart.LoopAfter, opts.Restart.ProbeEvery = 2, time.Hour
	tr := newTroupe(t, opts).start(t)
	if err := <-tr.failed; !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file is absent", err)
	}
	if crashes := <-tr.crashing; crashes != 2 {
		t.Errorf("got a crash loop after %d failed launches, want 2", crashes)
	}
	if records, _ := filepath.Glob(filepath.Join(opts.Spec.StateDir, "slot-*")); len(records) != 0 {
		t.Errorf("records were left: %v", records)
	}
}

func TestNew_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := supervise.New(supervise.Options{Spec: supervise.Spec{Path: "relative"}})
	for _, want := range []string{"Spec.Name", "Spec.Path", "Spec.LogDir", "Spec.StateDir", "NewID"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

// TestSupervisor_StandsRaces stops, queries and detaches a supervisor concurrently while
// runs start.
func TestSupervisor_StandsRaces(t *testing.T) {
	t.Parallel()
	for range 5 {
		opts := options(t.TempDir(), "", "crash")
		tr := newTroupe(t, opts)
		tr.started, tr.exited = make(chan supervise.Run, 100000), make(chan ended, 100000)
		tr.start(t)
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for range 20 {
					if r, ok := tr.Running(); ok {
						_ = tr.StopRun(t.Context(), r.ID, 0) // it may have ended
					}
				}
				if err := tr.Stop(t.Context(), 0); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if _, left := tr.Running(); len(tr.started) != len(tr.exited) || left {
			t.Errorf("%d runs started, %d ended; one is left: %v", len(tr.started), len(tr.exited), left)
		}
	}
}
