//go:build unix

package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/demo"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // AWS's SDK connects again after 8, 24 and 56 s
	defer cancel()
	var last client.Event
	c := &client.Client{Endpoint: base}
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

// awaitFree waits until n game server processes can take a game session: each has its answer
// to ProcessReady.
func awaitFree(t *testing.T, base string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/console/api/live/now?every=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for frames := json.NewDecoder(answer.Body); ; {
		var frame struct {
			Data struct{ Totals struct{ Free int } }
		}
		if err := frames.Decode(&frame); err != nil {
			t.Fatalf("%d processes are not free: %v", n, err)
		}
		if frame.Data.Totals.Free == n {
			return
		}
	}
}

func TestDemo_SessionWithBots(t *testing.T) {
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
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	processes := pids(t, dir)
	end()
	for _, pid := range processes {
		if lives(pid) {
			t.Errorf("game server process %d outlived the stop", pid)
		}
	}
}

// TestDemo_ForceTerminate checks that a killed process is replaced.
func TestDemo_ForceTerminate(t *testing.T) {
	t.Parallel()
	base, out, _, _ := local(t, demo.Options{Server: arena(t), Processes: 1})
	id := sessionIn(out.await(t, active))
	c := &client.Client{Endpoint: base}
	var answer struct{ GameSession struct{ Status string } }
	in := map[string]any{"GameSessionId": id, "TerminationMode": "FORCE_TERMINATE"}
	if err := c.Call(t.Context(), "TerminateGameSession", in, &answer); err != nil {
		t.Fatal(err)
	}
	killed := events(t, base, "SERVER_PROCESS_FORCE_TERMINATED", 1, 0)
	next := events(t, base, "GAME_SESSION_ACTIVATED", 1, killed.Seq)
	if next.GameSessionID == id || next.ProcessID == killed.ProcessID {
		t.Errorf("after the kill: %+v", next)
	}
}

// TestDemo_Crash checks the crash of a game server.
func TestDemo_Crash(t *testing.T) {
	t.Parallel()
	base, out, _, _ := local(t, demo.Options{Server: arena(t), Processes: 1, Players: 1})
	id := sessionIn(out.await(t, active))
	var answer struct {
		GameSessions []struct {
			IpAddress string
			Port      int
		}
	}
	c := &client.Client{Endpoint: base}
	if err := c.Call(t.Context(), "DescribeGameSessions", map[string]any{"GameSessionId": id}, &answer); err != nil {
		t.Fatal(err)
	}
	events(t, base, "PLAYER_SESSION_ACCEPTED", 1, 0)
	socket, err := net.Dial("udp", net.JoinHostPort(answer.GameSessions[0].IpAddress, fmt.Sprint(answer.GameSessions[0].Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if _, err := socket.Write([]byte("crash")); err != nil {
		t.Fatal(err)
	}
	crashed := events(t, base, "SERVER_PROCESS_CRASHED", 1, 0)
	if crashed.GameSessionID != id || !strings.Contains(crashed.Message, "code 3") {
		t.Errorf("the crash is %+v", crashed)
	}
	if ended := events(t, base, "GAME_SESSION_TERMINATED", 1, 0); ended.GameSessionID != id {
		t.Errorf("the session ended as %+v", ended)
	}
	events(t, base, "SERVER_PROCESS_ACTIVE", 1, crashed.Seq) // replaced
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

func TestPlay(t *testing.T) {
	t.Parallel()
	program := arena(t)
	base, out, _, _ := local(t, demo.Options{Server: program, Processes: 2, Players: -1})
	out.await(t, "  "+os.Args[0]+" demo play")
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	var steps strings.Builder
	view := &terminal.Terminal{Client: &client.Client{Endpoint: base}, Out: &steps}
	o := terminal.PlayOptions{Fleet: "demo", Players: 2, For: time.Millisecond, Bots: program}
	if err := view.Play(t.Context(), o); err != nil {
		t.Fatalf("%v after:\n%s", err, steps.String())
	}
	rest := steps.String()
	for _, want := range []string{"2 game server processes", "ACTIVATING", "is ACTIVE", "RESERVED", "2 bots join",
		"left", "TERMINATED, 2 player sessions are COMPLETED", "took the place"} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("no step tells %q in the rest of:\n%s", want, steps.String())
		}
		rest = after
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

// A game can be played right after a restart of the server: what is missing is waited
// for, with a message.
func TestPlay_AfterRestart(t *testing.T) {
	t.Parallel()
	program := arena(t)
	base, _, _, _ := local(t, demo.Options{Server: program, Processes: 1, Players: -1})
	var steps strings.Builder
	view := &terminal.Terminal{Client: &client.Client{Endpoint: base, HTTP: &http.Client{Transport: &restarted{}}}, Out: &steps}
	err := view.Play(t.Context(), terminal.PlayOptions{Fleet: "demo", Players: 1, For: time.Millisecond, Bots: program})
	said := steps.String()
	if err != nil || strings.Count(said, "waiting for the server at "+base) != 1 || strings.Count(said, "waiting for a free game server process") != 1 {
		t.Errorf("%v after:\n%s", err, said)
	}
}

// TestDemo_SurvivesKill kills the server: its game servers live on, and the next server
// takes them over instead of starting others.
func TestDemo_SurvivesKill(t *testing.T) {
	t.Parallel()
	dir, program := t.TempDir(), arena(t)
	first, lines := musterProcess(t, node.Reserve(t), dir, program)
	base := awaitLine(t, lines, "ready ")
	id := sessionIn(awaitLine(t, lines, active))
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	before := pids(t, dir)
	last := events(t, base, "PLAYER_SESSION_ACCEPTED", 3, 0)
	awaitFree(t, base, 1) // a process without its answer to ProcessReady would end, as the SDK has it
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	for _, pid := range before {
		if !lives(pid) {
			t.Fatalf("game server process %d died with the server", pid)
		}
	}
	second, lines := musterProcess(t, strings.TrimPrefix(base, "http://"), dir, program)
	if again := awaitLine(t, lines, "The demo session goes on: "); again != id {
		t.Errorf("the session that goes on is %s, want %s", again, id)
	}
	events(t, base, "SERVER_PROCESS_RECONNECTED", 2, last.Seq)
	if after := pids(t, dir); !slices.Equal(before, after) {
		t.Errorf("processes are %v, were %v", after, before)
	}
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("the second server ends with %v", err)
	}
	for _, pid := range before {
		if lives(pid) {
			t.Errorf("game server process %d outlived the stop", pid)
		}
	}
}

// TestDemo_EndsForExec kills a server that runs the demo and starts one that runs another
// program: the second one ends the game servers of the demo.
func TestDemo_EndsForExec(t *testing.T) {
	t.Parallel()
	dir, program := t.TempDir(), arena(t)
	first, lines := musterProcess(t, node.Reserve(t), dir, program)
	base := awaitLine(t, lines, "ready ")
	old := events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	before := pids(t, dir)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	o := options(t, func(o *app.Options) {
		o.DataDir, o.Store, o.Listen = dir, "", strings.TrimPrefix(base, "http://")
		o.Host = &host.Options{Managed: true, Exec: &host.Program{Path: program, Dir: t.TempDir(), Args: []string{"server"}}}
	})
	_, _, end := run(t, o)
	if e := events(t, base, "SERVER_PROCESS_ACTIVE", 1, old.Seq); e.FleetID == old.FleetID {
		t.Errorf("a process of the demo is ACTIVE: %+v", e)
	}
	end()
	for _, pid := range before {
		if lives(pid) {
			t.Errorf("game server process %d of the demo still runs", pid)
		}
	}
}

// musterProcess starts a server in a separate process.
func musterProcess(t *testing.T, listen, dir, program string) (*exec.Cmd, <-chan string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, listen, dir, program)
	cmd.Env = append(os.Environ(), playVariable+"=muster")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		for _, pid := range pids(t, dir) { // they outlive it, also where the test fails
			if lives(pid) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return cmd, lines
}

// awaitLine waits for a line with a prefix, and returns the rest of it.
func awaitLine(t *testing.T, lines <-chan string, prefix string) string {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case line, ok := <-lines:
			if rest, found := strings.CutPrefix(line, prefix); found {
				return rest
			}
			if !ok {
				t.Fatalf("the server ended before a line %q", prefix)
			}
		case <-patience:
			t.Fatalf("no line %q came", prefix)
		}
	}
}
