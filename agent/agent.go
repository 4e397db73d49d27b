package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/collector"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
)

// Agent runs game server processes on this machine. Create it with New, and call Run
// once.
type Agent struct {
	opts    Options
	log     *slog.Logger
	http    *http.Client
	cache   *install.Cache
	reports *reports
	sampler *sampler
	isolation
	metrics *collector.Collector // nil if there is none
	relay   *relay.Relay         // for fleets that use it; nil without a server
	uploads chan struct{}        // slots for archives of logs being made and sent

	me         credential
	relayed    chan struct{} // closed when a process is to be relayed
	relayOnce  sync.Once
	run        string        // identifies this run of the agent to Muster
	changed    chan struct{} // the status may differ from the one sent last
	exited     chan struct{} // there are new reports to send
	secretKept chan struct{} // a new secret is on disk
	stored     chan protocol.LogsStored
	work       sync.WaitGroup // goroutines that end with the agent, not with a connection

	userMutex sync.Mutex   // guards the assignment of users
	guests    map[int]bool // users of running install scripts

	mu        sync.Mutex
	instances map[string]*instance
	leaving   bool // no new instances begin

	leaves atomic.Bool   // processes keep running when the agent ends
	at     atomic.Uint32 // index of the server in use
}

// New checks the options and creates the agent's folder. It starts nothing.
func New(o Options) (*Agent, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make the agent's folder: %w", err)
	}
	a := &Agent{
		opts: o, log: o.Log.With("component", "agent"),
		http:    &http.Client{Transport: &http.Transport{TLSClientConfig: o.TLS, Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 30 * time.Second}},
		changed: make(chan struct{}, 1),
		relayed: make(chan struct{}),
		exited:  make(chan struct{}, 1),
		run:     rand.Text(), secretKept: make(chan struct{}, 1),
		stored:    make(chan protocol.LogsStored, 64),
		uploads:   make(chan struct{}, maxUploads),
		sampler:   newSampler(o.Root),
		instances: map[string]*instance{},
		guests:    map[int]bool{},
	}
	a.leaves.Store(o.Leave)
	var err error
	a.cache, err = install.New(install.Options{
		Dir: filepath.Join(o.Root, "cache"), Source: a.fetchBuild, Free: a.sampler.disk, Log: a.log, RetryAfter: o.retryAfter,
		Staging: a.staging(), Guest: a.receive,
	})
	if err != nil {
		return nil, err
	}
	a.reports, err = openReports(filepath.Join(o.Root, "reports"))
	return a, err
}

// Run does the agent's work until ctx ends. It fails if the machine cannot join, or if
// another agent uses the same folder.
func (a *Agent) Run(ctx context.Context) error {
	lock, err := supervise.Lock(filepath.Join(a.opts.Root, "agent.lock"))
	if err != nil {
		return fmt.Errorf("another agent works in %s: %w", a.opts.Root, err)
	}
	defer lock.Close()
	if err := a.findIsolation(); err != nil {
		return err
	}
	if err := a.clearStaging(); err != nil {
		return err
	}
	defer a.startRelay()()
	defer a.startCollector()()
	if a.opts.Server != "" {
		me, err := a.keptCredential() // resumed instances verify builds with it
		if err != nil {
			return err
		}
		a.be(me)
	}
	if err := a.resume(); err != nil {
		return err
	}
	a.startOwn()
	if a.opts.Server != "" {
		var me credential
		me, err = a.identify(ctx)
		a.be(me)
		if err == nil && a.opts.Location != "" && a.opts.Location != me.Location {
			err = fmt.Errorf("this machine belongs to location %s, not %s; a host stays where it joined", me.Location, a.opts.Location)
		}
	}
	if err == nil {
		err = a.serve(ctx)
	} else {
		a.letGo(ctx)
	}
	a.work.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lastReports is how long the agent tries to send its last reports to Muster.
const lastReports = 3 * time.Second

// serve keeps the link to Muster until ctx ends and the last reports are sent. If the
// host was removed, serve ends everything that runs and returns errRemoved.
func (a *Agent) serve(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	defer unlink()
	a.work.Go(func() { a.housekeep(ctx) })
	removed := make(chan error, 1)
	if a.opts.Server != "" {
		a.work.Go(func() {
			if err := a.stayLinked(linked); err != nil {
				removed <- err
			}
		})
	}
	select {
	case <-ctx.Done():
	case err := <-removed:
		a.log.Error("this host was removed; its game servers are ended")
		a.clear()
		return err
	}
	a.letGo(linked)
	for end := time.Now().Add(lastReports); len(a.reports.after(0)) > 0 && time.Now().Before(end); {
		pause(linked, 10*time.Millisecond)
	}
	return nil
}

// clear ends all instances immediately and removes their folders.
func (a *Agent) clear() {
	a.assign(protocol.Assign{Instances: []protocol.Desired{}})
	for _, i := range a.all() {
		<-i.finished
		if err := os.RemoveAll(i.dir); err != nil {
			a.log.Warn("the folder of an instance is left", "instance", i.id, "error", err)
		}
	}
	a.letGo(context.Background())
}

// Cleanup ends the processes that a former agent left running below Root, removes the
// folders of its instances, and returns how many there were; builds and the credential
// stay. It fails if an agent uses the folder. It is called in place of Run, without a
// Server.
func (a *Agent) Cleanup() (instances int, err error) {
	lock, err := supervise.Lock(filepath.Join(a.opts.Root, "agent.lock"))
	if err != nil {
		return 0, fmt.Errorf("an agent works in %s; end it first: %w", a.opts.Root, err)
	}
	defer lock.Close()
	if err := errors.Join(a.findIsolation(), a.clearStaging()); err != nil {
		return 0, err
	}
	if err := writeJSON(filepath.Join(a.opts.Root, wishFile), protocol.Assign{}); err != nil {
		return 0, fmt.Errorf("forget the last wish: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(a.opts.Root, "instances", "*", "slots"))
	if err != nil {
		return 0, err
	}
	if err := a.resume(); err != nil { // ends instances that no wish names
		return 0, err
	}
	a.clear()
	a.work.Wait()
	return len(left), nil
}

// wishFile is the file of the last wish below Root.
const wishFile = "wish.json"

// resume continues with the last wish that a former agent received.
func (a *Agent) resume() error {
	var last protocol.Assign
	err := readJSON(filepath.Join(a.opts.Root, wishFile), &last)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the last wish: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range last.Instances {
		if !validID(w.InstanceID) {
			continue
		}
		i := newInstance(a, w, nil)
		i.resumed = i.resume() // before the first Status is sent
		a.begin(i)
	}
	return a.resumeUnnamed()
}

// resumeUnnamed takes over instances that are on disk although the last wish does not
// name them: the former agent died before it had ended them, or could not store a newer
// wish. Muster's next wish decides about them; without a server they are ended. The
// caller must hold a.mu.
func (a *Agent) resumeUnnamed() error {
	entries, err := os.ReadDir(filepath.Join(a.opts.Root, "instances"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for instances: %w", err)
	}
	for _, e := range entries {
		id := e.Name()
		isOwn := slices.ContainsFunc(a.opts.Own, func(o *Own) bool { return o.Desired.InstanceID == id })
		if !e.IsDir() || !validID(id) || a.instances[id] != nil || isOwn {
			continue
		}
		i := newInstance(a, protocol.Desired{InstanceID: id, PortFrom: a.opts.Facts.PortFrom, PortTo: a.opts.Facts.PortTo}, nil)
		i.unnamed = true
		i.resumed = i.resume()
		if a.opts.Server == "" {
			i.forgo()
		}
		a.begin(i)
	}
	return nil
}

// assign stores a new wish and applies it.
func (a *Agent) assign(wish protocol.Assign) {
	if err := writeJSON(filepath.Join(a.opts.Root, wishFile), wish); err != nil {
		a.log.Error("the wish is not kept; a restart would go on with an older one", "error", err)
	}
	a.apply(wish)
}

func (a *Agent) apply(wish protocol.Assign) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaving {
		return // the wish is on disk for the next agent
	}
	named := map[string]bool{}
	for _, w := range wish.Instances {
		named[w.InstanceID] = true
		i := a.instances[w.InstanceID]
		if i != nil {
			i.want(w)
			continue
		}
		if !validID(w.InstanceID) {
			a.log.Error("an instance has an id that cannot be a folder's name", "instance", w.InstanceID)
			continue
		}
		a.begin(newInstance(a, w, nil))
	}
	for id, i := range a.instances {
		if !named[id] && i.own == nil {
			i.forgo()
		}
	}
	nudge(a.changed)
}

// begin starts an instance's goroutine. The caller must hold a.mu.
func (a *Agent) begin(i *instance) {
	a.instances[i.id] = i
	a.work.Go(func() {
		i.run()
		nudge(a.changed)
	})
}

// LeaveProcesses keeps the processes running when the agent ends, regardless of
// Options.Leave: a successor takes them over.
func (a *Agent) LeaveProcesses() { a.leaves.Store(true) }

// find returns an instance, or nil.
func (a *Agent) find(id string) *instance {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.instances[id]
}

func (a *Agent) all() []*instance {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]*instance, 0, len(a.instances))
	for _, i := range a.instances {
		list = append(list, i)
	}
	return list
}

// housekeep periodically removes instances that are gone and no longer in the wish, and
// builds that no instance uses.
func (a *Agent) housekeep(ctx context.Context) {
	for pause(ctx, protocol.Period) {
		a.bury()
		if err := a.cache.Collect(a.buildsInUse()); err != nil {
			a.log.Warn("builds not removed", "error", err)
		}
	}
}

func (a *Agent) bury() {
	for _, i := range a.all() {
		if !i.over() {
			continue
		}
		if err := os.RemoveAll(i.dir); err != nil {
			a.log.Warn("the folder of an instance is left", "instance", i.id, "error", err)
		}
		a.mu.Lock()
		delete(a.instances, i.id)
		a.mu.Unlock()
		nudge(a.changed)
	}
}

func (a *Agent) buildsInUse() map[string]bool {
	used := map[string]bool{}
	for _, i := range a.all() {
		used[i.wished().Build.SHA256] = true
	}
	return used
}

// letGo ends the agent's work: processes are left running, or stopped and reported.
func (a *Agent) letGo(ctx context.Context) {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	var ends sync.WaitGroup
	for _, i := range a.all() {
		ends.Go(func() { i.letGo(ctx) })
	}
	ends.Wait()
}
