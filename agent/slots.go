package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
)

// slot is a place of an instance in which one process at a time runs. It belongs to the
// entry of the runtime configuration that it was created for, until it is retired and
// its process has ended.
type slot struct {
	n       int // among the instance's slots
	entry   int
	spec    protocol.ServerProcess
	group   *supervise.Group
	retired bool              // launches no more processes
	process *protocol.Process // the running process, or nil
	port    int               // of the process being launched
}

// slotFile is what a successor must know about a slot.
type slotFile struct {
	Entry int
	Spec  protocol.ServerProcess
}

// runFile is what a successor must know about a slot's process.
type runFile struct {
	ProcessID string
	Port      int
	Pass      string `json:",omitempty"` // its token at the relay
}

func (i *instance) slotDir(n int) string { return filepath.Join(i.dir, "slots", strconv.Itoa(n)) }

// fillSlots retires the slots that the runtime configuration does not ask for, and
// creates one that is missing. Processes of retired slots keep running and count, so
// that there are never more than the configuration asks for (API reference,
// UpdateRuntimeConfiguration: running processes are not affected).
func (i *instance) fillSlots(w protocol.Desired) {
	i.retire(func(s *slot) bool { return !asked(w.Runtime, s) })
	for n, spec := range w.Runtime.Processes {
		i.retireBeyond(n, spec.Concurrent)
	}
	entry, ok := i.vacant(w.Runtime)
	if !ok || i.nextLaunch(w) > 0 || i.a.sampler.full() {
		return
	}
	if err := i.open(i.unusedSlot(), entry, w.Runtime.Processes[entry], 1); err != nil {
		i.log.Error("slot not opened", "error", err)
		i.set(protocol.Activating, codeActivation, err.Error())
	}
	i.mu.Lock()
	i.launched = time.Now()
	i.mu.Unlock()
}

func asked(r protocol.Runtime, s *slot) bool {
	if s.entry >= len(r.Processes) {
		return false
	}
	e := r.Processes[s.entry]
	return e.LaunchPath == s.spec.LaunchPath && e.Parameters == s.spec.Parameters
}

// vacant returns an entry that has fewer slots than it asks for, if the instance has
// fewer processes than all entries together ask for.
func (i *instance) vacant(r protocol.Runtime) (entry int, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	total, have := 0, map[int]int{}
	for _, s := range i.slots {
		if !s.retired {
			have[s.entry]++
		}
	}
	for _, e := range r.Processes {
		total += e.Concurrent
	}
	if len(i.slots) >= total {
		return 0, false
	}
	for n, e := range r.Processes {
		if have[n] < e.Concurrent {
			return n, true
		}
	}
	return 0, false
}

// Pauses between launches of an instance's processes: machines are busiest when games
// start.
const (
	maxStagger  = 250 * time.Millisecond
	allLaunched = 30 * time.Second
)

// nextLaunch returns how long the next launch has to wait; 0 means now, or that nothing
// is to be launched.
func (i *instance) nextLaunch(w protocol.Desired) time.Duration {
	if _, ok := i.vacant(w.Runtime); !ok {
		return 0
	}
	if i.a.sampler.full() {
		return patience
	}
	total := 0
	for _, e := range w.Runtime.Processes {
		total += e.Concurrent
	}
	stagger := min(maxStagger, allLaunched/time.Duration(max(total, 1)))
	i.mu.Lock()
	defer i.mu.Unlock()
	return max(time.Until(i.launched.Add(stagger)), 0)
}

func (i *instance) unusedSlot() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := 0; ; n++ {
		if i.slots[n] == nil {
			return n
		}
	}
}

// open creates a slot and fills it, or takes over the process that a former agent left
// in it.
func (i *instance) open(n, entry int, spec protocol.ServerProcess, count int) error {
	dir := i.slotDir(n)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make slot: %w", err)
	}
	if err := writeJSON(filepath.Join(dir, "slot.json"), slotFile{entry, spec}); err != nil {
		return fmt.Errorf("make slot: %w", err)
	}
	s := &slot{n: n, entry: entry, spec: spec, retired: count == 0}
	group, err := i.groupOf(s, count)
	if err != nil {
		return err
	}
	s.group = group
	i.mu.Lock()
	i.slots[n] = s
	i.mu.Unlock()
	if err := group.Start(context.Background()); err != nil {
		i.mu.Lock()
		delete(i.slots, n)
		i.mu.Unlock()
		return err
	}
	for _, r := range group.Runs() {
		i.note(s, r)
	}
	if s.retired {
		i.closeWhenEmpty(s)
	}
	return nil
}

// resume takes over the slots that a former agent left.
func (i *instance) resume() error {
	entries, err := os.ReadDir(filepath.Join(i.dir, "slots"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	w := i.wished()
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		var kept slotFile
		err = readJSON(filepath.Join(i.slotDir(n), "slot.json"), &kept)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := i.preparePorts(w); err != nil {
			return err
		}
		count := 1
		if w.Stop != protocol.Keep || !asked(w.Runtime, &slot{entry: kept.Entry, spec: kept.Spec}) || !i.treeStands() {
			count = 0
		}
		if err := i.open(n, kept.Entry, kept.Spec, count); err != nil {
			return err
		}
	}
	return nil
}

// retire stops launches in the slots that match.
func (i *instance) retire(match func(*slot) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.slots {
		if !s.retired && match(s) {
			s.retired = true
			i.closeWhenEmpty(s)
		}
	}
}

// retireBeyond retires the slots of an entry in excess of most.
func (i *instance) retireBeyond(entry, most int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	have := 0
	for _, s := range i.slots {
		if s.retired || s.entry != entry {
			continue
		}
		if have++; have > most {
			s.retired = true
			i.closeWhenEmpty(s)
		}
	}
}

// closeWhenEmpty forgets a retired slot when its process has ended.
func (i *instance) closeWhenEmpty(s *slot) {
	i.a.work.Go(func() {
		if s.group.Drain(i.life) == nil {
			i.forget(s)
		}
	})
}

func (i *instance) forget(s *slot) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leaving {
		return
	}
	if err := os.RemoveAll(i.slotDir(s.n)); err != nil {
		i.log.Warn("slot not removed", "slot", s.n, "error", err)
	}
	delete(i.slots, s.n)
	nudge(i.look)
}

func (i *instance) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.slots)
}

func (i *instance) list() []*slot {
	i.mu.Lock()
	defer i.mu.Unlock()
	list := make([]*slot, 0, len(i.slots))
	for _, s := range i.slots {
		list = append(list, s)
	}
	return list
}

// stopAll stops every process, by force after the grace period.
func (i *instance) stopAll(grace time.Duration, why string) {
	i.stopAllWithin(context.Background(), grace, why)
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.slots)
}

func (i *instance) stopAllWithin(ctx context.Context, grace time.Duration, why string) {
	var stops sync.WaitGroup
	for _, s := range i.list() {
		i.because(s, reason{codeStopped, why})
		stops.Go(func() {
			if err := s.group.Stop(ctx, max(grace, 0)); err != nil {
				i.log.Error("process not stopped", "slot", s.n, "error", err)
			}
		})
	}
	stops.Wait()
}

// reason is why a process is told to end: an event code, and text.
type reason struct{ code, text string }

// because records why a slot's process is told to end.
func (i *instance) because(s *slot, why reason) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s.process != nil && i.reasons[s.process.ProcessID] == (reason{}) {
		i.reasons[s.process.ProcessID] = why
	}
}

// detach stops supervising the processes: a successor takes them over.
func (i *instance) detach() {
	for _, s := range i.list() {
		s.group.Detach()
	}
}

// kill ends one process, after the grace period in which it may end by itself.
func (i *instance) kill(k protocol.Kill) {
	for _, s := range i.list() {
		if p := i.processOf(s); p == nil || p.ProcessID != k.ProcessID {
			continue
		}
		i.a.work.Go(func() {
			if k.Grace > 0 && !pause(i.life, k.Grace) {
				return
			}
			if p := i.processOf(s); p == nil || p.ProcessID != k.ProcessID {
				return // it has ended
			}
			i.because(s, reason{k.Reason, k.Reason})
			if err := s.group.StopRun(i.life, k.ProcessID, 0); err != nil && !errors.Is(err, supervise.ErrNotRunning) {
				i.log.Error("process not killed", "process_id", k.ProcessID, "error", err)
			}
		})
		return
	}
}

func (i *instance) processOf(s *slot) *protocol.Process {
	i.mu.Lock()
	defer i.mu.Unlock()
	return s.process
}
