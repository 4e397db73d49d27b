package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tracing"
)

// Options say what to host.
type Options struct {
	Launcher   string               // agent.Options.Launcher
	Managed    bool                 // managed fleets may use this machine
	Shells     bool                 // operators may open shells in instances here, as this process's user
	Exec       *Program             // a developer's own game server; nil for none
	Image      *Image               // a developer's own game server in a container image; nil for none
	Containers agent.Containers     // agent.Options.Containers
	Legacy     *legacy.Ports        // agent.Options.Legacy
	Named      instance.NamedRanges // agent.Options.Named
	IP         string               // address of game servers here for players; default: Loopback
	IPv6       string               // likewise, beside an IPv4 address; "" for none
	StopGrace  time.Duration        // time for processes to end when the host stops; default 5 s
}

// Program is a game server on this machine.
type Program struct {
	Name   string // for people; default: Path
	Path   string
	Dir    string    // working directory; default: our own
	Args   []string  // {port} stands for the port
	Port   int       // that it listens on; 0 selects a free one for each copy
	Copies int       // default 1; more require Port 0
	Output io.Writer // where its output is shown; default: Services.Out
	Quiet  bool      // neither its output nor anything about it is printed
	Reload []string  // files and folders; when one changes, its game servers start anew, after the game sessions that they host

	// Instance is the id of its instance; default: one for --exec. Processes that outlive
	// a killed server are taken over by a program with the same one, and ended by others.
	Instance string

	Place func(context.Context) (Place, error) // makes the place that hosts it; default: one for --exec
}

// Services are what the host uses.
type Services struct {
	Places
	Dir           string      // the agent's
	URL           string      // base URL, for the commands it prints
	GameServerURL string      // where game servers connect
	TLS           *tls.Config // how the agent trusts a server of https, through which game servers then connect; nil: URLs are of plain HTTP
	Login         string      // what to export before the printed commands
	Region        string
	JoinToken     func(context.Context) (string, error) // lets this machine join
	Out           io.Writer                             // for messages and the program's output
	Tracer        *tracing.Tracer                       // of the agent's spans; nil makes none

	// StoreLogs stores an archive of the logs of an ended process that hosted a game session.
	StoreLogs func(ctx context.Context, of compute.Ref, gameSessionID string, archive io.Reader) error

	Logger *slog.Logger
}

// execName names the fleet, the alias and the instance of --exec.
const execName = "exec"

// Host is the agent of this process. Use New to create one, and Run to run it.
type Host struct {
	opts  Options
	s     Services
	log   *slog.Logger
	agent atomic.Pointer[agent.Agent]
	place atomic.Pointer[Place]
	id    string    // of the program's instance
	out   io.Writer // for what people are told about the program
	hint  sync.Once

	reloader *reloader // of the program; nil if it is not reloaded
}

// New returns a host. It starts and creates nothing yet.
func New(o Options, s Services) *Host {
	if o.StopGrace == 0 {
		o.StopGrace = 5 * time.Second
	}
	h := &Host{opts: o, s: s, log: s.Logger.With("component", "host"), out: s.Out}
	switch {
	case o.Exec != nil:
		h.id = cmp.Or(o.Exec.Instance, execName)
		if o.Exec.Quiet {
			h.out = io.Discard
		}
		if len(o.Exec.Reload) > 0 {
			h.reloader = &reloader{h: h, paths: o.Exec.Reload, running: map[string]bool{}}
		}
	case o.Image != nil:
		h.id = imageName
	}
	return h
}

// Run hosts until ctx ends; then it ends the processes. Errors are logged and printed,
// and end only the hosting.
func (h *Host) Run(ctx context.Context) {
	if err := h.run(store.WithActor(ctx, "host")); err != nil && ctx.Err() == nil {
		h.log.Error("hosting ended", "error", err)
		fmt.Fprintf(h.s.Out, "Nothing is hosted any more: %v\n", err)
	}
}

func (h *Host) run(ctx context.Context) error {
	o := agent.Options{Root: h.s.Dir, StopGrace: h.opts.StopGrace, Launcher: h.opts.Launcher, Containers: h.opts.Containers, Legacy: h.opts.Legacy, Named: h.opts.Named, Tracer: h.s.Tracer, Log: h.s.Logger}
	if h.opts.Managed {
		o.Server, o.Plain, o.Facts, o.Collect = h.s.URL, true, h.offer(), true
		if h.opts.Shells {
			o.Shells = agent.AnyShells
		}
		o.TLS, o.RelayAll = h.s.TLS, h.s.TLS != nil
		o.NewToken = func() (string, error) { return h.s.JoinToken(ctx) }
	}
	if h.opts.Launcher != "" {
		o.ScriptUsers, o.UserClaims = scriptUsers(h.s.Dir), filepath.Join(h.s.Dir, "users")
	}
	if h.opts.Exec != nil {
		own, err := h.exec(ctx, *h.opts.Exec)
		if err != nil {
			return err
		}
		o.Own = append(o.Own, own)
	}
	if h.opts.Image != nil {
		own, err := h.image(ctx, *h.opts.Image)
		if err != nil {
			return err
		}
		o.OwnImages = append(o.OwnImages, own)
	}
	a, err := agent.New(o)
	if err != nil {
		return err
	}
	h.agent.Store(a)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer stop()
	if h.reloader != nil {
		jobs.Go(func() { h.reloader.run(run) })
	}
	defer context.AfterFunc(ctx, func() {
		h.retire(run)
		stop()
	})()
	return a.Run(run)
}

// retire says that the end of the program's processes is no crash, and tells them, before they
// are ended.
func (h *Host) retire(ctx context.Context) {
	place := h.place.Load()
	if place == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for p := range h.s.Computes.Processes(h.s.Store.View(), place.FleetID, "") {
		if !h.Owns(p.Ref()) {
			continue
		}
		if err := h.s.Computes.Retire(ctx, p.Ref()); err != nil {
			h.log.Error("a process is not told that its host stops", "process_id", p.ID, "error", err)
		}
	}
}

// offer returns what this machine offers to managed fleets: more than it has, so that
// every instance type fits on a developer's machine. The ports begin elsewhere for each data
// directory, for the reason of someFirstPort, and with the same one after a restart.
func (h *Host) offer() protocol.Facts {
	const enough = 64 * protocol.PortsAnInstance // one for each processor
	sum := fnv.New32a()
	sum.Write([]byte(h.s.Dir))
	first := firstPort + int(sum.Sum32()%(lastPort-firstPort-enough))
	return protocol.Facts{IPAddress: h.s.IP, IPv6: h.s.IPv6, CPUMillis: 64_000, MemoryMiB: 256 << 10, PortFrom: first, PortTo: lastPort}
}

// scriptUsers returns the numbers of the users of install scripts, if this is root. Each data
// directory has others, since it records by itself which are in use.
func scriptUsers(dir string) jail.Users {
	const few, ranges = 100, 900_000
	sum := fnv.New32a()
	sum.Write([]byte(dir))
	first := jail.DefaultUsers.To + 1 + int(sum.Sum32()%ranges)*few
	return jail.Users{From: first, To: first + few - 1}
}

// exec creates the place of the developer's program and returns how to run it.
func (h *Host) exec(ctx context.Context, p Program) (*instance.Own, error) {
	path, err := filepath.Abs(p.Path)
	if err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	if p.Place == nil {
		p.Place = func(ctx context.Context) (Place, error) {
			return h.s.Make(ctx, execName, "The game server of muster local --exec", Anybody)
		}
	}
	place, err := p.Place(ctx)
	if err != nil {
		return nil, err
	}
	h.place.Store(&place)
	h.tour(place, cmp.Or(p.Name, p.Path), execName)
	if p.Output == nil && !p.Quiet {
		p.Output = h.s.Out
	}
	return &instance.Own{
		Desired: protocol.Desired{
			InstanceID: h.id, FleetID: place.FleetID, Compute: ComputeName, Location: h.s.Location,
			SDKURL: h.s.GameServerURL, Region: h.s.Region, PortFrom: someFirstPort(), PortTo: lastPort,
			Runtime: protocol.Runtime{Processes: []protocol.ServerProcess{{LaunchPath: p.Path, Concurrent: max(p.Copies, 1)}}},
		},
		Dir: cmp.Or(p.Dir, "."), Path: path, Args: p.Args, Port: p.Port, Out: p.Output,
		Token: h.token, OnStart: func(p protocol.Process) {
			h.watch(ctx, p.ProcessID)
			if h.reloader != nil {
				h.reloader.begun(p.ProcessID)
			}
		},
		OnEnd: func(id string, e supervise.Exit, cause string) {
			if h.reloader != nil {
				h.reloader.over(id)
			}
			h.ended(ctx, id, e.String(), cause)
		},
	}, nil
}

// The ports for programs that name none.
const (
	firstPort = 20000
	lastPort  = 29999
)

// someFirstPort returns where a range of ports begins. It is random, since a program that binds
// its port late would share it with one of another `muster local` on this machine.
func someFirstPort() int { return firstPort + rand.IntN(lastPort-firstPort-1000) }

func (h *Host) token() (string, error) {
	c, err := h.s.Computes.Find(h.s.Store.View(), h.place.Load().FleetID, ComputeName)
	if err != nil {
		return "", err
	}
	token, _ := h.s.Computes.IssueToken(c, time.Now())
	return token, nil
}

// tour prints what can be done with the program from a second terminal. The matchmaker is
// that of makePlayable.
func (h *Host) tour(p Place, name, matchmaker string) {
	fmt.Fprintf(h.out, `
Your game server %s runs on fleet %s at %s.
Players of the matchmaker %s (two to four, docs/ten-minutes.md) are matched into it.
The console shows it: %s/
From another terminal:

  %s
  aws gamelift create-game-session --endpoint-url %s \
      --alias-id %s --location %s --maximum-player-session-count 4

`, name, p.FleetID, h.s.Location, matchmaker, h.s.URL, h.s.Login, h.s.URL, p.AliasID, h.s.Location)
}

// watch reports, once, a program that runs and does not connect.
func (h *Host) watch(ctx context.Context, id string) {
	time.AfterFunc(compute.InitHint, func() {
		if ctx.Err() != nil || !h.Owns(h.ref(id)) || h.s.Computes.Process(h.s.Store.View(), h.ref(id).Key()) != nil {
			return
		}
		h.hint.Do(func() {
			why := h.agent.Load().LegacyClosed()
			if h.opts.Image != nil && !h.opts.Containers.HostNetwork {
				why = compute.LegacyContained
			}
			text := fmt.Sprintf("Your program has not called InitSDK for %s; if it knows no SDK, call ready of the HTTP interface (MUSTER_GAME_URL), or use --no-sdk.", compute.InitHint)
			if why != "" {
				text += " If it has Server SDK 3 or 4, it cannot connect: " + why + "."
			}
			fmt.Fprintln(h.out, text)
			if err := h.s.Computes.Uninitialized(ctx, h.ref(id), why); err != nil && ctx.Err() == nil {
				h.log.Error("the hint is not kept as an event", "error", err)
			}
		})
	})
}

// ended reports the exit, in a few words to the developer and with its cause to the domain, which
// counts it as a crash unless the process called ProcessEnding, and stores its logs.
func (h *Host) ended(ctx context.Context, id, how, cause string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	fmt.Fprintf(h.out, "Your game server %s.\n", how)
	if err := h.s.Computes.Exited(ctx, h.ref(id), cause); err != nil {
		h.log.Error("end of a process not noted", "process_id", id, "error", err)
	}
	h.storeLogs(context.WithoutCancel(ctx), id)
}

// storing bounds how long the logs of a process are stored.
const storing = time.Minute

// storeLogs stores the logs of an ended process, if it hosted a game session.
func (h *Host) storeLogs(ctx context.Context, id string) {
	p := h.s.Computes.Process(h.s.Store.View(), h.ref(id).Key())
	if p == nil || p.GameSessionID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storing)
	defer cancel()
	c := protocol.Collect{InstanceID: h.id, ProcessID: id, LogPaths: p.LogPaths, GameSessionID: p.GameSessionID}
	err := h.agent.Load().Ship(c, func(archive io.Reader) error { return h.s.StoreLogs(ctx, h.ref(id), p.GameSessionID, archive) })
	if err != nil {
		h.log.Error("logs of a process not stored", "process_id", id, "error", err)
	}
}

func (h *Host) ref(id string) compute.Ref {
	place := h.place.Load()
	if place == nil {
		return compute.Ref{}
	}
	return compute.Ref{FleetID: place.FleetID, ComputeName: ComputeName, ProcessID: id}
}

// Owns reports whether we run the process (instance.Launcher).
func (h *Host) Owns(ref compute.Ref) bool {
	a := h.agent.Load()
	return a != nil && ref == h.ref(ref.ProcessID) && a.Runs(h.id, ref.ProcessID)
}

// HostID returns the id of this machine among the hosts, if it runs a process that Owns
// reports; otherwise, or if this machine is no host, it returns "".
func (h *Host) HostID(ref compute.Ref) string {
	if !h.Owns(ref) {
		return ""
	}
	return h.agent.Load().HostID()
}

// leaveTime is how long a process may take to exit after calling ProcessEnding.
const leaveTime = 10 * time.Second

// Tail returns the end of what a process that we run has written, and what it used lately.
// Errors: InvalidRequest.
func (h *Host) Tail(ctx context.Context, ref compute.Ref, most int) (protocol.Tailed, error) {
	out := h.agent.Load().Tail(ctx, protocol.Tail{InstanceID: h.id, ProcessID: ref.ProcessID, Most: most})
	if out.Problem != "" {
		return out, fault.Invalid("%s", out.Problem)
	}
	return out, nil
}

// Ended makes sure that a process that counts as ended is gone (instance.Launcher).
func (h *Host) Ended(ref compute.Ref, why event.Code) {
	if !h.Owns(ref) {
		return
	}
	k := protocol.Kill{InstanceID: h.id, ProcessID: ref.ProcessID, Reason: string(why)}
	if why == event.ProcessEnded {
		k.Grace = leaveTime
	}
	h.agent.Load().Kill(k)
}
