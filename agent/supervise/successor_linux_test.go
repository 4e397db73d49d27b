package supervise_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/agent/supervise"
)

// supervisorMain runs a puppet until it is killed.
func supervisorMain() {
	opts := options(os.Getenv(dirVariable), os.Getenv(reportVariable), "puppet")
	supervisor := must(supervise.New(opts))
	if err := supervisor.Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(92)
	}
	select {}
}

// reaperMain starts a supervisor, prints its process id, and then adopts and reaps
// what the supervisor leaves, as the system's first process does.
func reaperMain() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		os.Exit(93)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), modeVariable+"=supervisor")
	if err := cmd.Start(); err != nil {
		os.Exit(94)
	}
	fmt.Println(cmd.Process.Pid)
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
			os.Exit(0)
		}
	}
}

// startReaper starts a reaper with a supervisor below it and returns the supervisor's
// process id.
func startReaper(t *testing.T, dir string, stage *stage) int {
	t.Helper()
	cmd := exec.Command(must(os.Executable()))
	cmd.Env = []string{modeVariable + "=reaper", dirVariable + "=" + dir, reportVariable + "=" + stage.listener.Addr().String(),
		"GOCOVERDIR=" + dir}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	pid, err := strconv.Atoi(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		for _, left := range puppets(t, dir) { // left by a test that failed
			_ = syscall.Kill(left, syscall.SIGKILL)
		}
		_ = cmd.Wait() // it ends when it has nothing left to reap
	})
	return pid
}

func TestSuccessor_TakesOverFromAKilledSupervisor(t *testing.T) {
	t.Parallel()
	stage, dir := newStage(t), t.TempDir()
	supervisor := startReaper(t, dir, stage)
	p := stage.next()
	opts := options(dir, stage.listener.Addr().String(), "puppet")
	if err := newTroupe(t, opts).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "another supervisor") {
		t.Fatalf("two supervisors on one StateDir: got %v", err)
	}
	kill(t, supervisor)

	tr := newTroupe(t, opts).start(t)
	if r := <-tr.started; r.ID != p.id || r.PID != p.pid || !r.Attached {
		t.Fatalf("got run %+v, want the living one", r)
	}
	p.ask("stdout still alive")
	p.ask("stderr the end")
	p.exit(7)
	e := <-tr.exited
	if e.ID != p.id || !e.Attached || strings.Join(e.Tail, "") != "the end" {
		t.Errorf("got end %+v", e)
	}
	if keepsStatus(t) && (!e.Known || e.Code != 7) {
		t.Errorf("got end %+v, want code 7", e)
	}
	if r := <-tr.started; r.Attached || r.ID == p.id {
		t.Errorf("got run %+v, want a new one", r)
	}
}

// kill kills a process and returns when it is gone.
func kill(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// keepsStatus reports whether the kernel keeps an exit status with the pidfd (6.15).
func keepsStatus(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	_, _ = fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 15
}

// handOver starts a troupe of one, detaches its puppet and returns what a successor
// needs.
func handOver(t *testing.T) (supervise.Options, *stage, *puppet) {
	t.Helper()
	stage := newStage(t)
	opts := options(t.TempDir(), stage.listener.Addr().String(), "puppet")
	tr := newTroupe(t, opts)
	if err := tr.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := stage.next()
	tr.Detach()
	if len(tr.exited) > 0 || p.ask("stdout hello") != "ok" {
		t.Fatal("the run did not survive that it was let go")
	}
	return opts, stage, p
}

// A successor learns the exit of its own child, stops what it took over, and does not replace the last
// run.
func TestSuccessor_EndsWhatItTookOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last bool
		end  func(tr *troupe, p *puppet) error
		code int // 0: any
	}{
		"by itself": {false, func(_ *troupe, p *puppet) error { p.exit(5); return nil }, 5},
		"stopped":   {false, func(tr *troupe, _ *puppet) error { return tr.Stop(t.Context(), 0) }, 0},
		"last run":  {true, func(tr *troupe, p *puppet) error { p.exit(0); return tr.Drain(t.Context()) }, 0},
	} {
		opts, _, p := handOver(t)
		opts.Last = c.last
		tr := newTroupe(t, opts).start(t)
		if r := <-tr.started; r.PID != p.pid || !r.Attached {
			t.Fatalf("%s: got run %+v", name, r)
		}
		if err := c.end(tr, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.gone()
		if e := <-tr.exited; e.ID != p.id || c.code != 0 && (!e.Known || e.Code != c.code) {
			t.Errorf("%s: got end %+v, want code %d", name, e, c.code)
		}
		if c.last && len(tr.started) > 0 {
			t.Errorf("%s: it was replaced", name)
		}
	}
}

func TestSuccessor_ReportsWhatEndedUnwatched(t *testing.T) {
	t.Parallel()
	opts, stage, p := handOver(t)
	p.ask("stderr last words")
	p.exit(4)
	p.gone()
	reap(t, p.pid)
	tr := newTroupe(t, opts).start(t)
	if e := <-tr.exited; e.ID != p.id || e.Known || strings.Join(e.Tail, "") != "last words" || e.String() != "ended unwatched" {
		t.Errorf("got end %+v", e)
	}
	if again := stage.next(); again.id == p.id {
		t.Error("the run was not replaced")
	}
}

func reap(t *testing.T, pid int) {
	t.Helper()
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
}

// rewrite changes the record.
func rewrite(t *testing.T, opts supervise.Options, change func(map[string]any)) {
	t.Helper()
	path := filepath.Join(opts.Spec.StateDir, "slot-0.json")
	var record map[string]any
	if err := json.Unmarshal(must(os.ReadFile(path)), &record); err != nil {
		t.Fatal(err)
	}
	change(record)
	if err := os.WriteFile(path, must(json.Marshal(record)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A supervisor may be killed between a launch and its recording.
func TestSuccessor_FindsARunWithoutItsProcessID(t *testing.T) {
	t.Parallel()
	opts, stage, p := handOver(t)
	p.ask("fork") // its offspring has the same environment
	stage.next()
	rewrite(t, opts, func(record map[string]any) { record["pid"], record["birth"] = 0, "" })
	tr := newTroupe(t, opts).start(t)
	if r := <-tr.started; r.PID != p.pid || !r.Attached {
		t.Errorf("got run %+v, want process %d", r, p.pid)
	}
}

func TestSuccessor_ForgetsALaunchThatNeverWas(t *testing.T) {
	t.Parallel()
	opts, stage, p := handOver(t)
	rewrite(t, opts, func(record map[string]any) { record["pid"], record["id"] = 0, "never-launched" })
	tr := newTroupe(t, opts).start(t)
	if r := <-tr.started; r.Attached || r.ID == p.id || len(tr.exited) > 0 {
		t.Errorf("got run %+v and %d ends", r, len(tr.exited))
	}
	stage.next()
	end(t, p)
}

// A process with the recorded id but another birth belongs to somebody else.
func TestSuccessor_LeavesAlienProcessesAlone(t *testing.T) {
	t.Parallel()
	opts, stage, p := handOver(t)
	rewrite(t, opts, func(record map[string]any) { record["birth"] = "another boot/1" })
	tr := newTroupe(t, opts).start(t)
	if e := <-tr.exited; e.ID != p.id || e.Known {
		t.Errorf("got end %+v", e)
	}
	stage.next()
	if err := tr.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if p.ask("stdout I am somebody else") != "ok" {
		t.Error("a process of somebody else was stopped")
	}
	end(t, p)
}

// end ends a puppet that no supervisor watches any more.
func end(t *testing.T, p *puppet) {
	p.exit(0)
	p.gone()
	reap(t, p.pid)
}

func TestStart_RefusesARecordItCannotRead(t *testing.T) {
	t.Parallel()
	opts, _, p := handOver(t)
	path := filepath.Join(opts.Spec.StateDir, "slot-0.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newTroupe(t, opts).Start(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error naming %s", err, path)
	}
	end(t, p)
}
