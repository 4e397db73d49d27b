package instance

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/install"
	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/legacy"
	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/tracing"
)

// launcher starts the processes of an instance, and reports how they end. The
// supervisors of the slots call it.
type launcher struct {
	m     *Machine
	id    string // the instance's
	own   *Own
	home  Home
	jail  *jail.Jail
	slots *slots
	certs *certificates
	view  func() protocol.Desired
	log   *slog.Logger

	mu    sync.Mutex
	ports *ports.Range              // nil until usePorts
	named map[string]map[string]int // ports of processes by name, by process id
}

// keepRuns is how many ended processes of a slot have their output kept.
const keepRuns = 5

// supervisor returns the supervisor of a slot that is not open yet.
func (l *launcher) supervisor(s *slot) (supervisor, error) {
	path, err := l.home.program(s.Spec.LaunchPath)
	if err != nil {
		if !s.retired {
			return nil, err
		}
		path = l.home.dir // nothing is launched
	}
	return supervise.New(supervise.Options{
		Spec: supervise.Spec{
			Name: filepath.Base(path), Path: path, Dir: l.home.game(),
			Launch:   func(cmd *exec.Cmd, id string) error { return l.launch(cmd, s, id) },
			LogDir:   l.home.output(s.n),
			StateDir: filepath.Join(l.home.slot(s.n), "state"),
			KeepLogs: keepRuns,
		},
		Last: s.retired, NewID: uuid.NewString, Log: l.log, May: func() bool { return !l.m.Full() },
		Restart: supervise.Restart{Base: time.Second}, // a slot is filled again immediately after a clean end
		Events: supervise.Events{
			Started:      func(r supervise.Run) { l.started(s, r) },
			Exited:       func(r supervise.Run, e supervise.Exit) { l.exited(s, r, e) },
			Failed:       func(id string, err error) { l.failed(s, id, err) },
			Cut:          func(id string) { l.jail.End(id) },
			CrashLooping: func(crashes int) { l.crashLoops(s, crashes) },
		},
	})
}

// usePorts makes the launcher take ports from a desired state's range.
func (l *launcher) usePorts(d protocol.Desired) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ports != nil {
		return l.ports.Move(d.PortFrom, d.PortTo)
	}
	var err error
	l.ports, err = ports.New(d.PortFrom, d.PortTo)
	return err
}

// launch starts a process in a span: the first one of a slot within that of the request for which
// the slot was opened.
func (l *launcher) launch(cmd *exec.Cmd, s *slot, id string) error {
	d := l.view()
	_, span := tracing.Start(tracing.Continued(l.slots.life, s.cause), "start process", trace.SpanKindInternal,
		attribute.String("muster.process", d.FleetID+"/"+d.Compute+"/"+id), attribute.String("muster.instance.id", l.id), attribute.String("muster.fleet.id", d.FleetID))
	s.cause = ""
	err := l.start(cmd, s, id)
	if err != nil {
		tracing.Fail(span, codeCrashed)
	}
	span.End()
	return err
}

// start starts a process with its ports, arguments and environment.
func (l *launcher) start(cmd *exec.Cmd, s *slot, id string) error {
	d := l.view()
	port, err := l.takePort()
	if err != nil {
		return err
	}
	l.slots.launching(s, port)
	parameters, bare, err := withoutSDK(s.Spec.Parameters)
	if err != nil {
		return err
	}
	named, err := l.takeNamed(id, l.words(parameters))
	if err != nil {
		return err
	}
	r := run{ProcessID: id, Port: port, Named: named, Pass: l.admit(&d, id)}
	var door, uses []netip.AddrPort
	if bare.is {
		door = unusedPort()
		uses = append(ownPorts(port, named), door...)
	} else {
		l.admitGame(s, &r)
	}
	if err := l.home.keepRun(s.n, r); err != nil {
		return fmt.Errorf("note port: %w", err)
	}
	if r.Pass == "" {
		if d.AuthToken, err = l.token(); err != nil {
			return err
		}
	}
	logs, err := l.makeLogs(id)
	if err != nil {
		return err
	}
	if err := l.setCommand(cmd, parameters, d, placeholders{port: port, named: named, processID: id, logDir: logs, index: s.n}, bare, door); err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, l.environment(d, id, port, logs)...)
	cmd.Env = append(cmd.Env, portVariables(named)...)
	if r.Game != "" {
		cmd.Env = append(cmd.Env, gameapi.URLVariable+"="+l.m.Game.URL(), gameapi.TokenVariable+"="+r.Game)
	}
	return l.jail.Start(cmd, jail.Process{
		ID: id, Tree: l.home.game(), SDKURL: d.SDKURL, Uses: uses, Limits: isolate.Limits{MemoryMiB: d.MemoryMiB, CPUMillis: d.CPUMillis},
	})
}

// words returns the texts that may refer to ports: those of a developer's own program, or a fleet's
// parameters.
func (l *launcher) words(parameters string) []string {
	if l.own != nil && !l.own.Clean {
		return l.own.Args
	}
	return []string{parameters}
}

func (l *launcher) takePort() (int, error) {
	if l.own != nil && l.own.Port > 0 {
		return l.own.Port, nil
	}
	return l.ports.Take(time.Now())
}

// admit lets a process of a relayed fleet connect to the agent, and returns its token,
// or "" for a process that connects directly. It changes the URL and token to those for
// the process.
func (l *launcher) admit(d *protocol.Desired, id string) (pass string) {
	if l.m.Relay == nil || !d.Relay && !l.m.RelayAll {
		return ""
	}
	pass = relay.NewToken()
	d.SDKURL, d.AuthToken = l.m.Relay.URL(), pass
	l.m.Relay.Admit(id, pass, l.upstream)
	return pass
}

// admitGame lets a process use the HTTP interface. A new one gets a token.
func (l *launcher) admitGame(s *slot, r *run) {
	if l.m.Game == nil {
		return
	}
	if r.Game == "" {
		r.Game = gameapi.NewToken()
	}
	d := l.view()
	l.m.Game.Admit(gameapi.Admission{
		FleetID: d.FleetID, HostID: d.Compute, ProcessID: r.ProcessID, Token: r.Game, Port: r.Port, State: l.home.gameState(s.n),
		Endpoint: l.endpoint(r.Pass),
	})
}

// unusedPort returns a free port of the loopback interface, or nothing. The wrapper of a
// program serves its HTTP interface there. If another program takes the port before it
// does, there is none.
func unusedPort() []netip.AddrPort {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil
	}
	defer l.Close()
	return []netip.AddrPort{l.Addr().(*net.TCPAddr).AddrPort()}
}

// admitLegacy lets a process that runs connect with Server SDK 3 or 4.
func (l *launcher) admitLegacy(s *slot, r supervise.Run, pass string) {
	if l.m.Legacy == nil {
		return
	}
	d := l.view()
	l.m.Legacy.Admit(legacy.Admission{
		FleetID: d.FleetID, HostID: d.Compute, ProcessID: r.ID, PID: r.PID, State: l.home.legacyState(s.n), Endpoint: l.endpoint(pass),
	})
}

// endpoint returns what returns where the agent connects a process to Muster, and with
// which token. pass is the process's token at the relay, or "".
func (l *launcher) endpoint(pass string) func() (url, token string, err error) {
	return func() (string, string, error) {
		if pass != "" && l.m.Relay != nil {
			return l.m.Relay.URL(), pass, nil
		}
		token, err := l.token()
		return l.view().SDKURL, token, err
	}
}

// token returns the token with which processes connect to Muster.
func (l *launcher) token() (string, error) {
	if l.own == nil || l.own.Token == nil {
		return l.view().AuthToken, nil
	}
	return l.own.Token()
}

// upstream returns the token with which the relay connects processes to Muster, or "" if there
// is none now.
func (l *launcher) upstream() string {
	token, err := l.token()
	if err != nil {
		return ""
	}
	return token
}

func (l *launcher) makeLogs(id string) (string, error) {
	logs := l.home.logs(id)
	if err := errors.Join(os.MkdirAll(logs, 0o750), l.jail.Give(logs)); err != nil {
		return "", fmt.Errorf("make log folder: %w", err)
	}
	return logs, nil
}

// setCommand sets a process's arguments; a program without an SDK is started by a
// wrapper (agent/wrap), whose HTTP interface is at door.
func (l *launcher) setCommand(cmd *exec.Cmd, parameters string, d protocol.Desired, values placeholders, b bare, door []netip.AddrPort) error {
	args, err := expand(parameters, b.is, d, values)
	if err != nil {
		return err
	}
	if l.own != nil && !l.own.Clean {
		args = l.own.arguments(values)
	}
	if b.is && (l.own == nil || l.own.Clean) {
		if l.m.Launcher == "" {
			return errors.New("this agent cannot host programs without an SDK: it does not know its own program")
		}
		wrapped := append([]string{"wrap", "--watched"}, b.options...)
		for _, at := range door {
			wrapped = append(wrapped, fmt.Sprintf("--game-port=%d", at.Port()))
		}
		args = append(append(wrapped, "--", cmd.Path), args...)
		cmd.Path = l.m.Launcher
	}
	cmd.Args = append(cmd.Args, args...)
	return nil
}

// environment returns a process's environment variables. Their names are those of AWS's
// SDKs and agent.
func (l *launcher) environment(d protocol.Desired, id string, port int, logs string) []string {
	env := append(install.CleanEnvironment(), "HOME="+l.home.game())
	if l.own != nil && !l.own.Clean {
		env = os.Environ() // the developer's own program, as from the terminal
	}
	if l.m.Metrics != nil {
		statsd, crash := l.m.Metrics.Ports()
		env = append(env,
			"GAMELIFT_STATSD_HOST=127.0.0.1", fmt.Sprintf("GAMELIFT_STATSD_PORT=%d", statsd),
			"GAMELIFT_CRASH_REPORTER_HOST=127.0.0.1", fmt.Sprintf("GAMELIFT_CRASH_REPORTER_PORT=%d", crash),
		)
	}
	return append(env,
		"GAMELIFT_SDK_WEBSOCKET_URL="+d.SDKURL,
		"GAMELIFT_SDK_AUTH_TOKEN="+d.AuthToken,
		"GAMELIFT_SDK_FLEET_ID="+d.FleetID,
		"GAMELIFT_SDK_HOST_ID="+d.Compute,
		"GAMELIFT_SDK_PROCESS_ID="+id,
		"GAMELIFT_REGION="+d.Region,
		"GAME_PORT="+strconv.Itoa(port),
		"GAME_LOG_DIR="+logs,
	)
}

// note records the process that runs in a slot and returns it. A process taken over from
// a former agent keeps its port, and its token at the relay.
func (l *launcher) note(s *slot, r supervise.Run) protocol.Process {
	kept, ok := l.home.run(s.n, r.ID)
	if ok && r.Attached {
		if l.m.Relay != nil && kept.Pass != "" {
			l.m.Relay.Admit(r.ID, kept.Pass, l.upstream)
		}
		if kept.Game != "" {
			l.admitGame(s, &kept)
		}
		l.ports.Keep(kept.Port)
		l.keepNamed(r.ID, kept.Named)
		l.slots.launching(s, kept.Port)
	}
	l.admitLegacy(s, r, kept.Pass)
	return l.slots.started(s, r)
}

// healed is how long a process must run to end the crash loop of its entry.
const healed = time.Minute

// started is called when a process was launched or taken over.
func (l *launcher) started(s *slot, r supervise.Run) {
	p := l.note(s, r)
	l.log.Info("process started", "process_id", r.ID, "pid", r.PID, "taken_over", r.Attached, "log", r.Stderr)
	if l.own != nil {
		if r.Attached && l.own.Out != nil {
			l.log.Info("the game server went on without Muster; what it wrote until now is in its log files", "output", r.Stdout, "errors", r.Stderr)
		}
		l.own.follow(r)
		if l.own.OnStart != nil {
			l.own.OnStart(p)
		}
	}
	time.AfterFunc(healed, func() { l.slots.heal(s, r.ID) })
}

// exited reports how a process ended.
func (l *launcher) exited(s *slot, r supervise.Run, e supervise.Exit) {
	was := l.free(s, r.ID, e.Clean())
	l.keepMetrics(r.ID)
	cause := diagnose.Exit(diagnose.End{
		Known: e.Known, Code: e.Code, Signal: e.Signal, Lived: e.Lived, Tail: e.Tail, Said: e.Said, OOM: was.oom, LimitMiB: l.view().MemoryMiB, Port: was.port, Asked: was.why.text,
	})
	l.deposit(r.ID, "exit.txt", "Started: "+r.Started.UTC().Format("2006-01-02 15:04:05 UTC")+"\n"+cause+"\n")
	l.report(s, protocol.Exited{
		ProcessID: r.ID, Known: e.Known, Code: e.Code, Signal: e.Signal, OOM: was.oom, Reason: was.why.code, Cause: cause,
		Tail: diagnose.Last(lastWords(e)), Lived: e.Lived, ProcessEnding: was.left,
	})
	if l.own != nil && l.own.OnEnd != nil {
		l.own.OnEnd(r.ID, e, cause)
	}
}

// lastWords returns the last lines of a process: on standard error, or else on standard output.
func lastWords(e supervise.Exit) []string {
	if len(e.Tail) > 0 {
		return e.Tail
	}
	return e.Said
}

// failed reports that a process could not be started.
func (l *launcher) failed(s *slot, id string, err error) {
	l.free(s, id, false)
	reason, cause := codeCrashed, "could not be started: "+err.Error()
	path, _ := l.home.program(s.Spec.LaunchPath)
	var found *diagnose.Problem
	if errors.As(diagnose.Program(path, s.Spec.LaunchPath), &found) {
		cause = "could not be started: " + found.Text
		if found.Missing {
			reason = codeNoFile
		}
	}
	l.report(s, protocol.Exited{ProcessID: id, Code: -1, Reason: reason, Cause: cause})
}

// freed is what is known of an ended process besides its exit code.
type freed struct {
	port int
	why  reason // it was told to end
	oom  bool   // it ran out of memory
	left bool   // it had called ProcessEnding, through the agent
}

// free releases everything that a process held, except its slot. clean says that it ended
// without an error.
func (l *launcher) free(s *slot, id string, clean bool) freed {
	port, why := l.slots.last(s, id)
	if port > 0 {
		l.ports.Release(port, time.Now())
	}
	l.releaseNamed(id)
	oom := l.jail.End(id)
	left := l.m.Game != nil && l.m.Game.Forget(id, clean) // before the relay, by which it says the end, as the next one
	if l.m.Legacy != nil && l.m.Legacy.Forget(id) {
		left = true
	}
	if gameapi.HadEnded(l.home.gameState(s.n), id) || legacy.HadEnded(l.home.legacyState(s.n), id) {
		left = true // at a former agent, and no agent watched its end
	}
	if l.m.Relay != nil && l.m.Relay.Forget(id) {
		left = true
	}
	return freed{port, why, oom, left}
}

// keepMetrics stores a process's last metrics with its logs.
func (l *launcher) keepMetrics(id string) {
	if l.m.Metrics == nil {
		return
	}
	defer l.m.Metrics.Forget(id)
	last := l.m.Metrics.Metrics(id)
	if len(last) == 0 {
		return
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(last)) {
		fmt.Fprintf(&text, "%s %g\n", name, last[name])
	}
	l.deposit(id, "last-metrics.txt", text.String())
}

// deposit stores evidence of how a process ended with its logs.
func (l *launcher) deposit(id, name, text string) {
	if err := l.home.deposit(id, name, text); err != nil {
		l.log.Warn("evidence not kept", "process_id", id, "file", name, "error", err)
	}
}

// report stores the report of a process's end and has it sent. Only then the slot is
// empty, so that no status lacks a process whose report is not stored.
func (l *launcher) report(s *slot, e protocol.Exited) {
	e.InstanceID, e.FleetID = l.id, l.view().FleetID
	l.log.Info("process ended", "process_id", e.ProcessID, "cause", e.Cause, "reason", e.Reason)
	if l.own == nil {
		l.m.Exited(e)
	}
	l.slots.ended(s, e.ProcessID)
	l.m.Changed()
}

// crashLoops reports that the processes of a slot crash repeatedly.
func (l *launcher) crashLoops(s *slot, crashes int) {
	l.slots.crashes(s, fmt.Sprintf("%s crashed %d times in a row; it is started again every few minutes to see whether it works", s.Spec.LaunchPath, crashes))
}
