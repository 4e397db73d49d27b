package group

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Machine holds what the instances of an agent share.
type Machine struct {
	Root      string        // the agent's folder
	Engine    func() Engine // nil while no container engine answers
	Images    *Images
	RelayAll  bool // the game servers of every fleet connect through the agent
	Endpoints atomic.Pointer[Endpoints]
	Starts    chan struct{} // holds a value for each group being started; nil: any number at a time
	KeepLogs  time.Duration // how long an instance's folder outlives it, so that logs can be fetched

	Full func() bool // reports whether the disk is too full to launch anything
	// Free reports whether no program holds a port of this machine; nil: a port is free if it can be bound.
	Free    func(port int, protocol string) bool
	Exited  func(protocol.Exited) // stores the report of a process's end, and sends it
	Changed func()                // called when Report or Over has changed; does not block
	Log     *slog.Logger
}

// Endpoints are what the agent itself serves to containers. It is stored before groups of a
// former agent are adopted.
type Endpoints struct {
	Relay     Relay      // nil: game servers connect directly
	Discovery *Discovery // nil: containers cannot ask for their neighbors
	Game      Game       // nil: there is no HTTP interface for programs without a Server SDK
	Legacy    Legacy     // nil: containers do not reach the ports of Server SDK 3 and 4
	// Forward returns the URL at which containers reach an endpoint that only this machine
	// reaches; nil if they reach none.
	Forward func(endpoint string) (string, error)
}

// endpoints returns the endpoints; there may be none.
func (m *Machine) endpoints() Endpoints {
	if e := m.Endpoints.Load(); e != nil {
		return *e
	}
	return Endpoints{}
}

// Relay lets game servers connect to Muster through the agent.
type Relay interface {
	URL() string // as containers reach it
	Admit(processID, token string, upstream func() string)
	Forget(processID string) (left bool)
}

// Game is the HTTP interface for programs without a Server SDK.
type Game interface {
	URL() string // as containers reach it
	Admit(gameapi.Admission) *gameapi.Process
	Forget(processID string, clean bool) (left bool)
}

// Legacy are the ports of Server SDK 3 and 4.
type Legacy interface {
	Admit(legacy.Admission)
	Forget(processID string) (left bool)
}

// Own is an instance with an image on this machine, of a developer's own game server. It
// connects as a compute that is registered for it.
type Own struct {
	Desired protocol.Desired            // with a group for each copy, without tokens
	Token   func() (string, error)      // returns the auth token of each launch
	OnStart func(processID string)      // called after each start; may be nil
	OnEnd   func(processID, how string) // called after each end, and failed start; may be nil
	Out     io.Writer                   // gets a copy of the output of its game server; may be nil

	mu sync.Mutex // guards Out
}

// Instance is one slice of this machine that runs the container groups of a fleet.
type Instance struct {
	id   string
	own  *Own // nil for instances that Muster assigns
	home home
	m    *Machine
	log  *slog.Logger

	ctx      context.Context    // outlives Run: containers are stopped after it
	life     context.Context    // of Run
	end      context.CancelFunc // ends life
	posts    chan func()        // for Run to call
	finished chan struct{}      // closed when Run has returned
	gone     chan struct{}      // closed when nothing of the instance runs any more
	jobs     sync.WaitGroup     // pulling, starting, ending, and waiting for containers
	seen     atomic.Pointer[view]
	tokens   sync.Map // auth tokens of computes, for the relay: by group name

	// Only Run uses the fields below.
	desired   protocol.Desired
	named     bool // false: a former agent left it, and no known desired state names it
	searched  bool // the engine was asked for what a former agent left
	forgotten bool // the desired state no longer names it
	groups    map[string]*group
	fetched   bool // the images of a group are here
	phase     protocol.Phase
	goneAt    time.Time
	over      bool
}

// view is what other goroutines see of an instance.
type view struct {
	desired protocol.Desired
	report  protocol.Instance // without what changes by itself
	running map[string]Containers
	beside  map[string]bool // groups that run once beside the game servers
	over    bool            // nothing is left, not even its folder
}

// Options configure an Instance.
type Options struct {
	Desired protocol.Desired
	Own     *Own // for an image on this machine
	// Unnamed says that a former agent left the instance and that no known desired
	// state names it. Its groups keep running until Want or Forget decides about it.
	Unnamed bool
	Left    []Containers // that a former agent left
	// Searched says that Left is all; otherwise nothing starts before Adopt.
	Searched bool
}

// New returns an instance, which takes over the groups that a former agent left. ctx ends
// when the agent has ended; groups that still run then are left to the next agent.
func New(ctx context.Context, m *Machine, o Options) *Instance {
	d := o.Desired
	i := &Instance{
		id: d.InstanceID, own: o.Own, home: homeOf(m.Root, d.InstanceID), m: m,
		log: m.Log.With("instance", d.InstanceID, "fleet", d.FleetID),
		ctx: ctx, posts: make(chan func()), finished: make(chan struct{}), gone: make(chan struct{}),
		desired: d, named: !o.Unnamed, searched: o.Searched, groups: map[string]*group{}, phase: protocol.Downloading,
	}
	i.life, i.end = context.WithCancel(ctx)
	i.fit()
	i.adopt(o.Left)
	i.show()
	return i
}

// adopt takes over groups that a former agent left. Of two runs of one group, the older
// one is ended.
func (i *Instance) adopt(left []Containers) {
	slices.SortFunc(left, func(a, b Containers) int { return b.Labels().Started.Compare(a.Labels().Started) })
	for _, c := range left {
		name := c.Labels().Group
		g := i.groups[name]
		if g == nil {
			g = &group{i: i, name: name}
			i.groups[name] = g
		}
		if g.running != nil {
			i.log.Error("a group runs twice; the older run is ended", "group", name, "process_id", c.Labels().ProcessID)
			i.jobs.Go(func() { discard(i.life, c, i.log) })
			continue
		}
		g.adopt(c)
		i.fetched = true
	}
}

// fit creates the groups that the desired state names, and notes which ones it does not.
func (i *Instance) fit() {
	for _, g := range i.groups {
		g.named = false
	}
	for _, d := range i.desired.Groups {
		if !validName(d.Name) {
			i.log.Error("a container group has a name that cannot be a file's", "group", d.Name)
			continue
		}
		g := i.groups[d.Name]
		if g == nil {
			g = &group{i: i, name: d.Name}
			i.groups[d.Name] = g
		}
		g.want(d)
		i.tokens.Store(d.Name, d.AuthToken)
	}
}

// IsOwn reports whether the instance is of an image on this machine, rather than assigned
// by Muster.
func (i *Instance) IsOwn() bool { return i.own != nil }

// Build returns "": an instance of a container fleet has no build.
func (i *Instance) Build() string { return "" }

// Want replaces the desired state.
func (i *Instance) Want(d protocol.Desired) {
	i.post(func() {
		i.desired, i.named, i.forgotten = d, true, false
		i.fit()
	})
}

// Forget ends the instance because the desired state of the host no longer names it.
func (i *Instance) Forget() {
	i.post(func() { i.forgotten, i.desired.Stop = true, protocol.End })
}

// Adopt takes over the groups of a former agent that were found after New.
func (i *Instance) Adopt(left []Containers) {
	i.post(func() {
		if i.searched || i.life.Err() != nil {
			return
		}
		var unknown []*group
		for _, g := range i.inOrder() {
			if g.isUnknown() {
				unknown = append(unknown, g)
			}
		}
		i.searched = true
		i.adopt(left)
		for _, g := range unknown {
			if g.running == nil {
				g.missed()
			}
		}
	})
}

// Settle waits until what was said before is done.
func (i *Instance) Settle() { i.post(func() {}) }

// Kill ends the run of a group, after the grace period in which it may end by itself.
func (i *Instance) Kill(k protocol.Kill) {
	kill := func() {
		if g := i.find(k.ProcessID); g != nil && g.killed == "" {
			g.killed = cmp.Or(k.Reason, codeStopped)
		}
	}
	i.post(func() {
		switch {
		case i.life.Err() != nil:
		case k.Grace <= 0:
			kill()
		default:
			i.jobs.Go(func() {
				if wake.Sleep(i.life, k.Grace) {
					i.post(kill)
				}
			})
		}
	})
}

// find returns the group whose current run has an id, or nil. Only Run calls it.
func (i *Instance) find(processID string) *group {
	for _, g := range i.groups {
		if g.running != nil && g.labels.ProcessID == processID {
			return g
		}
	}
	return nil
}

// Detach ends Run and leaves the groups to the next agent.
func (i *Instance) Detach() {
	i.end()
	<-i.finished
}

// Stop ends Run and the groups, by force after the grace period or when ctx ends.
func (i *Instance) Stop(ctx context.Context, grace time.Duration) {
	i.end()
	<-i.finished
	var stops sync.WaitGroup
	for _, g := range i.groups {
		if g.running != nil {
			e := g.ending()
			stops.Go(func() { e.conclude(ctx, grace, codeStopped) })
			g.running, g.started = nil, false
		}
	}
	stops.Wait()
	i.show()
}

// Gone returns a channel that is closed when nothing of the instance runs any more.
func (i *Instance) Gone() <-chan struct{} { return i.gone }

// Over reports whether nothing is left of the instance, not even its folder.
func (i *Instance) Over() bool { return i.seen.Load().over }

// Desired returns the desired state.
func (i *Instance) Desired() protocol.Desired { return i.seen.Load().desired }

// Runs reports whether a process runs here.
func (i *Instance) Runs(processID string) bool {
	return slices.ContainsFunc(i.seen.Load().report.Groups, func(g protocol.GroupStatus) bool { return g.ProcessID == processID })
}

// Report returns the instance as it is reported to Muster.
func (i *Instance) Report() protocol.Instance {
	v := i.seen.Load()
	r := v.report
	r.Groups = slices.Clone(r.Groups)
	for n := range r.Groups {
		g := &r.Groups[n]
		if c := v.running[g.Name]; c != nil {
			g.Containers, g.Usage = c.Status(), c.Usage()
			r.Usage.CPUMillis += g.Usage.CPUMillis
			r.Usage.MemoryMiB += g.Usage.MemoryMiB
		}
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
	for i.life.Err() == nil {
		var due <-chan time.Time
		if next := i.act(time.Now()); !next.IsZero() {
			timer.Reset(time.Until(next))
			due = timer.C
		}
		i.show()
		select {
		case <-i.life.Done():
		case <-due:
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
			i.show()
			close(i.finished)
			return
		}
	}
}

// act makes the moves that are due, and returns when to call it again; the zero time
// means after the next change.
func (i *Instance) act(now time.Time) (next time.Time) {
	for _, g := range i.inOrder() {
		if at := g.act(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	i.sweep()
	if i.setPhase(); i.phase != protocol.Gone || !i.forgotten {
		return next
	}
	if at := i.goneAt.Add(i.m.KeepLogs); at.After(now) {
		return at
	}
	i.remove()
	return time.Time{}
}

// inOrder returns the groups: those of game servers first, since one beside them ends when
// they are gone.
func (i *Instance) inOrder() []*group {
	return slices.SortedFunc(maps.Values(i.groups), func(a, b *group) int {
		if a.desired.PerInstance != b.desired.PerInstance {
			return cmp.Compare(btoi(a.desired.PerInstance), btoi(b.desired.PerInstance))
		}
		return cmp.Compare(a.name, b.name)
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sweep forgets groups that are gone and that the desired state does not name.
func (i *Instance) sweep() {
	for name, g := range i.groups {
		if g.status == Gone && !g.named {
			delete(i.groups, name)
			i.tokens.Delete(name)
		}
	}
}

// setPhase determines the phase of the instance.
func (i *Instance) setPhase() {
	to := i.nextPhase()
	if to == i.phase {
		return
	}
	i.log.Info("instance", "phase", to)
	i.phase = to
	if to == protocol.Gone {
		i.goneAt = time.Now()
		close(i.gone)
	}
}

// nextPhase returns the phase that the groups imply.
func (i *Instance) nextPhase() protocol.Phase {
	switch {
	case i.phase == protocol.Gone:
		return protocol.Gone
	case i.desired.Stop != protocol.Keep && !i.hasLeft():
		return protocol.Gone
	case i.desired.Stop != protocol.Keep:
		return protocol.Draining
	case i.fetched:
		return protocol.Activating
	case i.refused() != nil:
		return protocol.Failed
	}
	return protocol.Downloading
}

// hasLeft reports whether a group is not gone, as far as is known.
func (i *Instance) hasLeft() bool {
	if !i.searched {
		return true
	}
	for _, g := range i.groups {
		if g.status != Gone {
			return true
		}
	}
	return false
}

// refused returns a group whose images cannot be had, as far as is known, or nil.
func (i *Instance) refused() *group {
	for _, g := range i.inOrder() {
		if (g.status == Failed || g.status == Pulling) && g.problem.lasts {
			return g
		}
	}
	return nil
}

// remove ends Run and removes the folder in another goroutine.
func (i *Instance) remove() {
	i.end()
	i.jobs.Go(func() {
		if err := i.Remove(); err != nil {
			i.log.Warn("the folder of an instance is left", "error", err)
		}
		i.post(func() { i.over = true })
	})
}

// show publishes the view to other goroutines.
func (i *Instance) show() {
	v := &view{desired: i.desired, over: i.over, running: map[string]Containers{}, beside: map[string]bool{}}
	v.report = protocol.Instance{InstanceID: i.id, Phase: i.phase}
	if g := i.refused(); g != nil && i.phase == protocol.Failed {
		v.report.Code, v.report.Cause = g.problem.code, g.problem.cause
	}
	least := 100
	for _, g := range i.inOrder() {
		v.report.Groups = append(v.report.Groups, g.report())
		v.beside[g.name] = g.desired.PerInstance
		if g.running != nil {
			v.running[g.name] = g.running
		}
		if g.status == Pulling {
			least = min(least, g.done)
		}
	}
	if i.phase == protocol.Downloading {
		v.report.Done = least
	}
	before := i.seen.Swap(v)
	if d := i.m.endpoints().Discovery; d != nil {
		shown := map[string]bool{}
		for _, g := range i.groups {
			shown[g.labels.ProcessID] = g.running != nil
		}
		d.shown(shown)
	}
	if before == nil || before.over != v.over || !reflect.DeepEqual(before.report, v.report) {
		i.m.Changed()
	}
}

// validName reports whether the name of a group may be a file's.
func validName(name string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return name != "" && len(name) <= 128 && strings.Trim(name, characters) == ""
}
