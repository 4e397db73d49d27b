package instance

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/collector"
	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Machine holds what the instances of an agent share.
type Machine struct {
	Root     string               // the agent's folder
	Launcher string               // wraps programs without an SDK; "" if the agent does not know its own program
	RelayAll bool                 // the processes of every fleet connect through Relay
	Jailer   *jail.Jailer         // isolates processes
	Named    NamedRanges          // of this machine, for ports of a name; others come from the instance's
	Cache    *install.Cache       // installs builds
	Relay    *relay.Relay         // nil: all processes connect directly
	Metrics  *collector.Collector // nil: not collected
	Game     *gameapi.Server      // the HTTP interface for programs without a Server SDK; nil: there is none
	Legacy   *legacy.Server       // for processes with Server SDK 3 and 4; nil: they cannot connect
	KeepLogs time.Duration        // how long an instance's folder outlives it, so that logs can be fetched

	BuildKey func() ed25519.PublicKey         // verifies builds
	Full     func() bool                      // reports whether the disk is too full to launch anything
	Usage    func(pid int) protocol.Usage     // of a process and those it started
	Used     func(pid int) []protocol.UsageAt // the same over the last minutes; may be nil
	Certify  Certify                          // nil: there are no certificates
	Exited   func(protocol.Exited)            // stores the report of a process's end, and sends it
	Changed  func()                           // called when Report or Over has changed; does not block
	Log      *slog.Logger
}

// Instance is one slice of this machine that runs a copy of a fleet's runtime
// configuration.
type Instance struct {
	ID   string
	Own  *Own // for a program on this machine; nil for instances that Muster assigns
	Home Home

	m      *Machine
	log    *slog.Logger
	jail   *jail.Jail
	slots  *slots
	launch *launcher
	certs  *certificates
	shells shells
	broken error // why the processes of a former agent could not be taken over

	ctx      context.Context    // outlives Run: processes are stopped after it
	life     context.Context    // of Run
	end      context.CancelFunc // ends life
	posts    chan func()        // for Run to call
	finished chan struct{}      // closed when Run has returned
	gone     chan struct{}      // closed when the status is Gone
	jobs     sync.WaitGroup     // installing, stopping, and waiting for processes
	seen     atomic.Pointer[view]

	// Only Run uses the fields below.
	view
	status     Status
	named      bool          // false: a former agent left it, and no known desired state names it
	forgotten  bool          // the desired state no longer names it
	latest     *installation // nil before the first
	lastLaunch time.Time
	goneAt     time.Time
}

// view is what other goroutines see of an instance.
type view struct {
	desired protocol.Desired
	report  protocol.Instance // without processes
	over    bool              // nothing is left, not even its folder
}

// Options configure an Instance.
type Options struct {
	Desired protocol.Desired
	Own     *Own // for a program on this machine
	// Unnamed says that a former agent left the instance and that no known desired
	// state names it. Its processes keep running until Want or Forget decides about it.
	Unnamed bool

	supervise func(*Instance) func(*slot) (supervisor, error) // in place of supervise.Supervisor; for tests
}

// New returns an instance, and takes over the processes that a former agent left in its
// folder. ctx ends when the agent has ended; processes that still run then are left to
// the next agent.
func New(ctx context.Context, m *Machine, o Options) *Instance {
	d := o.Desired
	i := &Instance{
		ID: d.InstanceID, Own: o.Own, m: m, log: m.Log.With("instance", d.InstanceID, "fleet", d.FleetID),
		Home: Home{dir: filepath.Join(Folders(m.Root), d.InstanceID), own: o.Own},
		ctx:  ctx, posts: make(chan func()), finished: make(chan struct{}), gone: make(chan struct{}),
		view:  view{desired: d, report: protocol.Instance{InstanceID: d.InstanceID, Phase: protocol.Downloading}},
		named: !o.Unnamed,
	}
	i.life, i.end = context.WithCancel(ctx)
	switch {
	case o.Own == nil:
		i.jail = m.Jailer.For(i.Home.dir, i.log)
	case o.Own.Jailer != nil:
		i.jail = o.Own.Jailer.For(i.Home.dir, i.log)
	}
	i.slots = &slots{
		ctx: ctx, life: i.life, home: i.Home, jobs: &i.jobs, changed: m.Changed, freed: wake.NewNudge(), log: i.log,
		byN: map[int]*slot{}, looping: map[int]string{}, reasons: map[string]reason{},
	}
	i.certs = &certificates{
		id: i.ID, dir: i.Home.certificates(), jail: i.jail, certify: m.Certify, view: i.Desired, changed: wake.NewNudge(), log: i.log,
	}
	i.launch = &launcher{m: m, named: map[string]map[string]int{}, id: i.ID, own: o.Own, home: i.Home, jail: i.jail, slots: i.slots, certs: i.certs, view: i.Desired, log: i.log}
	i.slots.supervise, i.slots.cause = i.launch.supervisor, d.Trace
	if o.supervise != nil {
		i.slots.supervise = o.supervise(i)
	}
	i.slots.note = func(one *slot, r supervise.Run) { i.launch.note(one, r) }
	i.show()
	i.jail.EndShells()
	if i.broken = i.takeOver(); i.broken != nil {
		i.log.Error("the processes of a former agent cannot be taken over", "error", i.broken)
	}
	return i
}

// takeOver opens the slots that a former agent left.
func (i *Instance) takeOver() error {
	kept, err := i.Home.slots()
	if err != nil || len(kept) == 0 {
		return err
	}
	if err := i.launch.usePorts(i.desired); err != nil {
		return err
	}
	goesOn := i.desired.Stop == protocol.Keep && i.Home.hasTree()
	for n, e := range kept {
		if err := i.slots.open(n, e, !goesOn || !e.in(i.desired.Runtime)); err != nil {
			return err
		}
	}
	return nil
}

// Want replaces the desired state.
func (i *Instance) Want(d protocol.Desired) {
	i.post(func() {
		if d.Trace != "" && d.Trace != i.desired.Trace {
			i.slots.cause = d.Trace
		}
		i.desired, i.named, i.forgotten = d, true, false
		i.show()
		i.certs.changed.Send()
		if err := i.launch.usePorts(d); err != nil {
			i.log.Error("the instance keeps its ports", "error", err)
		}
	})
}

// Forget ends the instance because the desired state of the host no longer names it.
func (i *Instance) Forget() {
	i.post(func() {
		i.forgotten, i.desired.Stop = true, protocol.End
		i.show()
	})
}

// Kill ends one process, after the grace period in which it may end by itself.
func (i *Instance) Kill(k protocol.Kill) {
	i.post(func() {
		if i.life.Err() == nil {
			i.slots.kill(k)
		}
	})
}

// Again starts processes at once that wait after crashes: their program has changed.
func (i *Instance) Again() {
	i.post(func() {
		if i.life.Err() == nil {
			i.slots.again()
		}
	})
}

// Detach ends Run and leaves the processes to the next agent.
func (i *Instance) Detach() {
	i.end()
	i.shells.end()
	<-i.finished
	i.slots.detach()
}

// Stop ends Run and stops the processes, by force after the grace period or when ctx
// ends.
func (i *Instance) Stop(ctx context.Context, grace time.Duration) {
	i.end()
	i.shells.end()
	<-i.finished
	i.slots.stop(ctx, grace, "the agent ends")
}

// Gone returns a channel that is closed when nothing of the instance runs any more.
func (i *Instance) Gone() <-chan struct{} { return i.gone }

// Over reports whether nothing is left of the instance, not even its folder.
func (i *Instance) Over() bool { return i.seen.Load().over }

// Desired returns the desired state.
func (i *Instance) Desired() protocol.Desired { return i.seen.Load().desired }

// IsOwn reports whether the instance is of a program on this machine, rather than assigned
// by Muster.
func (i *Instance) IsOwn() bool { return i.Own != nil }

// Build returns the checksum of the desired build.
func (i *Instance) Build() string { return i.Desired().Build.SHA256 }

// Remove removes the instance's folder.
func (i *Instance) Remove() error { return i.Home.Remove() }

// Runs reports whether a process runs here.
func (i *Instance) Runs(processID string) bool { return i.slots.find(processID) != nil }

// Report returns the instance as it is reported to Muster.
func (i *Instance) Report() protocol.Instance {
	r := i.seen.Load().report
	if loop := i.slots.crashLoop(); loop != "" && r.Phase == protocol.Activating {
		r.Code, r.Cause = codeCrashed, loop
	}
	r.Processes = i.slots.processes()
	slices.SortFunc(r.Processes, func(a, b protocol.Process) int { return cmp.Compare(a.ProcessID, b.ProcessID) })
	for _, p := range r.Processes {
		u := i.m.Usage(p.PID)
		r.Usage.CPUMillis += u.CPUMillis
		r.Usage.MemoryMiB += u.MemoryMiB
	}
	return r
}

// post makes Run call a function. Once Run has returned, post does nothing.
func (i *Instance) post(f func()) {
	select {
	case i.posts <- f:
	case <-i.finished:
	}
}

// Run brings the instance to its desired state, until nothing is left of it or it is
// told to end by Detach or Stop.
func (i *Instance) Run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	i.jobs.Go(func() { i.certs.keep(i.life) })
	for i.life.Err() == nil {
		var due <-chan time.Time
		if next := i.act(time.Now()); !next.IsZero() {
			timer.Reset(time.Until(next))
			due = timer.C
		}
		select {
		case <-i.life.Done():
		case <-due:
		case <-i.slots.freed:
		case handle := <-i.posts:
			handle()
		}
	}
	idle := make(chan struct{})
	go func() {
		i.jobs.Wait()
		close(idle)
	}()
	for {
		select {
		case handle := <-i.posts:
			handle()
		case <-idle:
			close(i.finished)
			return
		}
	}
}

// act makes the moves that are due, and returns when to call it again; the zero time
// means after the next change.
func (i *Instance) act(now time.Time) (next time.Time) {
	for to := i.status.next(i.situation(now)); to != i.status; to = i.status.next(i.situation(now)) {
		i.enter(to)
	}
	switch {
	case i.status == Running:
		return i.fill(now)
	case i.status == Draining && !i.desired.StopBy.IsZero():
		return i.desired.StopBy.Add(-softStop)
	case i.status == Gone && i.forgotten:
		if next = i.goneAt.Add(i.m.KeepLogs); next.After(now) {
			return next
		}
		i.remove()
	}
	return time.Time{}
}

// situation returns the current situation.
func (i *Instance) situation(now time.Time) situation {
	d := i.desired
	return situation{
		stop: d.Stop, named: i.named, broken: i.broken != nil, empty: i.slots.count() == 0,
		late:  !d.StopBy.IsZero() && !now.Before(d.StopBy.Add(-softStop)),
		retry: i.status == Failed && !i.latest.same(d, i.m.BuildKey()),
	}
}

// enter changes the status and carries out the change.
func (i *Instance) enter(to Status) {
	from := i.status
	Moves.Move(&i.status, to, "instance "+i.ID)
	if from == Installing {
		i.latest.abandon()
	}
	switch to {
	case Installing:
		i.install()
	case Broken:
		i.set(protocol.Failed, problem{codeActivation, "the processes of a former agent cannot be taken over: " + i.broken.Error()})
	case Draining:
		i.set(protocol.Draining, problem{})
		i.slots.fit(protocol.Runtime{})
	case Stopping:
		i.stop(from)
	case Gone:
		i.goneAt = time.Now()
		i.desired.Certificate = nil
		i.set(protocol.Gone, problem{})
		close(i.gone)
	}
}

// install starts installing the build in another goroutine.
func (i *Instance) install() {
	ctx, cancel := context.WithCancel(i.life)
	n := &installation{
		l: i.launch, desired: i.desired, key: i.m.BuildKey(), abandon: cancel, ended: make(chan struct{}),
		progress: func(p protocol.Phase, percent int) { i.post(func() { i.progress(p, percent) }) },
	}
	i.latest = n
	i.jobs.Go(func() {
		defer cancel()
		p := n.run(ctx)
		close(n.ended)
		if ctx.Err() == nil {
			i.post(func() { i.installed(p) })
		}
	})
}

// progress reports a stage of the installation.
func (i *Instance) progress(p protocol.Phase, percent int) {
	if i.status != Installing {
		return
	}
	if i.report.Done != percent {
		i.report.Done = percent
		i.show()
	}
	i.set(p, problem{})
}

// installed handles the end of an installation that was not abandoned; p is its problem.
func (i *Instance) installed(p problem) {
	switch {
	case i.status != Installing: // abandoned in the meantime
	case p == problem{}:
		i.enter(Running)
		i.set(protocol.Activating, p)
	default:
		i.enter(Failed)
		i.set(protocol.Failed, p)
	}
}

// softStop is how long before a drain's deadline processes get SIGTERM.
const softStop = 10 * time.Second

// stop starts ending everything of the instance in another goroutine. Its folder stays
// for the logs.
func (i *Instance) stop(from Status) {
	grace, why := time.Duration(0), "its instance is stopped"
	if from == Draining && i.desired.Stop == protocol.Drain {
		grace, why = time.Until(i.desired.StopBy), "the drain's deadline has come"
	}
	latest := i.latest
	i.jobs.Go(func() {
		if latest != nil {
			<-latest.ended
		}
		i.slots.stop(i.ctx, grace, why)
		i.shells.end()
		i.jail.Dismiss()
		i.slots.clear()
		i.post(func() { i.enter(Gone) })
	})
}

// remove ends Run and removes the folder in another goroutine.
func (i *Instance) remove() {
	i.end()
	i.jobs.Go(func() {
		if err := i.Home.Remove(); err != nil {
			i.log.Warn("the folder of an instance is left", "instance", i.ID, "error", err)
		}
		i.post(func() {
			i.over = true
			i.show()
		})
	})
}

// Pauses between launches of an instance's processes: machines are busiest when games
// start.
const (
	maxStagger  = 250 * time.Millisecond
	allLaunched = 30 * time.Second
)

// patience is how often a full disk is checked for space.
const patience = time.Second

// fill retires the slots that the runtime configuration does not request, and opens one
// that is missing. Processes of retired slots keep running and count, so that there are
// never more than the configuration requests (API reference,
// UpdateRuntimeConfiguration: running processes are not affected). It returns when the
// next one can be opened.
func (i *Instance) fill(now time.Time) (next time.Time) {
	r := i.desired.Runtime
	i.slots.fit(r)
	n, e, ok := i.slots.vacant(r)
	if !ok {
		i.slots.cause = "" // what is opened from now on has another
		return time.Time{}
	}
	stagger := min(maxStagger, allLaunched/time.Duration(max(total(r), 1)))
	switch next = i.lastLaunch.Add(stagger); {
	case i.m.Full():
		return now.Add(patience)
	case next.After(now):
		return next
	}
	var p problem
	if err := i.slots.open(n, e, false); err != nil {
		i.log.Error("slot not opened", "error", err)
		p = problem{codeActivation, err.Error()}
	}
	i.set(protocol.Activating, p)
	i.lastLaunch = time.Now()
	return i.lastLaunch.Add(stagger)
}

// set changes the reported phase and problem.
func (i *Instance) set(phase protocol.Phase, p problem) {
	if i.report.Phase == phase && i.report.Code == p.code && i.report.Cause == p.cause {
		return
	}
	i.log.Info("instance", "phase", phase, "code", p.code, "cause", p.cause)
	i.report.Phase, i.report.Code, i.report.Cause = phase, p.code, p.cause
	i.show()
}

// show publishes the view to other goroutines.
func (i *Instance) show() {
	now := i.view
	i.seen.Store(&now)
	i.m.Changed()
}

// ValidID reports whether an id may be the name of a folder.
func ValidID(id string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return id != "" && len(id) <= 128 && strings.Trim(id, characters) == ""
}
