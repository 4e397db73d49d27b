package agent

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/hosts/protocol"
)

// instance is one slice of this machine that runs a copy of a fleet's runtime
// configuration. Its goroutine (run) implements the wish; other goroutines only change
// the wish and nudge it.
type instance struct {
	a   *Agent
	id  string
	dir string
	own *Own // for a program on this machine; nil for instances that Muster assigns
	log *slog.Logger

	look     chan struct{}      // something changed
	hold     context.Context    // ends when the instance should end; for the installation
	drop     context.CancelFunc // ends hold
	life     context.Context    // ends when the agent ends
	leave    context.CancelFunc // ends life
	finished chan struct{}      // closed when run has returned
	resumed  error              // why the processes of a former agent could not be taken over

	mu         sync.Mutex
	wish       protocol.Desired
	forgotten  bool // the wish no longer names it
	unnamed    bool // a former agent left it, and no known wish names it
	leaving    bool // the agent ends
	phase      protocol.Phase
	code       string
	cause      string
	done       int
	ports      *ports.Range
	slots      map[int]*slot
	looping    map[int]string    // crash loops by entry, as sentences
	reasons    map[string]reason // why processes were told to end, by id
	collecting map[string]bool   // processes whose logs are being collected
	goneAt     time.Time
	launched   time.Time // when the last process was launched
}

func newInstance(a *Agent, w protocol.Desired, own *Own) *instance {
	i := &instance{
		a: a, id: w.InstanceID, dir: filepath.Join(a.opts.Root, "instances", w.InstanceID), own: own,
		log:  a.log.With("instance", w.InstanceID, "fleet", w.FleetID),
		look: make(chan struct{}, 1), finished: make(chan struct{}),
		wish: w, phase: protocol.Downloading,
		slots: map[int]*slot{}, looping: map[int]string{}, reasons: map[string]reason{}, collecting: map[string]bool{},
	}
	i.life, i.leave = context.WithCancel(context.Background())
	i.hold, i.drop = context.WithCancel(i.life)
	if w.Stop != protocol.Keep {
		i.drop()
	}
	return i
}

// validID reports whether an id may be the name of a folder.
func validID(id string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return id != "" && len(id) <= 128 && strings.Trim(id, characters) == ""
}

// want replaces the wish.
func (i *instance) want(w protocol.Desired) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wish, i.forgotten, i.unnamed = w, false, false
	if i.ports != nil { // it was taken over from a former agent without knowing its ports
		if err := i.ports.Move(w.PortFrom, w.PortTo); err != nil {
			i.log.Error("the instance keeps its ports", "error", err)
		}
	}
	if w.Stop != protocol.Keep {
		i.drop()
	}
	nudge(i.look)
}

// forgo ends the instance because the wish no longer names it.
func (i *instance) forgo() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.forgotten, i.wish.Stop = true, protocol.End
	i.drop()
	nudge(i.look)
}

func (i *instance) wished() protocol.Desired {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.wish
}

// over reports whether the instance can be forgotten: it is not in the wish, has ended,
// and its logs need not be kept any longer.
func (i *instance) over() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.forgotten && i.phase == protocol.Gone && time.Since(i.goneAt) > keepLogs
}

// keepLogs is how long an instance's folder outlives it, so that logs can be fetched.
const keepLogs = 5 * time.Minute

// set changes the reported phase, code and cause.
func (i *instance) set(p protocol.Phase, code, cause string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase == p && i.code == code && i.cause == cause {
		return
	}
	i.log.Info("instance", "phase", p, "code", code, "cause", cause)
	i.phase, i.code, i.cause = p, code, cause
	nudge(i.a.changed)
}

// report returns the instance as it is reported to Muster.
func (i *instance) report() protocol.Instance {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := protocol.Instance{InstanceID: i.id, Phase: i.phase, Code: i.code, Cause: i.cause, Done: i.done}
	for _, s := range i.slots {
		if s.process != nil {
			r.Processes = append(r.Processes, *s.process)
		}
	}
	slices.SortFunc(r.Processes, func(a, b protocol.Process) int { return strings.Compare(a.ProcessID, b.ProcessID) })
	for _, p := range r.Processes {
		u := i.a.sampler.usage(p.PID)
		r.Usage.CPUMillis += u.CPUMillis
		r.Usage.MemoryMiB += u.MemoryMiB
	}
	return r
}

// run implements the wish until the instance is gone or the agent ends.
func (i *instance) run() {
	defer close(i.finished)
	if i.resumed != nil {
		i.set(protocol.Failed, codeActivation, "the processes of a former agent cannot be taken over: "+i.resumed.Error())
		<-i.hold.Done()
	}
	for !i.isLeaving() {
		wish := i.wished()
		switch {
		case wish.Stop == protocol.End:
			i.end(wish)
			return
		case wish.Stop == protocol.Drain:
			if i.drain(wish) {
				return
			}
		case i.awaitsWord():
		case !i.installed():
			i.install(wish)
			continue
		default:
			i.fillSlots(wish)
		}
		i.wait(i.untilNext(wish))
	}
}

// wait waits for a nudge, for at most within unless that is 0.
func (i *instance) wait(within time.Duration) {
	var late <-chan time.Time
	if within > 0 {
		timer := time.NewTimer(within)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-i.look:
	case <-late:
	}
}

// awaitsWord reports whether the instance's wish is unknown until Muster sends the next
// one.
func (i *instance) awaitsWord() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.unnamed
}

func (i *instance) isLeaving() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.leaving
}

// drain lets processes end by themselves until the deadline. It reports whether the
// instance is gone.
func (i *instance) drain(w protocol.Desired) bool {
	i.set(protocol.Draining, "", "")
	i.retire(func(*slot) bool { return true })
	left := i.count()
	if left == 0 {
		i.vanish()
		return true
	}
	if !w.StopBy.IsZero() && !time.Now().Before(w.StopBy.Add(-softStop)) {
		i.stopAll(time.Until(w.StopBy), "the drain's deadline has come")
		i.vanish()
		return true
	}
	return false
}

// softStop is how long before a drain's deadline processes get SIGTERM.
const softStop = 10 * time.Second

// end stops everything immediately.
func (i *instance) end(protocol.Desired) {
	i.stopAll(0, "its instance is stopped")
	i.vanish()
}

// vanish ends what is left of the instance and reports it as gone. Its folder stays for
// the logs.
func (i *instance) vanish() {
	i.dismiss()
	i.mu.Lock()
	i.goneAt = time.Now()
	i.mu.Unlock()
	if err := os.RemoveAll(filepath.Join(i.dir, "slots")); err != nil {
		i.log.Warn("folder not removed", "error", err)
	}
	i.set(protocol.Gone, "", "")
}

// letGo is called at the agent's end: it leaves the processes running, or stops them.
func (i *instance) letGo(ctx context.Context) {
	i.mu.Lock()
	i.leaving = true
	i.leave()
	i.mu.Unlock()
	nudge(i.look)
	<-i.finished
	if i.a.leaves.Load() {
		i.detach()
		return
	}
	i.stopAllWithin(ctx, i.a.opts.StopGrace, "the agent ends")
}

// untilNext returns how long the goroutine may wait for a nudge; 0 means forever.
func (i *instance) untilNext(w protocol.Desired) time.Duration {
	if w.Stop == protocol.Drain {
		if w.StopBy.IsZero() {
			return 0
		}
		return max(time.Until(w.StopBy.Add(-softStop)), time.Millisecond)
	}
	return i.nextLaunch(w)
}
