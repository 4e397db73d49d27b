package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/session"
)

// PreflightOptions say what to try.
type PreflightOptions struct {
	Build      string        // an archive (zip, tar, tar.gz) or a folder
	LaunchPath string        // as in a fleet: /local/game/server, or server
	Parameters string        // as in a fleet
	Connect    time.Duration // from the start until InitSDK; default 60 s
	Ready      time.Duration // from InitSDK until ProcessReady; default 60 s
	Activate   time.Duration // from OnStartGameSession until ActivateGameSession; default 60 s
	End        time.Duration // from OnProcessTerminate until it has exited; default 60 s

	// Launcher is our own program, which hosts programs without an SDK; "" means none.
	Launcher string

	Out io.Writer // what is tried and found, for people
	// Working begins to show how far the build is unpacked: show is called often, and end when that
	// is over. May be nil.
	Working func() (show func(text func() string), end func())
	Output  io.Writer    // the program's own output; may be nil
	Logger  *slog.Logger // default: nowhere
}

// ErrPreflight says that the build would not work on a fleet; the text written to Out
// says why.
var ErrPreflight = errors.New("the build would fail on a fleet")

// Preflight runs a build as a fleet would, on this machine and on a temporary Muster in
// memory, from unpacking through one game session to its exit. Errors: ErrPreflight, or
// that it could not be tried.
func Preflight(ctx context.Context, o PreflightOptions) error {
	for _, d := range []*time.Duration{&o.Connect, &o.Ready, &o.Activate, &o.End} {
		if *d == 0 {
			*d = time.Minute
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := os.MkdirTemp("", "muster-preflight-")
	if err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	defer os.RemoveAll(dir)
	p := &preflight{o: o, dir: dir, started: make(chan protocol.Process, 1), ended: make(chan supervise.Exit, 1)}
	if err := p.isolation(); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	if !p.unpack(ctx) || !p.look() {
		return ErrPreflight
	}
	a, err := New(Options{Listen: "127.0.0.1:0", DataDir: filepath.Join(dir, "data"), Store: "memory", AcceptAny: true, Logger: o.Logger})
	if err != nil {
		return err
	}
	if err := a.Start(ctx); err != nil {
		return err
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMargin)
	defer cancel()
	passed, err := p.play(ctx, a)
	err = errors.Join(err, a.Stop(stopping))
	if err == nil && !passed {
		return ErrPreflight
	}
	return err
}

// preflight is one trial of a build.
type preflight struct {
	o       PreflightOptions
	dir     string       // for temporary files
	scripts *jail.Jailer // isolates the install script; nil: nothing does
	trial   *jail.Jailer // has the program see the build as on a fleet; nil: it does not
	game    string       // the build, unpacked
	program string
	process protocol.Process
	started chan protocol.Process
	ended   chan supervise.Exit
	place   host.Place
}

func (p *preflight) pass(format string, args ...any) {
	fmt.Fprintf(p.o.Out, "ok    "+format+"\n", args...)
}
func (p *preflight) warn(format string, args ...any) {
	fmt.Fprintf(p.o.Out, "warn  "+format+"\n", args...)
}

// fail prints what is wrong, and always returns false.
func (p *preflight) fail(code, format string, args ...any) bool {
	fmt.Fprintf(p.o.Out, "FAIL  "+format+"\n      (on a fleet: %s)\n", append(args, code)...)
	return false
}

// isolation prints how an agent could isolate game servers on this machine; the trial
// itself is not isolated.
func (p *preflight) isolation() error {
	if p.o.Launcher == "" {
		return nil
	}
	if runtime.GOOS != "linux" {
		p.warn("an agent on this machine cannot limit game servers: that takes Linux")
		return nil
	}
	root := filepath.Join(p.dir, "isolation")
	if err := errors.Join(os.Chmod(p.dir, 0o711), os.Mkdir(root, 0o755)); err != nil { // lets users of instances pass
		return err
	}
	jailer := jail.New(jail.Options{Root: root, Launcher: p.o.Launcher, Users: jail.DefaultUsers, Claims: filepath.Join(p.dir, "users")})
	lacks := jailer.Find()
	if held := jailer.Held(); len(held) > 0 {
		p.pass("an agent of this user on this machine holds game servers to: %s (no limits apply to this trial)", strings.Join(held, ", "))
	}
	for _, lack := range lacks {
		p.warn("on this machine %s\n      (what helps: %s)", lack.Cause, lack.Remedy)
	}
	p.gameFolder(jailer)
	return nil
}

// gameFolder has the install script and the program see the build where Amazon's hosts have it, as an
// agent does, or prints why an agent on this machine does not.
func (p *preflight) gameFolder(jailer *jail.Jailer) {
	if err := jailer.GameFolder(); err != nil {
		p.warn("on this machine %v\n      (what helps: run the agent as root, with the right to make namespaces and mounts, or name files relative to the working directory, which is the build's folder)", err)
		return
	}
	p.scripts = jailer
	p.trial = jail.New(jail.Options{Root: filepath.Join(p.dir, "isolation"), Launcher: p.o.Launcher})
	if err := p.trial.GameFolder(); err != nil {
		p.trial = nil
	}
	p.pass("%s is the build's folder for install scripts and programs", isolate.GameFolder)
}

// unpack unpacks the build into a folder and runs its install script.
func (p *preflight) unpack(ctx context.Context) bool {
	info, err := os.Stat(p.o.Build)
	if err != nil {
		return p.fail("FLEET_BINARY_DOWNLOAD_FAILED", "the build cannot be read: %v", err)
	}
	if info.IsDir() {
		p.game, err = filepath.Abs(p.o.Build)
		p.pass("the build is the folder %s; its install script is not run", p.o.Build)
		p.warnOfLineEnds()
		return err == nil
	}
	sha, err := install.Sum(p.o.Build)
	if err != nil {
		return p.fail("FLEET_BINARY_DOWNLOAD_FAILED", "the build cannot be read: %v", err)
	}
	o := install.Options{Dir: filepath.Join(p.dir, "cache"), Source: install.FromFile(p.o.Build), Log: p.o.Logger}
	if p.scripts != nil {
		o.Staging, o.Guest = p.scripts.Staging(), p.scripts.Guest
	}
	cache, err := install.New(o)
	if err != nil {
		return p.fail("FLEET_ACTIVATION_FAILED", "%v", err)
	}
	game := filepath.Join(p.dir, "game")
	err = p.install(ctx, cache, install.Build{SHA256: sha, Size: info.Size()}, game)
	var failure *install.Failure
	switch {
	case errors.As(err, &failure) && failure.Stage == install.Script:
		return p.fail("FLEET_CREATION_FAILED_INSTALLER", "%v", err)
	case failure != nil:
		return p.fail("FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "%v", err)
	case err != nil:
		return p.fail("FLEET_ACTIVATION_FAILED", "%v", err)
	}
	p.game = game
	p.pass("the archive unpacks (%d bytes packed) and its install script, if it has one, works", info.Size())
	p.warnOfLineEnds()
	return true
}

// install installs a build in a folder, and shows how far that is.
func (p *preflight) install(ctx context.Context, cache *install.Cache, b install.Build, dir string) error {
	show := func(func() string) {}
	if p.o.Working != nil {
		var end func()
		show, end = p.o.Working()
		defer end()
	}
	built, err := cache.Install(ctx, b, func(stage install.Stage, percent int) {
		show(func() string {
			switch stage {
			case install.Unpack:
				return fmt.Sprintf("unpacking the archive: %d %%", percent)
			case install.Script:
				return "running the install script"
			}
			return fmt.Sprintf("copying the archive: %d %%", percent)
		})
	})
	if err != nil {
		return err
	}
	show(func() string { return "placing the files" })
	return install.Tree(built, dir)
}

// warnOfLineEnds warns of an install script that is as Windows writes it.
func (p *preflight) warnOfLineEnds() {
	if install.WindowsLineEnds(p.game) {
		p.warn("install.sh has Windows line ends (CRLF), which a shell takes for part of each line: save it with Unix ones (LF)")
	}
}

// look checks the program before it is started.
func (p *preflight) look() bool {
	name := strings.TrimPrefix(p.o.LaunchPath, "/local/game/")
	if !filepath.IsLocal(name) {
		return p.fail("FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "the launch path %s is not below /local/game/, where the build is", p.o.LaunchPath)
	}
	p.program = filepath.Join(p.game, name)
	err := diagnose.Program(p.program, p.o.LaunchPath)
	var found *diagnose.Problem
	switch {
	case errors.As(err, &found) && found.Missing:
		return p.fail("FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "%v%s", err, diagnose.Elsewhere(os.DirFS(p.game), filepath.Base(name)))
	case err != nil:
		return p.fail("FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "%v", err)
	}
	if missing := diagnose.Libraries(p.program); len(missing) > 0 {
		p.warn("these shared libraries are neither in the build nor on this machine: %s", strings.Join(missing, ", "))
	}
	p.pass("%s can be executed on this machine", p.o.LaunchPath)
	return true
}

// play starts the program and makes it host a game session.
func (p *preflight) play(ctx context.Context, a *App) (passed bool, err error) {
	places := a.home().domain.places(host.Loopback, "", host.Location)
	if p.place, err = places.Make(ctx, "preflight", "A build being tried", host.Anybody); err != nil {
		return false, err
	}
	runner, err := agent.New(agent.Options{
		Root: filepath.Join(p.dir, "agent"), StopGrace: time.Second, Log: p.o.Logger, Own: []*instance.Own{p.own(a)},
		Launcher: p.o.Launcher, Unconfined: true, Legacy: &legacy.Standard,
	})
	if err != nil {
		return false, err
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- runner.Run(running) }()
	passed = p.life(ctx, a)
	cancel()
	return passed, errors.Join(ctx.Err(), <-done)
}

func (p *preflight) own(a *App) *instance.Own {
	first := func(e supervise.Exit) {
		select {
		case p.ended <- e:
		default:
		}
	}
	return &instance.Own{
		Desired: protocol.Desired{
			InstanceID: "preflight", FleetID: p.place.FleetID, Compute: host.ComputeName, Location: host.Location,
			SDKURL: a.site.gameServers(&a.opts), AuthToken: "any", Region: a.opts.Region, PortFrom: 20000, PortTo: 29999,
			Runtime: protocol.Runtime{Processes: []protocol.ServerProcess{{LaunchPath: p.o.LaunchPath, Parameters: p.o.Parameters, Concurrent: 1}}},
		},
		Dir: p.game, Path: p.program, Clean: true, Out: p.o.Output, Jailer: p.trial,
		OnStart: func(started protocol.Process) {
			select {
			case p.started <- started:
			default:
			}
		},
		OnEnd: func(_ string, e supervise.Exit, _ string) { first(e) },
	}
}

// life checks the steps of a process's life.
func (p *preflight) life(ctx context.Context, a *App) bool {
	select {
	case p.process = <-p.started:
	case e := <-p.ended:
		return p.fail("SERVER_PROCESS_CRASHED", "%s", p.why(e))
	case <-time.After(p.o.Connect):
		return p.fail("SERVER_PROCESS_CRASHED", "%s could not be started", p.o.LaunchPath)
	case <-ctx.Done():
		return false
	}
	began := time.Now()
	p.pass("it starts, with port %d as GAME_PORT", p.process.Port)
	if !p.reach(ctx, a, p.o.Connect, "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT",
		"it runs, but %s after its start it had not connected: does it call InitSDK of Server SDK 5, with the GAMELIFT_SDK_… variables? Server SDKs 3 and 4 look for ports 5757 to 5759 of the machine instead: port it to Server SDK 5",
		func(row *compute.Process) bool { return row != nil }) {
		return false
	}
	p.pass("it called InitSDK %s after its start", time.Since(began).Round(time.Millisecond))
	if !p.reach(ctx, a, p.o.Ready, "SERVER_PROCESS_PROCESS_READY_TIMEOUT",
		"%s after InitSDK it had not called ProcessReady", (*compute.Process).Free) {
		return false
	}
	row := a.home().domain.computes.Process(a.home().domain.store.View(), p.ref().Key())
	p.pass("it called ProcessReady with port %d (%s %s)", row.Port, row.SDK.Language, row.SDK.Version)
	if row.Port != p.process.Port {
		p.warn("it listens on port %d though it was given %d: two of it on one host would clash; use {{.GamePort}} in the parameters, or GAME_PORT", row.Port, p.process.Port)
	}
	return p.hostSession(ctx, a)
}

// hostSession makes the process host one game session.
func (p *preflight) hostSession(ctx context.Context, a *App) bool {
	g, err := a.home().domain.sessions.Create(ctx, session.CreateInput{FleetID: p.place.FleetID, Location: host.Location, Name: "preflight", MaxPlayers: 2})
	if err != nil {
		return p.fail("GAME_SESSION_ACTIVATION_TIMEOUT", "no game session could be created: %v", err)
	}
	if !p.reach(ctx, a, p.o.Activate, "GAME_SESSION_ACTIVATION_TIMEOUT",
		"%s after OnStartGameSession it had not called ActivateGameSession", func(*compute.Process) bool {
			now := a.home().domain.sessions.Live(a.home().domain.store.View(), g.ID)
			return now != nil && now.Status == session.Active
		}) {
		return false
	}
	p.pass("it started a game session and called ActivateGameSession")
	if _, err := a.home().domain.sessions.Terminate(ctx, g.ID, session.Trigger); err != nil {
		return p.fail("GENERIC_EVENT", "the game session could not be ended: %v", err)
	}
	select {
	case e := <-p.ended:
		if !e.Clean() {
			p.warn("told to end, it %s", p.why(e))
			return true
		}
		p.pass("told to end, it exited cleanly")
		return true
	case <-time.After(p.o.End):
		return p.fail("SERVER_PROCESS_FORCE_TERMINATED", "%s after OnProcessTerminate it had not exited; handle it and call ProcessEnding", p.o.End)
	case <-ctx.Done():
		return false
	}
}

// reach waits until the process has reached a state; text says what did not happen in
// time.
func (p *preflight) reach(ctx context.Context, a *App, within time.Duration, code, text string, there func(*compute.Process) bool) bool {
	late := time.After(within)
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	for {
		row := a.home().domain.computes.Process(a.home().domain.store.View(), p.ref().Key())
		if there(row) {
			return true
		}
		select {
		case <-looks.C:
		case e := <-p.ended:
			return p.fail("SERVER_PROCESS_CRASHED", "it %s", p.why(e))
		case <-late:
			return p.fail(code, text, within)
		case <-ctx.Done():
			return false
		}
	}
}

func (p *preflight) ref() compute.Ref {
	return compute.Ref{FleetID: p.place.FleetID, ComputeName: host.ComputeName, ProcessID: p.process.ProcessID}
}

func (p *preflight) why(e supervise.Exit) string {
	return diagnose.Exit(diagnose.End{Known: e.Known, Code: e.Code, Signal: e.Signal, Lived: e.Lived, Tail: e.Tail, Port: p.process.Port})
}
