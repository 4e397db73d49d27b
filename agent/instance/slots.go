package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// slot is a place of an instance in which one process at a time runs. It belongs to the
// entry of the runtime configuration that it was opened for, until it is retired and
// its process has ended.
type slot struct {
	n int // among the instance's slots
	entry
	supervisor supervisor
	cause      string // the span for its first process (protocol.Desired.Trace); used by the supervisor's launches only

	// The mutex of slots guards the fields below.
	retired bool              // launches no more processes
	process *protocol.Process // the running process, or nil
	port    int               // of the process being launched
	ended   string            // id of the last process that has ended
}

// entry is an entry of a runtime configuration: what a slot was opened for.
type entry struct {
	N    int `json:"Entry"`
	Spec protocol.ServerProcess
}

// in reports whether a runtime configuration has the entry.
func (e entry) in(r protocol.Runtime) bool {
	if e.N >= len(r.Processes) {
		return false
	}
	now := r.Processes[e.N]
	return now.LaunchPath == e.Spec.LaunchPath && now.Parameters == e.Spec.Parameters
}

// supervisor supervises the process of a slot. It is a supervise.Supervisor except in tests
// in virtual time, where no process can run.
type supervisor interface {
	Start(context.Context) error
	Running() (supervise.Run, bool)
	Drain(context.Context) error
	Stop(ctx context.Context, grace time.Duration) error
	StopRun(ctx context.Context, id string, grace time.Duration) error
	Again()
	Detach()
}

// reason is why a process is told to end: an event code, and text.
type reason struct{ code, text string }

// slots are the open slots of an instance, and the processes in them.
type slots struct {
	ctx     context.Context // of the supervisors
	life    context.Context // of the instance's Run
	home    Home
	jobs    *sync.WaitGroup // counts goroutines that end with life
	changed func()          // called when processes or crashLoop may return something else
	freed   wake.Nudge      // a slot was closed
	log     *slog.Logger

	supervise func(*slot) (supervisor, error)
	note      func(one *slot, r supervise.Run) // called for a process of a former agent; may call started
	cause     string                           // of slots that are opened; only Run of the instance uses it

	mu      sync.Mutex
	byN     map[int]*slot
	looping map[int]string    // crash loops by entry, as sentences
	reasons map[string]reason // why processes were told to end, by id
}

// open opens a slot and fills it, or takes over the process that a former agent left in
// it. A retired slot is not filled.
func (s *slots) open(n int, e entry, retired bool) error {
	if err := s.home.keepSlot(n, e); err != nil {
		return fmt.Errorf("make slot: %w", err)
	}
	one := &slot{n: n, entry: e, retired: retired, cause: s.cause}
	var err error
	if one.supervisor, err = s.supervise(one); err != nil {
		return err
	}
	s.mu.Lock()
	s.byN[n] = one
	s.mu.Unlock()
	if err := one.supervisor.Start(s.ctx); err != nil {
		s.mu.Lock()
		delete(s.byN, n)
		s.mu.Unlock()
		return err
	}
	if r, ok := one.supervisor.Running(); ok {
		s.note(one, r)
	}
	if one.retired {
		s.closeWhenEmpty(one)
	}
	return nil
}

// fit retires the slots that a runtime configuration does not request.
func (s *slots) fit(r protocol.Runtime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := map[int]int{}
	for _, one := range s.byN {
		if one.retired {
			continue
		}
		if have[one.N]++; one.in(r) && have[one.N] <= r.Processes[one.N].Concurrent {
			continue
		}
		one.retired = true
		s.closeWhenEmpty(one)
	}
}

// closeWhenEmpty closes a retired slot when its process has ended.
func (s *slots) closeWhenEmpty(one *slot) {
	s.jobs.Go(func() {
		if one.supervisor.Drain(s.life) == nil {
			s.close(one)
		}
	})
}

// close forgets a slot, here and on disk.
func (s *slots) close(one *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return // the next agent takes it over
	}
	if err := s.home.removeSlot(one.n); err != nil {
		s.log.Warn("slot not removed", "slot", one.n, "error", err)
	}
	delete(s.byN, one.n)
	s.freed.Send()
}

// vacant returns an unused slot number and an entry with fewer slots than it requests. ok
// is false if there is none, or if the instance has as many slots as all entries together
// request.
func (s *slots) vacant(r protocol.Runtime) (n int, e entry, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := map[int]int{}
	for _, one := range s.byN {
		if !one.retired {
			have[one.N]++
		}
	}
	if len(s.byN) >= total(r) {
		return 0, e, false
	}
	for s.byN[n] != nil {
		n++
	}
	for at, spec := range r.Processes {
		if have[at] < spec.Concurrent {
			return n, entry{at, spec}, true
		}
	}
	return 0, e, false
}

// total returns how many processes a runtime configuration requests.
func total(r protocol.Runtime) (n int) {
	for _, p := range r.Processes {
		n += p.Concurrent
	}
	return n
}

func (s *slots) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byN)
}

func (s *slots) all() []*slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byN))
}

// processes returns the running processes.
func (s *slots) processes() (all []protocol.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byN {
		if one.process != nil {
			all = append(all, *one.process)
		}
	}
	return all
}

// find returns the slot in which a process runs, or nil.
func (s *slots) find(processID string) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byN {
		if one.process != nil && one.process.ProcessID == processID {
			return one
		}
	}
	return nil
}

// pid returns the number of a process that runs, or 0.
func (s *slots) pid(processID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byN {
		if one.process != nil && one.process.ProcessID == processID {
			return one.process.PID
		}
	}
	return 0
}

// launching records the port of a process that is about to be launched.
func (s *slots) launching(one *slot, port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.port = port
}

// started records the process that runs in a slot, and returns it.
func (s *slots) started(one *slot, r supervise.Run) protocol.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := protocol.Process{ProcessID: r.ID, PID: r.PID, Entry: one.N, Port: one.port, Started: r.Started}
	if one.ended != r.ID && (one.process == nil || one.process.ProcessID != r.ID) {
		one.process = &p
		s.changed()
	}
	return p
}

// ended empties the slot of a process that has ended.
func (s *slots) ended(one *slot, processID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.port, one.process, one.ended = 0, nil, processID
	delete(s.reasons, processID)
}

// last returns the port of a slot's process (0 if it has none yet), and why the process
// was told to end.
func (s *slots) last(one *slot, processID string) (port int, why reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return one.port, s.reasons[processID]
}

// crashes records that the processes of a slot's entry crash repeatedly.
func (s *slots) crashes(one *slot, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looping[one.N] = cause
	s.changed()
}

// heal ends the crash loop of a slot's entry, if a process still runs.
func (s *slots) heal(one *slot, processID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.process == nil || one.process.ProcessID != processID || s.looping[one.N] == "" {
		return
	}
	delete(s.looping, one.N)
	s.changed()
}

// crashLoop returns the cause of a crash loop, or "".
func (s *slots) crashLoop() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cause := range s.looping {
		return cause
	}
	return ""
}

// keepReason records why a slot's process is told to end. The first reason stays.
func (s *slots) keepReason(one *slot, why reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.process != nil && s.reasons[one.process.ProcessID] == (reason{}) {
		s.reasons[one.process.ProcessID] = why
	}
}

// kill ends one process, after the grace period in which it may end by itself.
func (s *slots) kill(k protocol.Kill) {
	one := s.find(k.ProcessID)
	if one == nil {
		return
	}
	s.jobs.Go(func() {
		if k.Grace > 0 && !wake.Sleep(s.life, k.Grace) || s.find(k.ProcessID) == nil {
			return // the agent ends, or the process has ended
		}
		s.keepReason(one, reason{k.Reason, k.Reason})
		if err := one.supervisor.StopRun(s.life, k.ProcessID, 0); err != nil && !errors.Is(err, supervise.ErrNotRunning) {
			s.log.Error("process not killed", "process_id", k.ProcessID, "error", err)
		}
	})
}

// again ends the pauses after crashes.
func (s *slots) again() {
	for _, one := range s.all() {
		one.supervisor.Again()
	}
}

// stop stops every process, by force after the grace period or when ctx ends.
func (s *slots) stop(ctx context.Context, grace time.Duration, why string) {
	var stops sync.WaitGroup
	for _, one := range s.all() {
		s.keepReason(one, reason{codeStopped, why})
		stops.Go(func() {
			if err := one.supervisor.Stop(ctx, max(grace, 0)); err != nil {
				s.log.Error("process not stopped", "slot", one.n, "error", err)
			}
		})
	}
	stops.Wait()
}

// clear forgets all slots, here and on disk. It is called after stop.
func (s *slots) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.byN)
	if err := s.home.removeSlots(); err != nil {
		s.log.Warn("folder not removed", "error", err)
	}
}

// detach stops supervising the processes: the next agent takes them over.
func (s *slots) detach() {
	for _, one := range s.all() {
		one.supervisor.Detach()
	}
}
