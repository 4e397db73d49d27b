package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// Agent runs game server processes on this machine. Create it with New, and call Run
// once.
type Agent struct {
	opts      Options
	log       *slog.Logger
	server    *server
	host      *host
	link      *link.Link
	instances *instances
	uploads   *uploads
	reports   *reports
	machine   *instance.Machine
	scripts   *jail.Jailer // isolates install scripts
	groups    *group.Machine
	engines   *engines
	forwards  *forwards      // nil before an engine answers
	work      sync.WaitGroup // goroutines that end with the agent, not with a connection

	identified  chan struct{} // closed when the credential is known
	keepRunning atomic.Bool   // processes keep running when the agent ends
}

// maxStarts is how many container groups are started at the same time.
const maxStarts = 4

// New checks the options and creates the agent's folder. It starts nothing.
func New(o Options) (*Agent, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Root, 0o755); err != nil {
		return nil, fmt.Errorf("make the agent's folder: %w", err)
	}
	a := &Agent{opts: o, log: o.Log.With("component", "agent"), identified: make(chan struct{})}
	a.keepRunning.Store(o.KeepRunning)
	a.server = newServer(&a.opts, a.facts)
	a.uploads = newUploads(a.server, o.Root, a.log)
	var err error
	if a.reports, err = openReports(filepath.Join(o.Root, "reports")); err != nil {
		return nil, err
	}
	sampler := newSampler(o.Root)
	a.host = &host{uploads: a.uploads, reports: a.reports, sampler: sampler, log: a.log}
	a.link = link.New(link.LinkOptions{Server: a.server.Server, Host: a.host, Boot: bootID(), Pause: link.Flicker, Log: a.log})
	a.engines = newEngines(&a.opts, a.log, a.takeOverGroups)
	a.machine = &instance.Machine{
		Root: o.Root, Launcher: o.Launcher, RelayAll: o.RelayAll, KeepLogs: o.keepLogs, Named: o.Named,
		Jailer:   jail.New(jail.Options{Root: o.Root, Launcher: o.Launcher, Users: o.Users, Claims: o.UserClaims, Egress: o.Egress}),
		BuildKey: func() ed25519.PublicKey { return a.server.Credential().BuildKey },
		Full:     sampler.full, Usage: sampler.usage, Used: sampler.used, Exited: a.exited, Changed: a.link.Changed, Log: a.log,
	}
	if o.Server != "" {
		a.machine.Certify = a.server.certify
	}
	a.scripts = a.machine.Jailer
	if o.ScriptUsers.From > 0 && os.Geteuid() == 0 {
		a.scripts = jail.New(jail.Options{Root: o.Root, Launcher: o.Launcher, Users: o.ScriptUsers, Claims: o.UserClaims, KeepRootOut: true})
	}
	a.machine.Cache, err = install.New(install.Options{
		Dir: filepath.Join(o.Root, "cache"), Source: a.server.build, Free: sampler.disk, Log: a.log, RetryAfter: o.retryAfter,
		Staging: a.scripts.Staging(), Guest: a.scripts.Guest,
	})
	a.groups = &group.Machine{
		Root: o.Root, Engine: a.engines.engine, Images: group.NewImages(a.engines.engine, a.log), RelayAll: o.RelayAll, KeepLogs: o.keepLogs,
		Starts: make(chan struct{}, maxStarts), Full: sampler.full, Exited: a.exited, Changed: a.link.Changed, Log: a.log,
	}
	a.instances = &instances{m: a.machine, g: a.groups, byID: map[string]member{}}
	a.host.instances, a.host.tails = a.instances, newTails(a.instances)
	a.host.shells = &shells{server: a.server, instances: a.instances, facts: &a.opts.Facts, places: make(chan struct{}, maxShells), log: a.log}
	return a, err
}

// facts describes this machine to Muster.
func (a *Agent) facts() protocol.Facts {
	f := a.opts.Facts
	f.Engine = a.engines.of()
	f.Certificates, f.Tails = true, true
	f.LegacyClosed = a.LegacyClosed()
	return f
}

// exited stores the report of a process's end and has it sent.
func (a *Agent) exited(e protocol.Exited) {
	if err := a.reports.add(fits(e)); err != nil {
		a.log.Error("the end of a process is not kept on disk", "error", err)
	}
	a.link.Exited()
}

// Run does the agent's work until ctx ends. It fails if the machine cannot join, or if
// another agent uses the same folder.
func (a *Agent) Run(ctx context.Context) error {
	lock, err := a.lock()
	if err != nil {
		return fmt.Errorf("another agent works in %s: %w", a.opts.Root, err)
	}
	defer lock.Close()
	ctx = a.opts.Tracer.With(ctx)
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // for what ends in order, after ctx
	defer end()
	if err := a.prepare(); err != nil {
		return err
	}
	defer a.startRelay(life)()
	defer a.startCollector()()
	defer a.startGameAPI()()
	defer a.startLegacy()()
	if a.opts.Server != "" {
		if err := a.server.UseStored(ctx); err != nil { // instances that are resumed verify builds with it
			return err
		}
	}
	if err := a.instances.resume(life, &a.opts); err != nil {
		return err
	}
	if !a.opts.Containers.HostNetwork {
		a.resumed()
	}
	defer a.startEngine(life)()
	a.resumed() // where containers use the machine's network, those of a former agent are admitted now
	a.work.Go(func() {
		if wake.Sleep(ctx, unclaimed) {
			a.opts.Sockets.Drop()
		}
	})
	if err = a.identify(ctx); err == nil {
		close(a.identified)
		err = a.serve(ctx)
	} else {
		a.end(ctx)
	}
	a.work.Wait()
	a.host.shells.work.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lock locks the folder, so that no other agent uses it.
func (a *Agent) lock() (io.Closer, error) {
	return supervise.Lock(filepath.Join(a.opts.Root, "agent.lock"))
}

// prepare determines how processes are isolated, and removes unfinished installations
// of a former agent.
func (a *Agent) prepare() error {
	if text := fewPorts(a.opts.Facts); text != "" {
		a.log.Info(text)
	}
	if text := a.opts.onlyHere(); text != "" {
		a.log.Warn(text)
	}
	if err := a.isolate(); err != nil {
		return err
	}
	a.opts.Facts.Shells = a.opts.shellOffer(a.machine.Jailer)
	a.opts.Facts.ContainerShells = a.opts.containerShellOffer()
	if a.opts.Shells != NoShells && !a.opts.Facts.Shells.Offered {
		a.log.Warn("this machine refuses remote shells", "why", a.opts.Facts.Shells.Why)
	}
	return a.scripts.ClearStaging()
}

// fewPorts returns what to log where the ports are enough for fewer instances than there are
// processors, "" elsewhere. On a machine with fewer ports than an instance takes, one gets all.
func fewPorts(f protocol.Facts) string {
	n, processors := max(1, (f.PortTo-f.PortFrom+1)/protocol.PortsAnInstance), f.CPUMillis/1000
	if f.NoBuilds || n >= processors {
		return ""
	}
	return fmt.Sprintf("of the ports %d to %d each instance of a build takes %d: no more than %d can run here, although there are processors for more; offer more ports with --ports FROM-TO",
		f.PortFrom, f.PortTo, protocol.PortsAnInstance, n)
}

// ErrIsolation is returned if isolation is required and this machine does not support
// all of it.
var ErrIsolation = errors.New("isolation is required")

// isolate determines which parts of isolation this machine supports, and logs them. It
// fails if isolation is required and a part is missing.
func (a *Agent) isolate() error {
	if a.opts.Launcher == "" || a.opts.Unconfined {
		return nil
	}
	var missing []string
	for _, lack := range a.machine.Jailer.Find() {
		missing = append(missing, lack.Cause)
	}
	if len(missing) > 0 && a.opts.Required {
		return fmt.Errorf("%w: %s", ErrIsolation, strings.Join(missing, "; "))
	}
	a.opts.Facts.Isolation = a.machine.Jailer.Held()
	a.findGame()
	if a.opts.Users.From == 0 && len(missing) == 0 {
		return nil
	}
	a.log.Info("game servers are held to", "isolation", strings.Join(a.opts.Facts.Isolation, ", "))
	if len(missing) > 0 {
		a.log.Warn("this machine does not allow all isolation: host only builds that you trust", "missing", strings.Join(missing, "; "))
	}
	return nil
}

// findGame has builds seen where Amazon's hosts have them, if this machine allows that, and
// isolates install scripts where instances are not.
func (a *Agent) findGame() {
	if err := a.machine.Jailer.GameFolder(); err != nil && runtime.GOOS == "linux" {
		a.log.Info("programs name their files relative to their working directory", "because", err)
	}
	if a.scripts == a.machine.Jailer {
		return
	}
	for _, lack := range a.scripts.Find() {
		a.log.Info("install scripts are not isolated in each way", "missing", lack.Cause)
	}
	if err := a.scripts.GameFolder(); err != nil {
		a.log.Info("install scripts see their build in their working directory alone", "because", err)
	}
}

// HostID returns the id that this machine has at the server, "" if it has not joined.
func (a *Agent) HostID() string { return a.server.Credential().HostID }

// identify loads the credential or joins, if the agent works for a Muster.
func (a *Agent) identify(ctx context.Context) error {
	if a.opts.Server == "" {
		return nil
	}
	if err := a.server.Identify(ctx); err != nil {
		return err
	}
	if at := a.server.Credential().Location; a.opts.Location != "" && a.opts.Location != at {
		return fmt.Errorf("this machine belongs to location %s, not %s; a host stays where it joined", at, a.opts.Location)
	}
	return nil
}

// serve keeps the link to Muster until ctx ends and the last reports are sent. If the
// host was removed, serve ends everything that runs and returns an error that wraps link.ErrRemoved.
func (a *Agent) serve(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	defer unlink()
	a.work.Go(func() { a.collectBuilds(ctx) })
	removed := make(chan error, 1)
	if a.opts.Server != "" {
		a.work.Go(func() {
			if err := a.link.Keep(linked); err != nil {
				removed <- err
			}
		})
	}
	select {
	case <-ctx.Done():
	case err := <-removed:
		a.log.Error("this host was removed; its game servers are ended")
		a.instances.clear()
		a.end(linked)
		return err
	}
	a.end(linked)
	for end := time.Now().Add(a.opts.lastReports); len(a.reports.after(0)) > 0 && time.Now().Before(end); {
		wake.Sleep(linked, 10*time.Millisecond)
	}
	return nil
}

// collectBuilds periodically removes builds that no instance uses.
func (a *Agent) collectBuilds(ctx context.Context) {
	for wake.Sleep(ctx, protocol.Period) {
		if err := a.machine.Cache.Collect(a.instances.builds()); err != nil {
			a.log.Warn("builds not removed", "error", err)
		}
	}
}

// end ends the work on instances. Processes are left to the next agent, or stopped and
// reported.
func (a *Agent) end(ctx context.Context) {
	if a.keepRunning.Load() {
		a.instances.detach()
		return
	}
	a.instances.stop(ctx, a.opts.StopGrace)
}

// unclaimed is how long the sockets of a former agent wait for what opens them again: those for
// containers, for an engine.
const unclaimed = time.Minute

// resumed opens the interfaces for game servers, to which those of a former agent are admitted.
func (a *Agent) resumed() {
	if a.machine.Relay != nil {
		a.machine.Relay.Resumed()
	}
	if a.machine.Game != nil {
		a.machine.Game.Resumed()
	}
	if a.machine.Legacy != nil {
		a.machine.Legacy.Resumed()
	}
}

// KeepRunning leaves the processes running when the agent ends, regardless of
// Options.KeepRunning: the next agent takes them over.
func (a *Agent) KeepRunning() { a.keepRunning.Store(true) }

// HandOver is KeepRunning for an agent that is replaced in this process: Options.Sockets keeps
// the sockets of the interfaces for game servers for the next one.
func (a *Agent) HandOver() error {
	if err := a.opts.Sockets.Pass(); err != nil {
		return err
	}
	a.KeepRunning()
	return nil
}

// Cleanup ends the processes that a former agent left running below Root, removes the
// folders of its instances, and returns how many there were; builds and the credential
// stay. It fails if an agent uses the folder. It is called instead of Run, without a
// Server.
func (a *Agent) Cleanup(ctx context.Context) (ended int, err error) {
	lock, err := a.lock()
	if err != nil {
		return 0, fmt.Errorf("an agent works in %s; end it first: %w", a.opts.Root, err)
	}
	defer lock.Close()
	if err := a.prepare(); err != nil {
		return 0, err
	}
	if err := a.instances.store(protocol.Assign{}); err != nil {
		return 0, fmt.Errorf("forget the last desired state: %w", err)
	}
	var left []string
	for _, kind := range []string{"slots", "groups"} {
		folders, err := filepath.Glob(filepath.Join(instance.Folders(a.opts.Root), "*", kind))
		if err != nil {
			return 0, err
		}
		left = append(left, folders...)
	}
	ctx = context.WithoutCancel(ctx)
	if err := a.instances.resume(ctx, &a.opts); err != nil { // ends instances that nothing names
		return 0, err
	}
	defer a.startEngine(ctx)()
	a.instances.clear()
	a.end(ctx)
	return len(left), nil
}

// Runs reports whether a process of an instance runs here.
func (a *Agent) Runs(instanceID, processID string) bool {
	i := a.instances.find(instanceID)
	return i != nil && i.Runs(processID)
}

// Ship writes an archive of a process's logs to where send reads them, and removes the
// process's own log folder once send has succeeded, like a Collect message from Muster.
func (a *Agent) Ship(c protocol.Collect, send func(archive io.Reader) error) error {
	i := a.instances.find(c.InstanceID)
	if i == nil {
		return errors.New("the instance is gone, and its logs with it")
	}
	r, w := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		w.CloseWithError(i.PackLogs(w, c))
	}()
	err := send(r)
	r.Close()
	<-packed
	if err != nil {
		return err
	}
	return i.DropLogs(c.ProcessID)
}

// Kill ends a process of an instance, like a Kill message from Muster.
func (a *Agent) Kill(k protocol.Kill) {
	if i := a.instances.find(k.InstanceID); i != nil {
		i.Kill(k)
	}
}

// Again starts processes of an instance at once that wait after crashes: their program has
// changed.
func (a *Agent) Again(instanceID string) {
	if i, ok := a.instances.find(instanceID).(*instance.Instance); ok {
		i.Again()
	}
}
