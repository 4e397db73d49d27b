//go:build unix

package app_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/test/gameserver"
)

// playVariable makes the test binary run as another program: the demo game, or a server
// that tests can kill.
const playVariable = "MUSTER_TEST_PLAY"

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	var err error
	switch os.Getenv(playVariable) {
	case "":
		os.Exit(m.Run())
	case "arena":
		err = playArena(ctx, os.Args[1:])
	case "agent":
		err = playAgent(ctx, os.Args[1], os.Args[2], os.Args[3])
	case "legacy":
		err = playLegacy(ctx, os.Args[1], os.Args[2], os.Args[3])
	case "muster":
		err = playMuster(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// arena returns a program that plays the demo game.
func arena(t *testing.T) string {
	t.Helper()
	self := must(os.Executable())(t)
	path := filepath.Join(t.TempDir(), "arena")
	script := "#!/bin/sh\n" + playVariable + "=arena exec '" + self + "' \"$@\"\n"
	check(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// playAgent is `muster agent --stop` for a machine with few ports.
func playAgent(ctx context.Context, server, root, token string) error {
	a, err := agent.New(agent.Options{
		Server: server, Token: token, Root: root, StopGrace: time.Second,
		Facts: protocol.Facts{IPAddress: "127.0.0.1", CPUMillis: 64_000, MemoryMiB: 256 << 10, PortFrom: 22200, PortTo: 22400},
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// playMuster is `muster local` with the demo.
func playMuster(ctx context.Context, listen, dir, arena, bots string) error {
	players, err := strconv.Atoi(bots)
	if err != nil {
		return err
	}
	return app.Run(ctx, app.Options{
		Listen: listen, DataDir: dir, AcceptAny: true, Out: os.Stdout,
		Demo: &demo.Options{Server: arena, Processes: 2, Players: players},
	})
}

func playArena(ctx context.Context, args []string) error {
	switch args[0] {
	case "bot":
		return playBots(ctx, args[1:])
	case "page":
		return servePage(ctx)
	}
	return playServer(ctx)
}

// servePage is a page that nobody opens. It ends with its standard input.
func servePage(ctx context.Context) error {
	fmt.Println("ready http://127.0.0.1:1/")
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// leavePID writes the process id to the demo's folder, to a file whose name begins with a word, if
// the game runs there.
func leavePID(word string) error {
	dir, err := os.Getwd()
	if err != nil || filepath.Base(dir) != "demo" {
		return err
	}
	return os.WriteFile(word+"-"+os.Getenv("GAMELIFT_SDK_PROCESS_ID"), fmt.Append(nil, os.Getpid()), 0o600)
}

// playServer is a game whose players send "join ID" and "leave ID" by UDP. It ends when
// the last one has left.
func playServer(ctx context.Context) error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	if err := leavePID("pid"); err != nil {
		return err
	}
	p, err := gameserver.Start(ctx, gameserver.Options{
		Endpoint: os.Getenv("GAMELIFT_SDK_WEBSOCKET_URL"), Token: os.Getenv("GAMELIFT_SDK_AUTH_TOKEN"),
		FleetID: os.Getenv("GAMELIFT_SDK_FLEET_ID"), ComputeName: os.Getenv("GAMELIFT_SDK_HOST_ID"),
		ProcessID: os.Getenv("GAMELIFT_SDK_PROCESS_ID"), Port: socket.LocalAddr().(*net.UDPAddr).Port,
	})
	if err != nil {
		return err
	}
	if err := leavePID("ready"); err != nil {
		return err
	}
	go func() {
		<-p.Done() // the process was told to end, by Muster or by SIGTERM
		socket.Close()
	}()
	return answer(p, socket)
}

func answer(p *gameserver.Process, socket *net.UDPConn) error {
	packet, players := make([]byte, 512), 0
	for {
		n, from, err := socket.ReadFromUDPAddrPort(packet)
		if err != nil {
			return nil // closed
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		said, id, _ := strings.Cut(string(packet[:n]), " ")
		game := p.Hosted()[0]
		switch said {
		case "crash":
			os.Exit(3)
		case "join":
			err = p.Accept(ctx, game, id)
			players++
		case "leave":
			err = p.Remove(ctx, game, id)
			players--
		}
		cancel()
		reply := "ok"
		if err != nil {
			reply = err.Error()
		}
		if _, err := socket.WriteToUDPAddrPort([]byte(reply), from); err != nil {
			return err
		}
		if players == 0 {
			return p.End(context.Background())
		}
	}
}

// playBots joins, waits and leaves.
func playBots(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bot", flag.ContinueOnError)
	addr, long := flags.String("addr", "", ""), flags.Duration("for", 0, "")
	flags.Bool("json", false, "")
	var ids []string
	flags.Func("player-session", "", func(id string) error { ids = append(ids, id); return nil })
	if err := flags.Parse(args); err != nil {
		return err
	}
	socket, err := net.Dial("udp", *addr)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := say(socket, "join "+id, 10*time.Second); err != nil {
			return err
		}
	}
	if err := playFor(ctx, socket, *long); err != nil {
		return err
	}
	for _, id := range ids {
		if err := say(socket, "leave "+id, 10*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// playFor sends to the server until the time has passed, or for 0 until it is gone.
func playFor(ctx context.Context, socket net.Conn, long time.Duration) error {
	if long > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, long)
		defer cancel()
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := say(socket, "hello", 10*time.Second); err != nil {
				return err
			}
		}
	}
}

// say sends a text and waits for the server's ok.
func say(socket net.Conn, text string, within time.Duration) error {
	if _, err := socket.Write([]byte(text)); err != nil {
		return err
	}
	reply := make([]byte, 512)
	socket.SetReadDeadline(time.Now().Add(within))
	n, err := socket.Read(reply)
	if err == nil && string(reply[:n]) != "ok" {
		err = fmt.Errorf("%s: %s", text, reply[:n])
	}
	return err
}

// pids returns the process ids of the game servers in a data directory.
func pids(t *testing.T, dir string) []int {
	t.Helper()
	files := must(filepath.Glob(filepath.Join(dir, "demo", "pid-*")))(t)
	var all []int
	for _, f := range files {
		text, err := os.ReadFile(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the game server has just ended
		}
		check(t, err)
		// A file that is being written has none yet; a signal to process 0 would end the tests.
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			all = append(all, pid)
		}
	}
	return all
}

// lives reports whether a process runs. One that has ended but was not waited for by its
// parent, which may be the reaper of orphans, does not.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
