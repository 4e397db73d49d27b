package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

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
	Args                                   []string      // {{.GameSessionId}} and others are replaced with values
	Heartbeat                              time.Duration // default 60 s
	// Settle is how long the program must live before its game session is activated:
	// players are not sent to one that ends immediately. Default 1 s.
	Settle time.Duration
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
	Opens    time.Duration // after which a program that listens on no port is named; default 10 s
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
	if text := os.Getenv("GAME_PORT"); text != "" {
		port, err := strconv.Atoi(text)
		if err != nil {
			return o, fmt.Errorf("GAME_PORT: %q is no port", text)
		}
		o.Port = port
	}
	return o, nil
}

// placed returns the arguments of a program that is started before it has a game session.
func (o Options) placed() []string {
	return expand(o.Args, map[string]string{
		"GamePort": strconv.Itoa(o.Port), "FleetId": o.FleetID, "ProcessId": o.ProcessID, "LogDirectory": os.Getenv("GAME_LOG_DIR"),
	})
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
// to end or no game session came. When ctx ends, the program is asked to end.
func Run(ctx context.Context, o Options) (code int, err error) {
	if o.Heartbeat == 0 {
		o.Heartbeat = time.Minute
	}
	if o.Settle == 0 {
		o.Settle = time.Second
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
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx))
	defer unlink()
	w := &wrapper{o: o, pushes: make(chan message, 16), managed: make(chan struct{}, 1)}
	w.link = gamelink.Open(linked, gamelink.Options{
		FleetID: o.FleetID, HostID: o.HostID, ProcessID: o.ProcessID, Push: w.push, Log: o.Log,
		Endpoint: func() (string, string, error) { return o.URL, o.Token, nil },
	})
	defer w.serve()()
	if err := w.ready(ctx); err != nil {
		return 0, err
	}
	code, err = w.live(ctx)
	if code == 0 && err == nil || !o.Watched {
		w.goodbye()
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
	settle <-chan time.Time // fires when the program has lived long enough
	asked  bool             // the program was asked to end
	remind <-chan time.Time // fires when a program that manages itself is asked to end
	force  <-chan time.Time // fires when the program is killed, after it was asked to end
	opens  <-chan time.Time // fires when the program should listen on its port

	api     *gameapi.Server // nil: there is no HTTP interface
	process atomic.Pointer[gameapi.Process]
	token   string        // of the program at api
	managed chan struct{} // receives when the program has called ready
	manages bool          // it accepts its players, and activates its game session
}

// live runs from ProcessReady to ProcessEnding.
func (w *wrapper) live(ctx context.Context) (int, error) {
	w.exited = make(chan error, 1)
	beat := time.NewTicker(w.o.Heartbeat)
	defer beat.Stop()
	w.beat(ctx)
	stopped := ctx.Done()
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
			w.manages, w.settle = true, nil
		case <-w.settle:
			w.activate(ctx)
		case <-w.opens:
			w.checkPort()
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
	values := map[string]string{
		"GameSessionId": g.GameSessionID, "GameSessionName": g.GameSessionName, "GameSessionData": g.GameSessionData,
		"MatchmakerData": g.MatchmakerData, "MaximumPlayerSessionCount": strconv.Itoa(g.MaximumPlayerSessionCount),
		"GameProperties": string(properties), "IpAddress": g.IPAddress, "DNSName": g.DNSName,
		"GamePort": strconv.Itoa(w.o.Port), "FleetId": w.o.FleetID, "ProcessId": w.o.ProcessID, "LogDirectory": os.Getenv("GAME_LOG_DIR"),
	}
	cmd := exec.Command(w.o.Program, expand(w.o.Args, values)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GAME_SESSION_ID="+g.GameSessionID, "GAME_SESSION_NAME="+g.GameSessionName,
		"GAME_SESSION_DATA="+g.GameSessionData, "GAME_PROPERTIES="+values["GameProperties"], "GAME_MAX_PLAYERS="+values["MaximumPlayerSessionCount"])
	if w.api != nil {
		cmd.Env = append(cmd.Env, gameapi.URLVariable+"="+w.api.URL(), gameapi.TokenVariable+"="+w.token)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("wrap: start %s: %w", w.o.Program, err)
	}
	w.cmd, w.game, w.settle, w.opens = cmd, g.GameSessionID, time.After(w.o.Settle), time.After(w.o.Opens)
	go func() { w.exited <- cmd.Wait() }()
	return nil
}

// activate sends ActivateGameSession.
func (w *wrapper) activate(ctx context.Context) {
	if err := w.link.Ask(ctx, "ActivateGameSession", map[string]any{"GameSessionId": w.game}, nil); err != nil {
		w.o.Log.Error("the game session is not activated", "error", err)
	} else if p := w.process.Load(); p != nil {
		p.SetActivated()
	}
}

// end asks the program to end within a time. It reports whether there is no program.
func (w *wrapper) end(within time.Duration) (over bool) {
	if w.cmd == nil {
		return true
	}
	w.asked, w.settle = true, nil
	w.force = time.After(max(within, 0))
	w.interrupt()
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

// goodbye sends ProcessEnding, and waits a little for the answer.
func (w *wrapper) goodbye() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.link.Ask(ctx, "TerminateServerProcess", nil, nil); err != nil {
		w.o.Log.Warn("the end is not told", "error", err)
	}
}

func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 1, fmt.Errorf("wrap: the program ended: %w", err)
	}
	return 1, err
}
