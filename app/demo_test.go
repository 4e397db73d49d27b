//go:build unix

package app_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// local runs `muster local` with the demo in this process; end stops it.
func local(t *testing.T, d demo.Options) (base string, out *screen, dir string, end func()) {
	t.Helper()
	o := options(t, func(o *app.Options) { o.Demo = &d })
	base, out, end = run(t, o)
	return base, out, o.DataDir, end
}

const active = "A demo session is ACTIVE, "

// sessionIn returns the id at the end of a line.
func sessionIn(line string) string { return line[strings.LastIndex(line, " ")+1:] }

// events waits for n events of a code after a sequence number and returns the last.
func events(t *testing.T, base, code string, n int, after uint64) client.Event {
	t.Helper()
	return eventsFor(t, &client.Client{Endpoint: base}, code, n, after)
}

// eventsFor is events for a client.
func eventsFor(t *testing.T, c *client.Client, code string, n int, after uint64) client.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // AWS's SDK connects again after 8, 24 and 56 s
	defer cancel()
	var last client.Event
	q := client.EventQuery{Follow: true, Last: 100000, After: after}
	err := c.Events(ctx, q, func(e client.Event) error {
		if e.Code == code {
			if last, n = e, n-1; n == 0 {
				cancel()
			}
		}
		return nil
	})
	if err != nil || n > 0 {
		t.Fatalf("%d events %s are missing, %v", n, code, err)
	}
	return last
}

// awaitReady waits until n game servers have the answer to ProcessReady. That they can take a game
// session is known a little before.
func awaitReady(t *testing.T, dir string, n int) {
	t.Helper()
	wait.For(t, fmt.Sprintf("%d game servers have their answers to ProcessReady", n), func() error {
		if files := must(filepath.Glob(filepath.Join(dir, "demo", "ready-*")))(t); len(files) != n {
			return fmt.Errorf("%d have", len(files))
		}
		return nil
	})
}

// The demo shows a game session with bots, survives the crash of a game server, and leaves no
// process behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	base, out, dir, end := local(t, demo.Options{Server: arena(t), Processes: 2})
	id := sessionIn(out.await(t, active))
	accepted := events(t, base, "PLAYER_SESSION_ACCEPTED", 3, 0)
	if accepted.GameSessionID != id {
		t.Errorf("players were accepted into %s, want %s", accepted.GameSessionID, id)
	}
	out.await(t, "Play in a browser: ")
	text := out.String()
	for _, want := range []string{"--endpoint-url " + base, accepted.FleetID, "--alias-id alias-", "custom-local", "events --follow", "Play in a browser: http://127.0.0.1:1/"} {
		if !strings.Contains(text, want) {
			t.Errorf("the printed commands lack %q:\n%s", want, text)
		}
	}
	var found struct{ GameSessions []createdSession }
	check(t, (&client.Client{Endpoint: base}).Call(t.Context(), "DescribeGameSessions", map[string]any{"GameSessionId": id}, &found))
	game := found.GameSessions[0]
	socket := must(net.Dial("udp", net.JoinHostPort(game.IPAddress, fmt.Sprint(game.Port))))(t)
	defer socket.Close()
	must(socket.Write([]byte("crash")))(t)
	crashed := events(t, base, "SERVER_PROCESS_CRASHED", 1, 0)
	if crashed.GameSessionID != id || !strings.Contains(crashed.Message, "code 3") {
		t.Errorf("the crash is %+v", crashed)
	}
	if ended := events(t, base, "GAME_SESSION_TERMINATED", 1, 0); ended.GameSessionID != id {
		t.Errorf("the session ended as %+v", ended)
	}
	events(t, base, "SERVER_PROCESS_ACTIVE", 1, crashed.Seq) // replaced
	if next := events(t, base, "GAME_SESSION_ACTIVATED", 1, crashed.Seq); next.GameSessionID == id || next.ProcessID == crashed.ProcessID {
		t.Errorf("after the crash: %+v", next)
	}
	processes := pids(t, dir)
	end()
	if len(processes) < 3 {
		t.Errorf("%d processes have run, want one more than 2", len(processes))
	}
	for _, pid := range processes {
		if lives(pid) {
			t.Errorf("game server process %d outlived the stop", pid)
		}
	}
}

func TestDemo_WithoutProgram(t *testing.T) {
	t.Parallel()
	base, out, _, _ := local(t, demo.Options{Server: filepath.Join(t.TempDir(), "none")})
	sentence := out.await(t, "No game server processes run: ")
	if !strings.Contains(sentence, "is not at") {
		t.Errorf("it says %q", sentence)
	}
	if status, _ := get(t, base+"/readyz"); status != 200 {
		t.Errorf("/readyz is %d", status)
	}
}

// restarted is a connection to a server that has just been restarted: at first nothing
// listens, then the state is read, then no process has come back.
type restarted struct{ requests, sessions atomic.Int64 }

func (w *restarted) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
	}
	switch n := w.requests.Add(1); {
	case n <= 3:
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case n <= 6:
		return answer(503, `{"__type":"InternalServiceException","message":"No node serves at the moment. Try again."}`)
	case r.Header.Get("X-Amz-Target") == "GameLift.CreateGameSession" && w.sessions.Add(1) <= 3:
		return answer(400, `{"__type":"FleetCapacityExceededException","message":"no free process"}`)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A game is played in steps that are told. Right after a restart of the server what is missing is
// waited for, with a message.
func TestPlay(t *testing.T) {
	t.Parallel()
	program := arena(t)
	base, out, _, _ := local(t, demo.Options{Server: program, Processes: 2, Players: -1})
	out.await(t, "  "+os.Args[0]+" demo play")
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	var steps strings.Builder
	view := &terminal.Terminal{Client: &client.Client{Endpoint: base, HTTP: &http.Client{Transport: &restarted{}}}, Out: &steps}
	err := view.Play(t.Context(), terminal.PlayOptions{Fleet: "demo", Players: 2, For: time.Millisecond, Bots: program})
	if err != nil {
		t.Fatalf("%v after:\n%s", err, steps.String())
	}
	rest := steps.String()
	for _, want := range []string{"waiting for the server at " + base, "2 game server processes", "waiting for a free game server process", "ACTIVATING",
		"is ACTIVE", "RESERVED", "2 bots join", "left", "TERMINATED, 2 player sessions are COMPLETED", "took the place"} {
		_, after, ok := strings.Cut(rest, want)
		if !ok || strings.HasPrefix(want, "waiting") && strings.Contains(after, want) {
			t.Fatalf("no step tells %q, or two do, in the rest of:\n%s", want, steps.String())
		}
		rest = after
	}
}

// orphans is the demo of a server that was killed.
type orphans struct {
	base, dir, program string
	session            string // the demo session
	pids               []int  // of the game servers, which live
	last               client.Event
}

// orphaned starts the demo and kills its server once bots play, or with none once all game servers
// are ready. Those that have no answer to ProcessReady yet would end, as the SDK has it.
func orphaned(t *testing.T, bots int) *orphans {
	t.Helper()
	o := &orphans{dir: t.TempDir(), program: arena(t)}
	muster, out := musterProcess(t, node.Reserve(t), o.dir, o.program, strconv.Itoa(bots))
	o.base = out.await(t, "ready ")
	o.last = events(t, o.base, "SERVER_PROCESS_ACTIVE", 2, 0)
	o.pids = pids(t, o.dir)
	if bots > 0 {
		o.session = sessionIn(out.await(t, active))
		o.last = events(t, o.base, "PLAYER_SESSION_ACCEPTED", bots, 0)
	}
	awaitReady(t, o.dir, 2)
	check(t, muster.Process.Kill())
	muster.Wait()
	for _, pid := range o.pids {
		if !lives(pid) {
			t.Fatalf("game server process %d died with the server", pid)
		}
	}
	return o
}

// next starts another server, and ends it after the test's look at it.
func (o *orphans) next(t *testing.T, options app.Options, look func(out *screen)) {
	t.Helper()
	options.DataDir, options.Store, options.Listen = o.dir, "", strings.TrimPrefix(o.base, "http://")
	_, out, end := run(t, options)
	look(out)
	end()
	for _, pid := range o.pids {
		if lives(pid) {
			t.Errorf("game server process %d outlived the stop", pid)
		}
	}
}

// Game servers outlive a server that is killed: the next one takes them over instead of starting
// others, and ends them when it stops.
func TestDemo_SurvivesKill(t *testing.T) {
	t.Parallel()
	o := orphaned(t, 3)
	o.next(t, options(t, func(a *app.Options) { a.Demo = &demo.Options{Server: o.program, Processes: 2, Players: 3} }), func(out *screen) {
		if again := out.await(t, "The demo session goes on: "); again != o.session {
			t.Errorf("the session that goes on is %s, want %s", again, o.session)
		}
		events(t, o.base, "SERVER_PROCESS_RECONNECTED", 2, o.last.Seq)
		if after := pids(t, o.dir); !slices.Equal(o.pids, after) {
			t.Errorf("processes are %v, were %v", after, o.pids)
		}
	})
}

// A server that runs another program ends those of the demo.
func TestDemo_EndsForExec(t *testing.T) {
	t.Parallel()
	o := orphaned(t, -1)
	o.next(t, ownProgram(t, func(a *app.Options) { a.Host.Managed = true }), func(*screen) {
		if e := events(t, o.base, "SERVER_PROCESS_ACTIVE", 1, o.last.Seq); e.FleetID == o.last.FleetID {
			t.Errorf("a process of the demo is ACTIVE: %+v", e)
		}
	})
}

// musterProcess starts a server in a separate process.
func musterProcess(t *testing.T, listen, dir, program, bots string) (*exec.Cmd, *screen) {
	t.Helper()
	cmd, out := exec.Command(must(os.Executable())(t), listen, dir, program, bots), new(screen)
	cmd.Env = append(os.Environ(), playVariable+"=muster")
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	check(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		for _, pid := range pids(t, dir) { // they outlive it, also where the test fails
			if lives(pid) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return cmd, out
}
