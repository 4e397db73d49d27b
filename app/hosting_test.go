//go:build unix

package app_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// joined is an agent of a machine that has joined the server's home region.
type joined struct {
	t    *testing.T
	root string
	end  func()
}

// join starts an agent in this process; from is the first of its ports.
func join(t *testing.T, a *app.App, root string, from int, change func(*agent.Options)) *joined {
	t.Helper()
	o := agent.Options{
		Server: a.URL(), Token: must(a.JoinToken(t.Context()))(t), Root: root, StopGrace: time.Second,
		Facts: protocol.Facts{IPAddress: "127.0.0.1", CPUMillis: 64_000, MemoryMiB: 256 << 10, PortFrom: from, PortTo: from + 200},
	}
	if change != nil {
		change(&o)
	}
	runner := must(agent.New(o))(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	j := &joined{t: t, root: root}
	j.end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ends with %v", err)
		}
		ended <- nil
	}
	t.Cleanup(j.end)
	return j
}

// zipped returns an archive of executable files.
func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "build.zip")
	file := must(os.Create(path))(t)
	z := zip.NewWriter(file)
	for name, content := range files {
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o755)
		must(io.WriteString(must(z.CreateHeader(h))(t), content))(t)
	}
	check(t, errors.Join(z.Close(), file.Close()))
	return path
}

func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	return must(os.ReadFile(zipped(t, files)))(t)
}

func arenaText(t *testing.T) string {
	t.Helper()
	return string(must(os.ReadFile(arena(t)))(t))
}

// arenaBuild returns an archive of the demo game.
func arenaBuild(t *testing.T) []byte {
	t.Helper()
	return archiveOf(t, map[string]string{"server": arenaText(t)})
}

// speaking returns a game server that writes two lines before it plays.
func speaking(t *testing.T) string {
	t.Helper()
	first, rest, _ := strings.Cut(arenaText(t), "\n")
	return first + "\necho the map is loaded\necho a texture is missing >&2\n" + rest
}

// outputOf returns the end of the output of a game session's process, once it has text.
func outputOf(t *testing.T, c *client.Client, gameSessionID, text string) (out client.SessionLog) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last log is %+v", out)
		}
	})
	wait.Until(t, "the log has "+text, func() bool {
		var err error
		out, _, err = c.SessionLogs().Get(t.Context(), gameSessionID)
		check(t, err)
		return slices.ContainsFunc(out.Streams, func(s client.LogStream) bool { return strings.Contains(s.Text, text) })
	})
	return out
}

// TestHosting covers the whole process on a machine that joined: a build becomes an ACTIVE fleet,
// and a game session is played and ends. Its log is read while it plays, by those who may, and is
// stored; what follows it sees what is written, and ends with the game session; and the audit log
// says who read it.
func TestHosting(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	join(t, a, filepath.Join(t.TempDir(), "agent"), 21000, nil)
	f := a.MakeFleet(t, archiveOf(t, map[string]string{"server": speaking(t), "install.sh": "echo ok\n"}), nil)
	admin := firstKey(t, a)
	operator := with(t, a, admin, client.KeySpec{Name: "operator", Role: "operator"})
	reader := with(t, a, admin, client.KeySpec{Name: "reader", Role: "read-only"})
	eventsFor(t, admin, "SERVER_PROCESS_ACTIVE", 2, 0)
	eventsFor(t, admin, "FLEET_STATE_ACTIVE", 1, 0)
	var made struct{ GameSession createdSession }
	wait.For(t, "a game session can be made", func() error {
		return admin.Call(t.Context(), "CreateGameSession", map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2}, &made)
	})
	active := eventsFor(t, admin, "GAME_SESSION_ACTIVATED", 1, 0)
	if made.GameSession.IPAddress != "127.0.0.1" || made.GameSession.DNSName != "127.0.0.1" {
		t.Errorf("players are sent to %+v", made)
	}
	var found struct {
		Instances []struct {
			IPAddress string `json:"IpAddress"`
			DNSName   string `json:"DnsName"`
		}
	}
	check(t, admin.Call(t.Context(), "DescribeInstances", map[string]any{"FleetId": f.ID}, &found))
	if len(found.Instances) == 0 {
		t.Error("the fleet has no instances")
	}
	for _, i := range found.Instances { // on a host without a name
		if i.IPAddress != "127.0.0.1" || i.DNSName != "127.0.0.1" {
			t.Errorf("an instance is %+v", i)
		}
	}

	id := made.GameSession.GameSessionID
	log := outputOf(t, operator, id, "a texture is missing\n")
	if log.Why != "" || log.Ended || log.Process == "" || len(log.Streams) != 2 || log.Streams[0] != (client.LogStream{Name: "output", Text: "the map is loaded\n", End: 18}) {
		t.Errorf("the log is %+v", log)
	}
	short := id[strings.LastIndex(id, "/")+1:]
	var out bytes.Buffer
	view := &terminal.Terminal{Client: operator, Out: &out}
	if err := view.SessionLog(t.Context(), short, false); err != nil || out.String() != "==> output <==\nthe map is loaded\n==> errors <==\na texture is missing\n" {
		t.Errorf("muster sessions logs: %v\n%s", err, out.String())
	}
	if _, _, err := reader.SessionLogs().Get(t.Context(), id); err == nil || !strings.Contains(err.Error(), "muster:ReadLogs") {
		t.Errorf("a reader gets %v", err)
	}
	if _, _, err := operator.SessionLogs().Get(t.Context(), id+"x"); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a game session that does not exist: %v", err)
	}
	followed, first := make(chan error, 1), make(chan struct{})
	var frames []client.SessionLog
	go func() {
		followed <- operator.SessionLogs().Follow(t.Context(), id, func(l client.SessionLog) error {
			if frames = append(frames, l); len(frames) == 1 {
				close(first)
			}
			if l.Ended && (l.Process == "" || l.Stored) {
				return context.Canceled // seen
			}
			return nil
		})
	}()
	<-first
	answered(t, admin, "TerminateGameSession", map[string]any{"GameSessionId": id, "TerminationMode": "FORCE_TERMINATE"})
	if err := <-followed; err != context.Canceled || frames[0].Why != "" {
		t.Errorf("following ended with %v after %+v", err, frames)
	}
	eventsFor(t, admin, "SERVER_PROCESS_ACTIVE", 1, active.Seq) // another one replaces it
	wait.For(t, "the log is stored", func() error {
		out.Reset()
		return view.SessionLog(t.Context(), id, false)
	})
	if got := out.String(); !strings.HasPrefix(got, "==> output <==\nthe map is loaded\n") || !strings.Contains(got, "==> errors <==\na texture is missing\n") {
		t.Errorf("of a game session that has ended:\n%s", got)
	}
	if key := f.ID + "/" + active.ComputeName + "/" + short + ".zip"; a.Logs(f.ID)[key] == 0 {
		t.Errorf("there is no log %s among %v", key, a.Logs(f.ID))
	}
	fleet := "arn:aws:gamelift:us-east-1:000000000000:fleet/" + f.ID
	recorded(t, admin, "console muster:ReadLogs reader AccessDeniedException ["+fleet+" "+id+"]",
		"console muster:ReadLogs operator ok ["+fleet+" "+id+"]")
}

// A machine joins a region by the region's URL and hosts game servers there alone.
func TestHosting_Region(t *testing.T) {
	t.Parallel()
	const region = "eu-central-1"
	a := start(t, func(o *app.Options) { o.Regions = []string{"us-east-1", region} })
	c := &client.Client{Endpoint: a.URL(), Region: region}
	token := must(c.CreateJoinToken(t.Context(), client.JoinTokenInput{}))(t)
	join(t, a, filepath.Join(t.TempDir(), "agent"), 23000, func(o *agent.Options) {
		o.Server, o.Token = a.URL()+"/regions/"+region, token.Token
	})
	f := a.MakeFleetIn(t, region, arenaBuild(t), nil)
	wait.Until(t, "a game session is in the region", func() bool {
		var made struct {
			GameSession struct{ GameSessionID, Location string }
		}
		err := c.Call(t.Context(), "CreateGameSession", map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2}, &made)
		return err == nil && made.GameSession.Location == region
	})
	if hosts, err := (&client.Client{Endpoint: a.URL()}).Hosts().List(t.Context()); err != nil || len(hosts) != 0 {
		t.Errorf("hosts of the home region: %v %v", hosts, err)
	}
}

// Each failure of a build is named with its cause, by the event of a fleet and before, by a
// preflight. A build that works passes it.
func TestHosting_NamesCauses(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Instances.InitTimeout = 5 * time.Second })
	join(t, a, filepath.Join(t.TempDir(), "agent"), 24000, func(o *agent.Options) {
		o.Facts.PortTo = o.Facts.PortFrom + 1999 // room for all of them at the same time
	})
	for name, tt := range map[string]struct {
		files         map[string]string
		code          string
		event, report string // words in them
	}{
		"works":     {files: map[string]string{"server": arenaText(t)}},
		"missing":   {map[string]string{"bin/server": "#!/bin/sh\n"}, "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "it has bin/server", "is not in the build, but it has bin/server"},
		"foreign":   {map[string]string{"server": "MZ"}, "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "for Windows", "for Windows"},
		"line ends": {map[string]string{"server": "#!/bin/sh\n", "install.sh": "#!/bin/sh\r\ncd logs\r\n"}, "FLEET_CREATION_FAILED_INSTALLER", "Windows line ends", "Windows line ends"},
		"script":    {map[string]string{"server": "#!/bin/sh\n", "install.sh": "echo no compiler; exit 1"}, "FLEET_CREATION_FAILED_INSTALLER", "no compiler", "no compiler"},
		"exits":     {map[string]string{"server": "#!/bin/sh\necho no config >&2; exit 5\n"}, "SERVER_PROCESS_CRASHED", "no config", `exited with code 5`},
		"library":   {map[string]string{"server": unlinkedText(t)}, "SERVER_PROCESS_CRASHED", "the shared library libq.so.6 is missing", "libq.so.6 is missing"},
		"silent":    {map[string]string{"server": "#!/bin/sh\nexit 0\n"}, "SERVER_PROCESS_CRASHED", "started but never connected", "exited with code 0"},
		"segfault":  {map[string]string{"server": "#!/bin/sh\nkill -SEGV $$\n"}, "SERVER_PROCESS_CRASHED", "SIGSEGV", "SIGSEGV"},
		"waits":     {map[string]string{"server": "#!/bin/sh\nexec sleep 1000\n"}, "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT", "started but never connected", "it had not connected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := new(screen)
			o := app.PreflightOptions{Build: zipped(t, tt.files), LaunchPath: "/local/game/server", Out: out, Connect: 3 * time.Second}
			want := []string{tt.code, tt.report}
			if tt.code == "" {
				o.Parameters, o.Connect = "server", 0
				want = []string{"the archive unpacks", "called InitSDK", "called ProcessReady", "ActivateGameSession", "exited cleanly"}
			}
			if err := app.Preflight(t.Context(), o); (err != nil) != (tt.code != "") || err != nil && !errors.Is(err, app.ErrPreflight) {
				t.Errorf("the preflight ended with %v:\n%s", err, out)
			}
			for _, text := range want {
				if !strings.Contains(out.String(), text) {
					t.Errorf("the preflight does not say %q:\n%s", text, out)
				}
			}
			if tt.code == "" {
				return
			}
			f := a.MakeFleet(t, must(os.ReadFile(o.Build))(t), nil)
			if text := ofFleet(t, a.URL(), f.ID, tt.code); !strings.Contains(text, tt.event) {
				t.Errorf("the event says %q, want %q in it", text, tt.event)
			}
		})
	}
}

// unlinkedText returns a program that needs a shared library that does not exist.
func unlinkedText(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a program of Linux is broken here; run this on Linux")
	}
	text := must(os.ReadFile("/bin/true"))(t)
	broken := bytes.Replace(text, []byte("\x00libc.so.6\x00"), []byte("\x00libq.so.6\x00"), 1)
	if bytes.Equal(text, broken) {
		t.Skip("this system's programs are not linked to libc.so.6, so that none can be made to miss it")
	}
	return string(broken)
}

// ofFleet waits for an event of a fleet.
func ofFleet(t *testing.T, base, fleetID, code string) (message string) {
	t.Helper()
	for after := uint64(0); ; {
		e := events(t, base, code, 1, after)
		if e.FleetID == fleetID {
			return e.Message
		}
		after = e.Seq
	}
}

// TestHosting_Relayed connects a fleet's processes through the agent while the server is
// stopped and started again.
func TestHosting_Relayed(t *testing.T) {
	t.Parallel()
	dir, listen := t.TempDir(), node.Reserve(t)
	a := start(t, func(o *app.Options) { o.DataDir, o.Store, o.Listen = dir, "sqlite", listen })
	join(t, a, filepath.Join(t.TempDir(), "agent"), 21900, nil)
	f := a.MakeFleet(t, arenaBuild(t), func(in *fleet.CreateInput) {
		in.Runtime.Processes[0].Concurrent = 1
		in.Tags = map[string]string{"muster:relay": "true"}
	})
	before := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	made := createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	playing := events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, before.Seq)
	stop(t, a)
	b := start(t, func(o *app.Options) { o.DataDir, o.Store, o.Listen = dir, "sqlite", listen })
	again := events(t, b.URL(), "SERVER_PROCESS_RECONNECTED", 1, playing.Seq)
	if again.ProcessID != before.ProcessID || again.FleetID != f.ID {
		t.Errorf("process %s of %s came back, want %s of %s", again.ProcessID, again.FleetID, before.ProcessID, f.ID)
	}
	if status := statusOf(t, b, made.GameSessionID); status != "ACTIVE" {
		t.Errorf("after the restart the game session is %s", status)
	}
}

// agentProcess starts an agent in a separate process; kill ends it with SIGKILL.
func agentProcess(t *testing.T, a *app.App, root string) (kill func()) {
	t.Helper()
	cmd := exec.Command(must(os.Executable())(t), a.URL(), root, must(a.JoinToken(t.Context()))(t))
	cmd.Env = append(os.Environ(), playVariable+"=agent")
	check(t, cmd.Start())
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	t.Cleanup(func() { // it ends what it runs when told to end, but not when killed
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return kill
}

// TestHosting_AgentKilled kills an agent three times with SIGKILL. A process without a game session
// is taken over by the next agent and gets one; that game session goes on, and its process is taken
// over again; the crash of a process while no agent ran is reported by the next one.
func TestHosting_AgentKilled(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	root := filepath.Join(t.TempDir(), "agent")
	kill := agentProcess(t, a, root)
	f := a.MakeFleet(t, arenaBuild(t), func(in *fleet.CreateInput) { in.Runtime.Processes[0].Concurrent = 1 })
	before := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	last := events(t, a.URL(), "HOST_CONNECTED", 1, 0)
	killed := func() {
		t.Helper()
		kill()
		last = events(t, a.URL(), "HOST_DISCONNECTED", 1, last.Seq)
	}
	next := func() {
		t.Helper()
		kill = agentProcess(t, a, root)
		last = events(t, a.URL(), "HOST_CONNECTED", 1, last.Seq)
	}
	killed()
	next()
	made := createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	if hosting := events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, last.Seq); hosting.ProcessID != before.ProcessID {
		t.Errorf("the session is on process %s, want %s that outlived its agent", hosting.ProcessID, before.ProcessID)
	}
	killed()
	next()
	if status := statusOf(t, a, made.GameSessionID); status != "ACTIVE" {
		t.Fatalf("after the agent was killed the game session is %s", status)
	}
	killed()
	for _, pid := range gamePIDs(t, root) {
		check(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	agentProcess(t, a, root)
	crashed := events(t, a.URL(), "SERVER_PROCESS_CRASHED", 1, last.Seq)
	if crashed.ProcessID != before.ProcessID {
		t.Errorf("the crash of %s is told, want that of %s", crashed.ProcessID, before.ProcessID)
	}
	events(t, a.URL(), "GAME_SESSION_TERMINATED", 1, last.Seq)
	events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, last.Seq)
}

// statusOf returns the status of a game session.
func statusOf(t *testing.T, a *app.App, gameSessionID string) string {
	t.Helper()
	var seen struct{ GameSessions []struct{ Status string } }
	check(t, at(a).Call(t.Context(), "DescribeGameSessions", map[string]any{"GameSessionId": gameSessionID}, &seen))
	return seen.GameSessions[0].Status
}

// gamePIDs returns the game servers recorded in an agent's folder.
func gamePIDs(t *testing.T, root string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "instances", "*", "slots", "*", "state", "slot-0.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the agent keeps no record of what it runs: %v", err)
	}
	for _, file := range files {
		var record struct{ PID int }
		check(t, json.Unmarshal(must(os.ReadFile(file))(t), &record))
		pids = append(pids, record.PID)
	}
	return pids
}
