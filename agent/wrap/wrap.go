package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/agent/diagnose"
	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/gamelink"
	"github.com/musterhq/muster/agent/legacy"
)

// Options configures a wrapper.
type Options struct {
	URL, Token, FleetID, HostID, ProcessID string   // the GAMELIFT_SDK_ variables
	Port                                   int      // on which the program will listen
	LogPaths                               []string // kept with the process's logs
	Program                                string
	Args                                   []string       // {{.GameSessionId}} and others are replaced with values
	Ports                                  map[string]int // its other ports, by name
	Heartbeat                              time.Duration  // default 60 s
	Ready                                  Readiness      // when the program's game session becomes ACTIVE
	Query                                  Query          // how the program is asked who plays
	Stop                                   Stop           // how the program is asked to end
	// Watched means that an agent reports to Muster how the wrapper ends. Then no
	// ProcessEnding is sent for a crash of the program, because it would hide the
	// crash.
	Watched bool
	// HTTP starts the program at once: it says over HTTP when it is ready.
	HTTP bool
	// Legacy are the ports at which a program with Server SDK 3 or 4 connects, which is
	// started at once; nil: it has none of these SDKs.
	Legacy *legacy.Ports
	// GamePort is where the program's HTTP interface (package gameapi) listens on
	// loopback; 0 picks a port.
	GamePort int
	Opens    time.Duration // after which a program that shows no sign of being ready is named; default 10 s
	Log      *slog.Logger  // default slog.Default()
}

// FromEnvironment reads the variables that an agent sets for its processes.
func FromEnvironment() (Options, error) {
	o := Options{
		URL: os.Getenv("GAMELIFT_SDK_WEBSOCKET_URL"), Token: os.Getenv("GAMELIFT_SDK_AUTH_TOKEN"), FleetID: os.Getenv("GAMELIFT_SDK_FLEET_ID"),
		HostID: os.Getenv("GAMELIFT_SDK_HOST_ID"), ProcessID: os.Getenv("GAMELIFT_SDK_PROCESS_ID"),
	}
	for name, value := range map[string]string{"WEBSOCKET_URL": o.URL, "FLEET_ID": o.FleetID, "HOST_ID": o.HostID, "PROCESS_ID": o.ProcessID} {
		if value == "" {
			return o, fmt.Errorf("GAMELIFT_SDK_%s is not set; a wrapper is started by an agent, or with what get-compute-auth-token and register-compute print", name)
		}
	}
	var err error
	o.Stop.Password = os.Getenv(PasswordVariable)
	o.Port, o.Ports, err = ports(os.Environ())
	return o, err
}

// placed returns the arguments of a program that is started before it has a game session.
func (o Options) placed() []string {
	return expand(o.Args, o.values())
}

// values are what arguments may refer to before there is a game session.
func (o Options) values() map[string]string {
	values := map[string]string{
		"GamePort": strconv.Itoa(o.Port), "FleetId": o.FleetID, "ProcessId": o.ProcessID, "LogDirectory": os.Getenv("GAME_LOG_DIR"),
		"RCONPassword": o.Stop.Password,
	}
	for name, port := range o.Ports {
		values["Port."+name] = strconv.Itoa(port)
	}
	return values
}

// message is a message from Muster, as far as a wrapper needs it.
type message struct {
	Action          string
	RequestID       string `json:"RequestId"`
	StatusCode      int
	ErrorMessage    string
	TerminationTime int64
	Game
}

// Game is the game session that the program hosts.
type Game struct {
	GameSessionID             string `json:"GameSessionId"`
	GameSessionName           string
	GameSessionData           string
	MatchmakerData            string
	MaximumPlayerSessionCount int
	IPAddress                 string `json:"IpAddress"`
	DNSName                   string `json:"DnsName"`
	Port                      int
	GameProperties            map[string]string
}

// Run is the wrapper's whole life. It returns the program's exit code, or 0 if it was told
// to end or no game session came. If a signal ended the program, the error is a *Signaled.
// When ctx ends, the program is asked to end.
func Run(ctx context.Context, o Options) (code int, err error) {
	if o.Heartbeat == 0 {
		o.Heartbeat = time.Minute
	}
	if o.Opens == 0 {
		o.Opens = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	switch {
	case o.HTTP:
		return runHTTP(ctx, o)
	case o.Legacy != nil:
		return runLegacy(ctx, o)
	}
	if err := o.settle(); err != nil {
		return 1, err
	}
	runtime.LockOSThread() // the program ends with the thread that has started it (setApart)
	defer runtime.UnlockOSThread()
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	defer unlink()
	w := &wrapper{o: o, pushes: make(chan message, 16), managed: make(chan struct{}, 1), line: make(chan struct{}, 1), unasked: make(chan struct{}, 1)}
	w.link = gamelink.Open(linked, gamelink.Options{
		FleetID: o.FleetID, HostID: o.HostID, ProcessID: o.ProcessID, Push: w.push, Log: o.Log,
		Endpoint: func() (string, string, error) { return o.URL, o.Token, nil },
	})
	defer w.serve()()
	if err := w.ready(ctx); err != nil {
		return 0, err
	}
	code, err = w.live(linked, ctx.Done())
	if clean := code == 0 && err == nil; clean || !o.Watched {
		w.goodbye(w.crash(code, err))
	}
	return code, err
}

type wrapper struct {
	o      Options
	link   *gamelink.Link
	pushes chan message
	cmd    *exec.Cmd
	exited chan error
	game   string           // the id of the game session that the program hosts
	began  time.Time        // when the program was started
	stdin  io.WriteCloser   // the program's; nil if nothing is written there
	words  words            // what the program wrote last
	line   chan struct{}    // receives when a line of its output says that it is ready
	watch  watch            // what is waited for until the program is ready
	asked  bool             // the program was asked to end
	remind <-chan time.Time // fires when a program that manages itself is asked to end
	force  <-chan time.Time // fires when the program is killed, after it was asked to end
	opens  <-chan time.Time // fires when the program should be ready

	unasked chan struct{} // receives when the program could not be asked to end by its command

	api     *gameapi.Server // nil: there is no HTTP interface
	process atomic.Pointer[gameapi.Process]
	token   string        // of the program at api
	managed chan struct{} // receives when the program has called ready
	manages bool          // it accepts its players, and activates its game session
}

// live runs from ProcessReady to ProcessEnding. ctx is that of the connection.
func (w *wrapper) live(ctx context.Context, stopped <-chan struct{}) (int, error) {
	w.exited = make(chan error, 1)
	beat := time.NewTicker(w.o.Heartbeat)
	defer beat.Stop()
	w.beat(ctx)
	for {
		select {
		case <-beat.C:
			w.beat(ctx)
		case m := <-w.pushes:
			if over, err := w.obey(m); err != nil {
				return 1, err
			} else if over {
				return 0, nil
			}
		case <-w.managed:
			w.manages, w.watch = true, watch{}
		case <-w.line:
			if w.watch.line {
				w.activate(ctx)
			}
		case <-w.watch.after:
			w.activate(ctx)
		case <-w.watch.look:
			if w.opened() {
				w.activate(ctx)
			}
		case <-w.opens:
			w.checkReady()
		case <-w.unasked:
			w.interrupt()
		case <-w.remind:
			w.interrupt()
		case <-stopped:
			stopped = nil
			if w.end(10 * time.Second) {
				return 0, nil
			}
		case <-w.force:
			w.cmd.Process.Kill()
		case err := <-w.exited:
			if w.asked {
				return 0, nil // however it ended, that was requested
			}
			return exitCode(err)
		}
	}
}

// ready sends ProcessReady.
func (w *wrapper) ready(ctx context.Context) error {
	logs := w.o.LogPaths
	if logs == nil {
		logs = []string{}
	}
	err := w.link.Ask(ctx, "ActivateServerProcess", map[string]any{
		"SdkVersion": gamelink.SDKVersion, "SdkLanguage": "Muster", "SdkToolName": "MusterWrap", "SdkToolVersion": "1",
		"Port": w.o.Port, "LogPaths": logs,
	}, nil)
	if err != nil {
		return fmt.Errorf("wrap: ready: %w", err)
	}
	return nil
}

// beat reports the health of the process, without waiting for the answer.
func (w *wrapper) beat(ctx context.Context) {
	go func() {
		ctx, cancel := context.WithTimeout(ctx, w.o.Heartbeat)
		defer cancel()
		if err := w.link.Ask(ctx, "HeartbeatServerProcess", map[string]any{"HealthStatus": w.healthy()}, nil); err != nil {
			w.o.Log.Debug("a heartbeat is lost", "error", err)
		}
	}()
}

// push passes a message from Muster on to live.
func (w *wrapper) push(action string, frame []byte) {
	var m message
	if err := json.Unmarshal(frame, &m); err != nil {
		w.o.Log.Error("a push cannot be read", "action", action, "error", err)
		return
	}
	if p := w.process.Load(); p != nil {
		p.Push(action, frame)
	}
	select {
	case w.pushes <- m:
	default:
		w.o.Log.Warn("a push is dropped", "action", action)
	}
}

// obey handles a message of Muster. It reports whether the wrapper is to end.
func (w *wrapper) obey(m message) (over bool, err error) {
	switch m.Action {
	case "CreateGameSession":
		return false, w.start(m.Game)
	case "TerminateProcess":
		within := time.Until(time.UnixMilli(m.TerminationTime)) - time.Second
		if w.cmd != nil && w.manages { // it knows from the interface, and may want the time
			w.asked, w.remind, w.force = true, time.After(max(within-lastMoment, 0)), time.After(max(within, 0))
			return false, nil
		}
		return w.end(within), nil
	}
	return false, nil
}

// start runs the program for a game session.
func (w *wrapper) start(g Game) error {
	if w.cmd != nil {
		return nil // a process has one game session
	}
	properties, err := json.Marshal(g.GameProperties)
	if err != nil {
		return fmt.Errorf("wrap: %w", err)
	}
	values := w.o.values()
	maps.Copy(values, map[string]string{
		"GameSessionId": g.GameSessionID, "GameSessionName": g.GameSessionName, "GameSessionData": g.GameSessionData,
		"MatchmakerData": g.MatchmakerData, "MaximumPlayerSessionCount": strconv.Itoa(g.MaximumPlayerSessionCount),
		"GameProperties": string(properties), "IpAddress": g.IPAddress, "DNSName": g.DNSName,
	})
	cmd := exec.Command(w.o.Program, expand(w.o.Args, values)...)
	cmd.Env = append(os.Environ(), "GAME_SESSION_ID="+g.GameSessionID, "GAME_SESSION_NAME="+g.GameSessionName,
		"GAME_SESSION_DATA="+g.GameSessionData, "GAME_PROPERTIES="+values["GameProperties"], "GAME_MAX_PLAYERS="+values["MaximumPlayerSessionCount"])
	if w.api != nil {
		cmd.Env = append(cmd.Env, gameapi.URLVariable+"="+w.api.URL(), gameapi.TokenVariable+"="+w.token)
	}
	if err := w.launch(cmd); err != nil {
		return fmt.Errorf("wrap: start %s: %w", w.o.Program, err)
	}
	w.game = g.GameSessionID
	return nil
}

// launch starts the program with its output, its standard input, and what reports that it is ready.
func (w *wrapper) launch(cmd *exec.Cmd) error {
	cmd.WaitDelay = lastOutput
	w.listen(cmd)
	if w.o.Stop.Password != "" {
		cmd.Env = append(cmd.Env, PasswordVariable+"="+w.o.Stop.Password)
	}
	if w.o.Stop.Line != "" {
		var err error
		if w.stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if w.o.Stop.asks() {
		setApart(cmd)
	}
	taken, _ := listens("self", w.o.Port)
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.began, w.opens = cmd, time.Now(), time.After(w.o.Opens)
	w.await(taken)
	go func() { w.exited <- cmd.Wait() }()
	return nil
}

// lastOutput is how long the output of a program is read after its end, where programs that it
// has started keep it open.
const lastOutput = 2 * time.Second

// activate sends ActivateGameSession, and begins to ask the program who plays.
func (w *wrapper) activate(ctx context.Context) {
	w.watch = watch{}
	if w.o.Query.Protocol != "" {
		defer func() { go w.count(ctx, w.game) }()
	}
	if err := w.link.Ask(ctx, "ActivateGameSession", map[string]any{"GameSessionId": w.game}, nil); err != nil {
		w.o.Log.Error("the game session is not activated", "error", err)
	} else if p := w.process.Load(); p != nil {
		p.SetActivated()
	}
}

// end asks the program to end within a time: by its command, if there is one, and then by
// SIGTERM. It reports whether there is no program.
func (w *wrapper) end(within time.Duration) (over bool) {
	if w.cmd == nil {
		return true
	}
	again := w.asked
	w.asked, w.watch = true, watch{}
	w.force = time.After(max(within, 0))
	if !w.o.Stop.asks() || again {
		w.interrupt()
		return false
	}
	w.remind = time.After(w.o.Stop.patience(within))
	w.ask(within)
	return false
}

// lastMoment is how long before it is killed a program that manages itself is interrupted.
const lastMoment = 5 * time.Second

// interrupt asks the program to end.
func (w *wrapper) interrupt() {
	if err := interrupt(w.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.o.Log.Warn("the program was not asked to end", "error", err)
	}
}

// crash returns how the program crashed, with its last words, or "" if it did not.
func (w *wrapper) crash(code int, err error) string {
	killed, signaled := errors.AsType[*Signaled](err)
	switch {
	case w.cmd == nil || code == 0 && err == nil:
		return ""
	case signaled:
		code = -1
	case err != nil:
		return err.Error()
	}
	how := diagnose.End{Known: true, Code: code, Lived: time.Since(w.began), Port: w.o.Port}
	if signaled {
		how.Signal = killed.Name()
	}
	how.Said, how.Tail = w.words.last()
	return diagnose.Exit(how)
}

// goodbye sends ProcessEnding, with how the program crashed if it did, and waits a little for the
// answer.
func (w *wrapper) goodbye(crash string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var members map[string]any
	if crash != "" {
		members = map[string]any{"Crash": crash}
	}
	if err := w.link.Ask(ctx, "TerminateServerProcess", members, nil); err != nil {
		w.o.Log.Warn("the end is not told", "error", err)
	}
}

// exitCode returns the exit code of a program; of one that a signal ended, that which shells have
// for it, and a *Signaled.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // what it has started keeps its output open
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		if s := signaled(exit); s != nil {
			return 128 + int(s.Signal), s
		}
		return 1, fmt.Errorf("wrap: the program ended: %w", err)
	}
	return 1, err
}
