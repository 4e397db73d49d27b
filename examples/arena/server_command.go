package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5/server"

	"github.com/musterhq/muster/examples/arena/server"
	"github.com/musterhq/muster/sdk/gameserver"
)

// maxPort is the highest port that a process may report (gameserver.Options).
const maxPort = 60000

type serverFlags struct {
	port    int
	logFile string
	verbose bool
	sdk     sdk.ServerParameters
	game    server.Options
}

func (f *serverFlags) register(flags *flag.FlagSet) {
	flags.IntVar(&f.port, "port", 0, "UDP `port` to listen on, and TCP for WebSockets; 0 picks a free one")
	flags.StringVar(&f.logFile, "log-file", "", "also log to this `file` and offer it for collection")
	flags.BoolVar(&f.verbose, "verbose", false, "log the Server SDK's details too")
	flags.IntVar(&f.game.TicksASecond, "ticks", 20, "game ticks a second, 1 to 200")
	flags.DurationVar(&f.game.WaitFor, "wait", 2*time.Minute, "end if no player came within this time")
	flags.DurationVar(&f.game.EmptyFor, "empty", 2*time.Second, "end this long after the last player left")
	flags.DurationVar(&f.game.SilentFor, "silent", 5*time.Second, "drop a player that sends nothing for this long")
	flags.StringVar(&f.sdk.WebSocketURL, "sdk-url", "", "WebSocket `URL` of the hosting service (or GAMELIFT_SDK_WEBSOCKET_URL)")
	flags.StringVar(&f.sdk.FleetID, "fleet-id", "", "fleet `id` (or GAMELIFT_SDK_FLEET_ID)")
	flags.StringVar(&f.sdk.HostID, "host-id", "", "compute `name` (or GAMELIFT_SDK_HOST_ID)")
	flags.StringVar(&f.sdk.ProcessID, "process-id", "", "unique `id` of this process (or GAMELIFT_SDK_PROCESS_ID)")
	flags.StringVar(&f.sdk.AuthToken, "auth-token", "", "compute auth `token` (or GAMELIFT_SDK_AUTH_TOKEN)")
}

func runServer(ctx context.Context, args []string, stderr io.Writer) int {
	var f serverFlags
	flags := flag.NewFlagSet("arena server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	f.register(flags)
	if code, ok := parse(flags, args); !ok {
		return code
	}
	if err := serve(ctx, f, stderr); err != nil {
		fmt.Fprintf(stderr, "arena server: %v\n", err)
		return exitFailed
	}
	return exitDone
}

func serve(ctx context.Context, f serverFlags, stderr io.Writer) error {
	log, logs, closeLog, err := openLog(f, stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	conn, web, err := listen(f.port)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer web.Close()
	f.game.Web = web
	f.game.Seed = uint64(time.Now().UnixNano())
	p, err := newProcess(conn, f.game, gameserver.Options{Params: f.sdk, LogPaths: logs, Logger: log})
	if err != nil {
		return err
	}
	return p.run(ctx)
}

// listen opens the game's socket for datagrams, and one on the same port for WebSockets. If
// the system picks a port above the SDK's limit, or one that is taken for the other, it picks
// another while the first stays taken.
func listen(port int) (*net.UDPConn, net.Listener, error) {
	var lastErr error = fmt.Errorf("UDP port must be at most %d", maxPort)
	for tries := 0; tries < 64; tries++ {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
		if err != nil {
			return nil, nil, fmt.Errorf("listen on UDP port %d: %w", port, err)
		}
		if got := conn.LocalAddr().(*net.UDPAddr).Port; got <= maxPort {
			web, err := net.ListenTCP("tcp", &net.TCPAddr{Port: got})
			if err == nil {
				return conn, web, nil
			}
			lastErr = fmt.Errorf("listen on TCP port %d: %w", got, err)
		}
		defer conn.Close()
		if port != 0 {
			break
		}
	}
	return nil, nil, lastErr
}

// openLog opens the log, which goes to stderr and optionally to a file, and returns
// the list of paths to collect.
func openLog(f serverFlags, stderr io.Writer) (*slog.Logger, []string, func(), error) {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.verbose {
		options.Level = slog.LevelDebug
	}
	if f.logFile == "" {
		return slog.New(slog.NewTextHandler(stderr, options)), nil, func() {}, nil
	}
	path, err := filepath.Abs(f.logFile)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("find the log file: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open the log file: %w", err)
	}
	handler := slog.NewTextHandler(io.MultiWriter(stderr, file), options)
	return slog.New(handler), []string{path}, func() { file.Close() }, nil
}
