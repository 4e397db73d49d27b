package supervise

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// killedWithin is how long a killed process may take to be gone; one that hangs in
// the kernel can take longer and is then given up.
const killedWithin = 5 * time.Second

// run is a Run and what is needed to watch and stop it.
type run struct {
	Run
	watch *watch
	ended chan struct{} // closed when the end has been reported
	freed chan struct{} // closed when the supervisor has let go of the run

	mu    sync.Mutex
	over  bool // the process has ended: its id must not be signaled any more
	asked bool // we requested the end, so it is not a crash
}

func newRun(rec record, pid int, w *watch) *run {
	return &run{
		Run: Run{ID: rec.ID, PID: pid, Started: rec.Started,
			Stdout: rec.Stdout, Stderr: rec.Stderr},
		watch: w, ended: make(chan struct{}), freed: make(chan struct{}),
	}
}

// signal calls send unless the process has ended.
func (r *run) signal(send func(pid int) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.asked = true
	return send(r.PID)
}

// last is called when the first process has ended; it kills the rest of its group.
func (r *run) last() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	_ = kill(r.PID) // nothing is left in nearly all cases
}

func (r *run) wasAsked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// stop requests the run's end and, when grace is over or ctx is done, kills it. It
// returns when the end has been reported. Without a grace period it kills the run
// immediately.
func (r *run) stop(ctx context.Context, grace time.Duration) error {
	if grace > 0 {
		if err := r.signal(terminate); err != nil {
			return err
		}
		if r.endsWithin(ctx, grace) {
			return nil
		}
	}
	if err := r.signal(kill); err != nil {
		return err
	}
	if r.endsWithin(context.WithoutCancel(ctx), killedWithin) {
		return nil
	}
	return fmt.Errorf("run %s (process %d) was let go, or is not gone %v after it was killed", r.ID, r.PID, killedWithin)
}

// endsWithin waits for the end. It returns false if the end does not come within the
// time or ctx, or if nobody watches the run any more.
func (r *run) endsWithin(ctx context.Context, within time.Duration) bool {
	patience := time.NewTimer(within)
	defer patience.Stop()
	select {
	case <-r.ended:
		return true
	case <-r.freed:
	case <-patience.C:
	case <-ctx.Done():
	}
	return false
}
