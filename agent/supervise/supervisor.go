package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

var (
	// ErrNotRunning reports that no run has the id.
	ErrNotRunning = errors.New("no such run")
	errClosed     = errors.New("the supervisor launches no more")
)

// Supervisor keeps a program running. Create one with New; Start it once, then end it
// with Stop, Drain, Detach or the context of Start.
type Supervisor struct {
	opts    Options
	records records
	logs    logs
	crashes int // consecutive ones; only keep uses it

	cancel context.CancelFunc // lets go of the run; set by Start
	done   chan struct{}      // closed when all goroutines of the supervisor have ended

	// launching is held during a launch, and while closed is closed, so that no run starts
	// afterwards.
	launching sync.Mutex
	closed    chan struct{}

	again chan struct{} // ends a pause; has one at most

	mu      sync.Mutex
	started bool
	current *run // nil between runs
}

// New checks the options and returns a Supervisor. It has no side effects.
func New(opts Options) (*Supervisor, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("supervise %s: %w", opts.Spec.Name, err)
	}
	opts.Log = opts.Log.With("program", opts.Spec.Name)
	return &Supervisor{
		opts:    opts,
		records: records{opts.Spec.StateDir},
		logs:    logs{opts.Spec.LogDir, opts.Spec.LogBytes, opts.Spec.KeepLogs},
		done:    make(chan struct{}),
		closed:  make(chan struct{}),
		again:   make(chan struct{}, 1),
	}, nil
}

// Start takes over the living run of a former supervisor, so that Running returns it when
// Start returns, or begins to launch one. It may be called once. It fails if another
// supervisor uses the StateDir or the record cannot be read. When ctx is done the
// supervisor lets go of its run, as with Detach.
func (s *Supervisor) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("supervisor was started before")
	}
	lock, kept, err := s.open()
	if err != nil {
		return fmt.Errorf("supervise %s: %w", s.opts.Spec.Name, err)
	}
	s.started = true
	ctx, s.cancel = context.WithCancel(ctx)
	var before *former
	if kept != nil {
		before = s.takeOver(*kept)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.keep(ctx, before)
	}()
	go s.finish(ended, lock)
	return nil
}

// open locks the StateDir and returns the record of a former supervisor, or nil.
func (s *Supervisor) open() (io.Closer, *record, error) {
	for _, dir := range []string{s.opts.Spec.StateDir, s.opts.Spec.LogDir} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, nil, fmt.Errorf("make directory: %w", err)
		}
	}
	lock, err := Lock(filepath.Join(s.opts.Spec.StateDir, "lock"))
	if err != nil {
		return nil, nil, err
	}
	kept, err := s.records.load()
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	return lock, kept, nil
}

// finish maintains the logs until keep has ended, then releases the lock.
func (s *Supervisor) finish(ended <-chan struct{}, lock io.Closer) {
	look := time.NewTicker(s.opts.Rotate)
	defer look.Stop()
	for working := true; working; {
		select {
		case <-look.C:
			s.rotate()
		case <-ended:
			working = false
		}
	}
	s.cancel()
	lock.Close()
	close(s.done)
}

func (s *Supervisor) rotate() {
	run, ok := s.Running()
	if !ok {
		return
	}
	if err := errors.Join(s.logs.rotate(run.Stdout), s.logs.rotate(run.Stderr)); err != nil {
		s.opts.Log.Warn("look after logs", "run_id", run.ID, "error", err)
	}
}

// Running returns the living run, if there is one.
func (s *Supervisor) Running() (Run, bool) {
	if r := s.living(); r != nil {
		return r.Run, true
	}
	return Run{}, false
}

func (s *Supervisor) living() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// set sets the current run; nil means none.
func (s *Supervisor) set(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = r
}
