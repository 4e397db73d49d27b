package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

var (
	// ErrNotRunning reports that no run has the id.
	ErrNotRunning = errors.New("no such run")
	errClosed     = errors.New("the group launches no more")
)

// Group keeps Count copies of a program running. Create one with New; Start it once,
// then end it with Stop, Drain, Detach or the context of Start.
type Group struct {
	opts    Options
	records records
	logs    logs

	cancel context.CancelFunc // lets go of all runs; set by Start
	done   chan struct{}      // closed when all goroutines of the group have ended
	slots  sync.WaitGroup

	// gate is held for reading during a launch, and for writing to close the group,
	// so that the caller that closes it sees every run there will ever be.
	gate   sync.RWMutex
	closed chan struct{}

	mu      sync.Mutex
	started bool
	runs    map[string]*run // by id; nil while being launched
}

// New checks the options and returns a Group. It has no side effects.
func New(opts Options) (*Group, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("supervise %s: %w", opts.Spec.Name, err)
	}
	opts.Log = opts.Log.With("program", opts.Spec.Name)
	return &Group{
		opts:    opts,
		records: records{opts.Spec.StateDir},
		logs:    logs{opts.Spec.LogDir, opts.Spec.LogBytes, opts.Spec.KeepLogs},
		done:    make(chan struct{}),
		closed:  make(chan struct{}),
		runs:    map[string]*run{},
	}, nil
}

// Start takes over the living runs of a former supervisor, so that Runs lists them
// when Start returns, and begins to fill the other slots. It may be called once. It
// fails if another supervisor uses the StateDir or a record cannot be read. When ctx
// is done the group lets go of its runs, as with Detach.
func (g *Group) Start(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.started {
		return errors.New("group was started before")
	}
	lock, kept, err := g.open()
	if err != nil {
		return fmt.Errorf("supervise %s: %w", g.opts.Spec.Name, err)
	}
	g.started = true
	ctx, g.cancel = context.WithCancel(ctx)
	formers := map[int]*former{}
	for _, rec := range kept {
		formers[rec.Slot] = g.takeOver(rec)
	}
	for slot := range g.opts.Count {
		if _, ok := formers[slot]; !ok {
			formers[slot] = nil
		}
	}
	for slot, before := range formers {
		s := &slotKeeper{group: g, slot: slot}
		g.slots.Go(func() { s.keep(ctx, before) })
	}
	go g.finish(lock)
	return nil
}

func (g *Group) open() (*os.File, []record, error) {
	for _, dir := range []string{g.opts.Spec.StateDir, g.opts.Spec.LogDir} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, nil, fmt.Errorf("make directory: %w", err)
		}
	}
	lock, err := lockFile(filepath.Join(g.opts.Spec.StateDir, "lock"))
	if err != nil {
		return nil, nil, err
	}
	kept, err := g.records.load()
	if err != nil {
		unlockFile(lock)
		return nil, nil, err
	}
	return lock, kept, nil
}

// finish maintains the logs until all slots have ended, then releases the lock.
func (g *Group) finish(lock *os.File) {
	ended := make(chan struct{})
	go func() {
		g.slots.Wait()
		close(ended)
	}()
	look := time.NewTicker(g.opts.Rotate)
	defer look.Stop()
	for working := true; working; {
		select {
		case <-look.C:
			g.rotate()
		case <-ended:
			working = false
		}
	}
	g.cancel()
	unlockFile(lock)
	close(g.done)
}

func (g *Group) rotate() {
	for _, run := range g.Runs() {
		err := errors.Join(g.logs.rotate(run.Stdout), g.logs.rotate(run.Stderr))
		if err != nil {
			g.opts.Log.Warn("look after logs", "run_id", run.ID, "error", err)
		}
	}
}

// Runs returns the living runs, by slot.
func (g *Group) Runs() []Run {
	var all []Run
	for _, r := range g.living() {
		all = append(all, r.Run)
	}
	slices.SortFunc(all, func(a, b Run) int { return a.Slot - b.Slot })
	return all
}

func (g *Group) living() []*run {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []*run
	for _, r := range g.runs {
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}
