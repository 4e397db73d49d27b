package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// launch starts a run. The record is written before and after: if the supervisor dies in
// between, its successor finds the process by its environment.
func (s *Supervisor) launch(id string) (*run, error) {
	s.launching.Lock()
	defer s.launching.Unlock()
	select {
	case <-s.closed:
		return nil, errClosed
	default:
	}
	if n := len(id); n == 0 || n > 128 || strings.Trim(id, idCharacters) != "" {
		return nil, fmt.Errorf("run id %q must have 1 to 128 characters of A-Z a-z 0-9 - _", id)
	}
	r, err := s.start(id)
	if err != nil {
		return nil, errors.Join(err, s.records.remove())
	}
	s.set(r)
	return r, nil
}

const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (s *Supervisor) start(id string) (*run, error) {
	if err := s.logs.prune(func(other string) bool { return other == id }); err != nil {
		s.opts.Log.Warn("prune logs", "error", err)
	}
	rec := record{ID: id, Started: time.Now().UTC()}
	rec.Stdout, rec.Stderr = s.logs.paths(id)
	if err := s.records.write(rec); err != nil {
		return nil, err
	}
	cmd, err := s.execute(rec)
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
	if err := s.records.write(rec); err != nil {
		s.opts.Log.Error("note run", "run_id", id, "error", err) // a successor still finds the run by the first record
	}
	return newRun(rec, rec.PID, w), nil
}

// execute starts the program with its logs as standard output and error.
func (s *Supervisor) execute(rec record) (*exec.Cmd, error) {
	spec := s.opts.Spec
	cmd := &exec.Cmd{Path: spec.Path, Args: []string{spec.Path}, Dir: spec.Dir, Env: []string{runVariable + "=" + rec.ID}}
	separate(cmd)
	stdout, err := s.logs.open(rec.Stdout)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := s.logs.open(rec.Stderr)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := spec.Launch(cmd, rec.ID); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return cmd, nil
}

// takeOver finds the run of a former supervisor's record. It returns nil if no
// process was started. The caller must hold mu.
func (s *Supervisor) takeOver(rec record) *former {
	w, pid, ok := attach(rec)
	if !ok && rec.PID == 0 {
		if err := s.records.remove(); err != nil {
			s.opts.Log.Error("forget run", "run_id", rec.ID, "error", err)
		}
		_ = os.Remove(rec.Stdout) // empty, if it was created at all
		_ = os.Remove(rec.Stderr)
		if cut := s.opts.Events.Cut; cut != nil {
			cut(rec.ID)
		}
		return nil
	}
	r := newRun(rec, pid, w)
	r.Attached = true
	if ok {
		s.current = r
	}
	return &former{run: r, lives: ok}
}
