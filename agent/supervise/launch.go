package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// launch starts a run in a slot. The record is written before and after: if the
// supervisor dies in between, its successor finds the process by its environment.
func (g *Group) launch(slot int, id string) (*run, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	select {
	case <-g.closed:
		return nil, errClosed
	default:
	}
	if err := g.reserve(id); err != nil {
		return nil, err
	}
	r, err := g.start(slot, id)
	if err != nil {
		g.forget(id)
		return nil, errors.Join(err, g.records.remove(slot))
	}
	g.remember(r)
	return r, nil
}

// reserve enters an id in the list of runs, before there is a process.
func (g *Group) reserve(id string) error {
	if n := len(id); n == 0 || n > 128 || strings.Trim(id, idCharacters) != "" {
		return fmt.Errorf("run id %q must have 1 to 128 characters of A-Z a-z 0-9 - _", id)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, taken := g.runs[id]; taken {
		return fmt.Errorf("run id %q is in use", id)
	}
	g.runs[id] = nil
	return nil
}

const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (g *Group) remember(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs[r.ID] = r
}

func (g *Group) forget(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, id)
}

func (g *Group) lives(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.runs[id]
	return ok
}

func (g *Group) start(slot int, id string) (*run, error) {
	if err := g.logs.prune(g.lives); err != nil {
		g.opts.Log.Warn("prune logs", "error", err)
	}
	rec := record{ID: id, Slot: slot, Started: time.Now().UTC()}
	rec.Stdout, rec.Stderr = g.logs.paths(id)
	if err := g.records.write(rec); err != nil {
		return nil, err
	}
	cmd, err := g.execute(rec)
	if err != nil {
		return nil, err
	}
	rec.PID = cmd.Process.Pid
	w, err := watchChild(cmd)
	if err == nil {
		rec.Birth, err = birth(rec.PID)
	}
	if err != nil {
		err = errors.Join(err, kill(rec.PID))
		_ = cmd.Wait()
		return nil, err
	}
	if err := g.records.write(rec); err != nil {
		g.opts.Log.Error("note run", "run_id", id, "error", err) // the first record still finds it
	}
	return newRun(rec, rec.PID, w), nil
}

// execute starts the program with its logs as standard output and error.
func (g *Group) execute(rec record) (*exec.Cmd, error) {
	spec := g.opts.Spec
	cmd := &exec.Cmd{Path: spec.Path, Args: []string{spec.Path}, Dir: spec.Dir}
	if spec.Args != nil {
		cmd.Args = append(cmd.Args, spec.Args(rec.Slot, rec.ID)...)
	}
	if spec.Env != nil {
		cmd.Env = append(cmd.Env, spec.Env(rec.Slot, rec.ID)...)
	}
	cmd.Env = append(cmd.Env, runVariable+"="+rec.ID)
	separate(cmd)
	stdout, err := g.logs.open(rec.Stdout)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := g.logs.open(rec.Stderr)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	launch := func(cmd *exec.Cmd, _ int, _ string) error { return cmd.Start() }
	if spec.Launch != nil {
		launch = spec.Launch
	}
	if err := launch(cmd, rec.Slot, rec.ID); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return cmd, nil
}

// takeOver finds the run of a former supervisor's record. It returns nil if no
// process was started.
func (g *Group) takeOver(rec record) *former {
	w, pid, ok := attach(rec)
	if !ok && rec.PID == 0 {
		if err := g.records.remove(rec.Slot); err != nil {
			g.opts.Log.Error("forget run", "run_id", rec.ID, "error", err)
		}
		_ = os.Remove(rec.Stdout) // empty, if it was created at all
		_ = os.Remove(rec.Stderr)
		if cut := g.opts.Events.Cut; cut != nil {
			cut(rec.ID)
		}
		return nil
	}
	r := newRun(rec, pid, w)
	r.Attached = true
	if ok {
		g.runs[r.ID] = r // Start holds mu
	}
	return &former{run: r, lives: ok}
}
