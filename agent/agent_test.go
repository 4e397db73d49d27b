//go:build unix

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/agent/collector"
	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/ziptest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}

// softStop is how long before a drain's deadline processes get SIGTERM.
const softStop = 10 * time.Second

const (
	patient = "#!/bin/sh\nenv > env-$GAME_PORT\necho \"$@\" > args-$GAME_PORT\necho hello; echo warning >&2\nmkdir -p logs; echo log > logs/game-$GAME_PORT.log\nexec sleep 1000\n"
	failing = "#!/bin/sh\necho no config found >&2\nexit 3\n"
)

func TestAgent_JoinsInstallsAndRuns(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	b := m.offer(map[string]string{"server.sh": patient, "install.sh": "echo installed > installed\n"})
	w := want(t, "i-1", b, protocol.ServerProcess{LaunchPath: "/local/game/server.sh", Parameters: `-port {{.GamePort}} -map "two words"`, Concurrent: 3})
	m.Assign(w)
	list := m.running("i-1", 3)
	seen := map[int]bool{}
	for _, p := range list {
		if p.Port < w.PortFrom || p.Port > w.PortTo || seen[p.Port] {
			t.Errorf("port %d is not of the range, or twice", p.Port)
		}
		seen[p.Port] = true
	}
	info, err := os.Stat(filepath.Join(home, credentialFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the credential's file: %v, %v", info.Mode(), err)
	}
	game := filepath.Join(home, "instances", "i-1", "game")
	if _, err := os.Stat(filepath.Join(game, "installed")); err != nil {
		t.Errorf("the install script did not run: %v", err)
	}
	checkEnvironment(t, game, list[0])
}

func checkEnvironment(t *testing.T, game string, p protocol.Process) {
	t.Helper()
	port := itoa(p.Port)
	env := content(t, filepath.Join(game, "env-"+port))
	for _, want := range []string{
		"GAMELIFT_SDK_PROCESS_ID=" + p.ProcessID, "GAMELIFT_SDK_AUTH_TOKEN=compute-token", "GAMELIFT_SDK_HOST_ID=i-1",
		"GAMELIFT_SDK_FLEET_ID=fleet-1", "GAMELIFT_SDK_WEBSOCKET_URL=ws://127.0.0.1:1/",
	} {
		if !strings.Contains(env, want+"\n") {
			t.Errorf("the environment lacks %s:\n%s", want, env)
		}
	}
	if args := content(t, filepath.Join(game, "args-"+port)); args != "-port "+port+" -map two words\n" {
		t.Errorf("the arguments are %q", args)
	}
}

// If another program uses the ports that SDKs expect, processes get others.
func TestAgent_OtherMetricsPorts(t *testing.T) {
	t.Parallel()
	if taken, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: collector.StatsDPort}); err == nil {
		defer taken.Close() // otherwise it is already in use
	}
	m := play(t)
	home := root(t)
	m.start(home, func(o *Options) { o.Collect = true })
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	p := m.running("i-1", 1)[0]
	env := content(t, filepath.Join(home, "instances", "i-1", "game", "env-"+itoa(p.Port)))
	_, told, ok := strings.Cut(env, "GAMELIFT_STATSD_PORT=")
	told, _, _ = strings.Cut(told, "\n")
	if !ok || told == itoa(collector.StatsDPort) || !strings.Contains(env, "GAMELIFT_CRASH_REPORTER_PORT=") {
		t.Errorf("the process is told port %q:\n%s", told, env)
	}
}

// A killed process is reported with its cause, its logs are sent to Muster on request,
// and another one starts in its place.
func TestAgent_ReportsAndCollects(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	p := m.running("i-1", 1)[0]
	content(t, filepath.Join(home, "instances", "i-1", "game", "logs", "game-"+itoa(p.Port)+".log")) // it has written all its output
	if err := syscall.Kill(p.PID, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	m.Until("the end is reported", func() bool { return len(m.Exits) == 1 })
	e := m.Exits[0]
	if e.ProcessID != p.ProcessID || e.Signal != "SIGSEGV" || !strings.Contains(e.Cause, "SIGSEGV") || e.Tail[0] != "warning" {
		t.Errorf("the report is %+v", e)
	}
	m.Send(protocol.Message{Collect: &protocol.Collect{
		InstanceID: "i-1", ProcessID: p.ProcessID, LogPaths: []string{"/local/game/logs/*.log", "/etc/passwd", "../../../credential.json"},
	}})
	m.Until("the logs are there", func() bool { return len(m.stored) == 1 })
	if m.stored[0].Problem != "" || m.stored[0].Bytes == 0 {
		t.Errorf("the agent says %+v", m.stored[0])
	}
	files := ziptest.Files(t, m.logs[p.ProcessID])
	if files[p.ProcessID+".stdout.log"] != "hello\n" || files[p.ProcessID+".stderr.log"] != "warning\n" ||
		files["game/logs/game-"+itoa(p.Port)+".log"] != "log\n" {
		t.Errorf("the archive holds %v", files)
	}
	if exit := files["logs/exit.txt"]; !strings.Contains(exit, "SIGSEGV") {
		t.Errorf("the archive says of the end %q", exit)
	}
	for name, text := range files {
		if strings.Contains(text, "root:") || strings.Contains(text, "Secret") {
			t.Errorf("%s came from outside the build", name)
		}
	}
	m.Until("another one runs", func() bool {
		list := m.Instance("i-1").Processes
		return len(list) == 1 && list[0].ProcessID != p.ProcessID
	})
}

// leave starts an agent with instances of one process each and ends it such that the
// processes keep running, as in a crash. The desired state on disk is then replaced with
// kept for the next agent.
func (m *muster) leave(home string, kept protocol.Assign, all ...protocol.Desired) (running map[string]protocol.Process) {
	m.Helper()
	a := m.start(home, func(o *Options) { o.KeepRunning = true })
	m.Assign(all...)
	running = map[string]protocol.Process{}
	for _, w := range all {
		running[w.InstanceID] = m.running(w.InstanceID, 1)[0]
	}
	a.stop()
	if err := disk.Write(filepath.Join(home, desiredFile), kept); err != nil {
		m.Fatal(err)
	}
	m.Forget()
	return running
}

// If an agent dies after it stored a desired state but before it ended an instance, the next
// agent ends the instance and removes its folder; other instances continue.
func TestAgent_EndsWhatIsNotNamed(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	b := m.offer(map[string]string{"server.sh": patient})
	one := protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	stays, goes := want(t, "i-1", b, one), want(t, "i-2", b, one)
	left := m.leave(home, protocol.Assign{Instances: []protocol.Desired{stays}}, stays, goes)
	m.Assign(stays)
	m.start(home, func(o *Options) { o.keepLogs = time.Millisecond })
	m.Until("the end of the process is reported", func() bool { return len(m.Exits) == 1 })
	if e := m.Exits[0]; e.ProcessID != left["i-2"].ProcessID || e.InstanceID != "i-2" {
		t.Errorf("the report is %+v, want the end of %+v", e, left["i-2"])
	}
	if now := m.running("i-1", 1)[0]; now.PID != left["i-1"].PID {
		t.Errorf("%+v runs in the other instance, want %+v", now, left["i-1"])
	}
	m.Until("the instance is gone", func() bool { return m.Instance("i-2").InstanceID == "" })
	if _, err := os.Stat(filepath.Join(home, "instances", "i-2")); err == nil {
		t.Error("its folder is left")
	}
}

// If an agent dies that could not store a newer desired state, the next one keeps the
// running processes until it receives one, and continues with those instances that it
// names.
func TestAgent_KeepsWhatIsNamedAgain(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1})
	left := m.leave(home, protocol.Assign{}, w)["i-1"]
	m.start(home, nil)
	m.Until("the instance is looked after", func() bool { return m.Instance("i-1").Phase == protocol.Activating })
	if now := m.running("i-1", 1)[0]; now.PID != left.PID {
		t.Errorf("%+v runs, want %+v", now, left)
	}
	if err := syscall.Kill(left.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.Until("another one runs in its place", func() bool {
		list := m.Instance("i-1").Processes
		return len(list) == 1 && list[0].PID != left.PID
	})
	if p := m.running("i-1", 1)[0]; p.Port < w.PortFrom || p.Port > w.PortTo {
		t.Errorf("it has port %d, not one of the instance's, %d to %d", p.Port, w.PortFrom, w.PortTo)
	}
}

// The token of a process that could not be started is invalid, and not stored.
func TestAgent_ForgetsTokensOfFailedLaunches(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1})
	w.Relay = true
	a := m.start(home, nil)
	m.Assign(w)
	first := m.running("i-1", 1)[0]
	dir := filepath.Join(home, "instances", "i-1")
	if err := os.Remove(filepath.Join(dir, "game", "server.sh")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.Until("a failed launch is reported", func() bool { return len(m.Exits) > 1 })
	var kept struct{ ProcessID, Pass string }
	if err := disk.Read(filepath.Join(dir, "slots", "0", "run.json"), &kept); err != nil || kept.Pass == "" || kept.ProcessID == first.ProcessID {
		t.Fatalf("of the launch is kept %+v, %v", kept, err)
	}
	m.Until("that very one is", func() bool {
		return slices.ContainsFunc(m.Exits, func(e protocol.Exited) bool { return e.ProcessID == kept.ProcessID })
	})
	q := url.Values{"pID": {kept.ProcessID}, "Authorization": {kept.Pass}}
	res, err := http.Get("http" + strings.TrimPrefix(a.machine.Relay.URL(), "ws") + "?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("its token is answered with %s", res.Status)
	}
}

// Collecting logs does not block when the result cannot be sent: otherwise the agent
// could neither end nor link again.
func TestAgent_CollectsWithoutWaiting(t *testing.T) {
	t.Parallel()
	a, err := New(Options{Root: root(t)})
	if err != nil {
		t.Fatal(err)
	}
	for range cap(a.uploads.done) {
		a.uploads.done <- protocol.LogsStored{}
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		a.host.Obey(t.Context(), protocol.Message{Collect: &protocol.Collect{InstanceID: "i-gone", ProcessID: "p-1"}})
	}()
	wait.Done(t, "the agent to obey", heard)
	for range cap(a.uploads.done) {
		<-a.uploads.done
	}
	if done := <-a.uploads.done; done.InstanceID != "i-gone" || done.Problem == "" {
		t.Errorf("the answer is %+v", done)
	}
}

// If an agent dies during a launch, before there is a process, the next one removes
// what was created for it and launches another.
func TestAgent_ClearsLaunchThatWasCut(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1})
	slot := filepath.Join(home, "instances", "i-1", "slots", "0")
	temp := filepath.Join(home, "instances", "i-1", "temp-cut")
	for _, dir := range []string{filepath.Join(slot, "state"), temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, v := range map[string]any{
		filepath.Join(home, desiredFile):            protocol.Assign{Instances: []protocol.Desired{w}},
		filepath.Join(slot, "slot.json"):            map[string]any{"Entry": 0, "Spec": w.Runtime.Processes[0]},
		filepath.Join(slot, "state", "slot-0.json"): map[string]any{"id": "cut", "slot": 0},
		filepath.Join(slot, "run.json"):             map[string]any{"ProcessID": "cut", "Port": w.PortFrom},
	} {
		if err := disk.Write(path, v); err != nil {
			t.Fatal(err)
		}
	}
	m.Assign(w)
	m.start(home, nil)
	if p := m.running("i-1", 1)[0]; p.ProcessID == "cut" {
		t.Errorf("%+v runs, which was never launched", p)
	}
	if _, err := os.Stat(temp); err == nil {
		t.Error("its folder for temporary files is left")
	}
	if len(m.Exits) > 0 {
		t.Errorf("the end of what never ran is reported: %+v", m.Exits)
	}
}

// A desired state that arrives while the agent ends is stored for the next one, and does not
// delay the end.
func TestAgent_EndsThoughItIsAssigned(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	b := m.offer(map[string]string{"server.sh": patient})
	one := protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}
	first, second := want(t, "i-1", b, one), want(t, "i-2", b, one)
	a := m.start(home, nil)
	m.Assign(first)
	m.running("i-1", 1)
	m.Set(func() { m.Deaf = true }) // so that the agent waits before it ends
	ended := make(chan struct{})
	go func() { defer close(ended); a.stop() }()
	m.Until("the end of its process is told", func() bool { return len(m.Exits) > 0 })
	m.Assign(first, second)
	wait.Done(t, "the end of the agent", ended)
	if a.instances.find("i-2") != nil {
		t.Error("an instance began when the agent was about to end")
	}
	m.Set(func() { m.Deaf = false })
	m.start(home, nil)
	m.running("i-2", 1)
}

// obstructive is a game server that creates pipes and links where the agent reads and
// writes.
const obstructive = `#!/bin/sh
mkfifo "$GAME_LOG_DIR/exit.txt" "$GAME_LOG_DIR/pipe.log" pipe
ln -s ../../../../secret "$GAME_LOG_DIR/$GAMELIFT_SDK_PROCESS_ID.stdout.log"
rm server.sh
mkfifo -m 755 server.sh
echo no config found >&2
exit 3
`

// Whatever a game server leaves in its folders, the agent still reports how it ended and what it
// said last, and neither reads nor writes its own files through links.
func TestAgent_WaitsForNoPipe(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	m.start(home, nil)
	if err := os.WriteFile(filepath.Join(home, "secret"), []byte("Secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": obstructive}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	var ended, failed protocol.Exited
	m.Until("it ended, and could not be started again", func() bool {
		if len(m.Exits) < 2 {
			return false
		}
		ended, failed = m.Exits[0], m.Exits[1]
		return true
	})
	if ended.Code != 3 || !strings.Contains(ended.Cause, "exited with code 3") || !strings.Contains(ended.Cause, "no config found") || !strings.Contains(failed.Cause, "no regular file") {
		t.Errorf("the reports are %+v and %+v", ended, failed)
	}
	m.Send(protocol.Message{Collect: &protocol.Collect{InstanceID: "i-1", ProcessID: ended.ProcessID, LogPaths: []string{"pipe", "pipe/*.log"}}})
	m.Until("the logs are there", func() bool { return len(m.stored) == 1 })
	files := ziptest.Files(t, m.logs[ended.ProcessID])
	if !strings.Contains(files["logs/exit.txt"], "exited with code 3") {
		t.Errorf("the archive says of the end %q", files["logs/exit.txt"])
	}
	for name, text := range files {
		if strings.Contains(text, "Secret") || strings.Contains(name, "pipe") {
			t.Errorf("the archive holds %s: %q", name, text)
		}
	}
}

// Every problem that a build can have is reported with its cause.
func TestAgent_NamesCauses(t *testing.T) {
	t.Parallel()
	m := play(t)
	m.start(root(t), nil)
	missing := m.offer(map[string]string{"inner/server.sh": patient})
	text := m.offer(map[string]string{"server.sh": "no program"})
	script := m.offer(map[string]string{"server.sh": patient, "install.sh": "echo needs python >&2; exit 9"})
	gone := protocol.Build{ID: "build-2", SHA256: strings.Repeat("0", 64), Size: 10, Format: "zip"}.Sign(signing)
	process := protocol.ServerProcess{LaunchPath: "/local/game/server.sh", Concurrent: 1}
	m.Assign(want(t, "i-missing", missing, process), want(t, "i-text", text, process), want(t, "i-script", script, process),
		want(t, "i-gone", gone, process), want(t, "i-outside", missing, protocol.ServerProcess{LaunchPath: "/usr/bin/env", Concurrent: 1}))
	for id, want := range map[string][2]string{
		"i-missing": {"FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "it has inner/server.sh"},
		"i-text":    {"FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "is no program"},
		"i-script":  {"FLEET_CREATION_FAILED_INSTALLER", "needs python"},
		"i-gone":    {"FLEET_BINARY_DOWNLOAD_FAILED", "5 tries"},
		"i-outside": {"FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "not below /local/game/"},
	} {
		m.Until(id+" has failed", func() bool { return m.Instance(id).Phase == protocol.Failed })
		if i := m.Instance(id); i.Code != want[0] || !strings.Contains(i.Cause, want[1]) {
			t.Errorf("%s failed with %s: %s; want %s with %q", id, i.Code, i.Cause, want[0], want[1])
		}
	}
}

// Reports that were not acknowledged are sent again, to a later Muster and by a later
// agent.
func TestAgent_RepeatsReports(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	impatient := func(o *Options) { o.lastReports = 50 * time.Millisecond } // nobody receives them
	a := m.start(home, impatient)
	m.Deaf = true
	m.Assign(want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 1}))
	p := m.running("i-1", 1)[0]
	m.Send(protocol.Message{Kill: &protocol.Kill{InstanceID: "i-1", ProcessID: p.ProcessID, Reason: "SERVER_PROCESS_TERMINATED_UNHEALTHY"}})
	m.Until("the end is reported", func() bool { return len(m.Exits) == 1 })
	m.Cut()
	m.Until("it is reported again", func() bool { return m.Reports[m.Exits[0].Seq] == 2 })
	a.stop()
	m.start(home, impatient)
	var e protocol.Exited
	m.Until("a later agent reports it", func() bool {
		e = m.Exits[0]
		return m.Reports[e.Seq] >= 3
	})
	if e.ProcessID != p.ProcessID || e.Reason != "SERVER_PROCESS_TERMINATED_UNHEALTHY" {
		t.Errorf("the report is %+v", e)
	}
	if m.Joins != 1 {
		t.Errorf("joined %d times, want once: the credential is kept", m.Joins)
	}
}

// A changed runtime configuration does not affect running processes.
func TestAgent_ChangesLive(t *testing.T) {
	t.Parallel()
	m := play(t)
	m.start(root(t), nil)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Parameters: "old", Concurrent: 2})
	m.Assign(w)
	old := m.running("i-1", 2)
	w.Runtime.Processes = []protocol.ServerProcess{{LaunchPath: "server.sh", Parameters: "new", Concurrent: 3}}
	m.Assign(w)
	list := m.running("i-1", 3)
	if !contains(list, old[0].ProcessID) || !contains(list, old[1].ProcessID) {
		t.Errorf("running processes were ended: %+v, before %+v", list, old)
	}
	m.Send(protocol.Message{Kill: &protocol.Kill{InstanceID: "i-1", ProcessID: old[0].ProcessID}})
	m.Until("its place is taken by a new one", func() bool {
		list := m.Instance("i-1").Processes
		return len(list) == 3 && !contains(list, old[0].ProcessID)
	})
}

// An agent finds and takes over the processes that its predecessor left running, which was replaced,
// even if its options were to stop them.
func TestAgent_TakesOver(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	a := m.start(home, nil)
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 2})
	m.Assign(w)
	before := m.running("i-1", 2)
	a.KeepRunning()
	a.stop()
	m.Forget()
	m.Set(func() { m.Refuses = true })
	m.start(home, nil)
	m.Set(func() { m.Refuses = false })
	after := m.running("i-1", 2)
	for n := range before {
		if after[n].PID != before[n].PID || after[n].ProcessID != before[n].ProcessID || after[n].Port != before[n].Port {
			t.Errorf("before %+v, after %+v", before[n], after[n])
		}
	}
	if len(m.Exits) != 0 {
		t.Errorf("ends were reported: %+v", m.Exits)
	}
	m.Assign()
	m.Until("the last desired state stops them", func() bool { return len(m.Exits) == 2 })
}

// A process that called end, and exited while there was no agent, has not crashed.
func TestAgent_EndedBetweenAgents(t *testing.T) {
	t.Parallel()
	m := play(t)
	home := root(t)
	a := m.start(home, func(o *Options) { o.KeepRunning = true })
	w := want(t, "i-1", m.offer(map[string]string{"server.sh": patient}), protocol.ServerProcess{LaunchPath: "server.sh", Concurrent: 2})
	m.Assign(w)
	before := m.running("i-1", 2)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", before[0].PID))
	if err != nil {
		t.Skip("the environment of a process is not shown here")
	}
	env := map[string]string{}
	for _, one := range strings.Split(string(text), "\x00") {
		name, value, _ := strings.Cut(one, "=")
		env[name] = value
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, env[gameapi.URLVariable]+"/end", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+env[gameapi.TokenVariable])
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("POST /end: %v, %v", answer, err)
	}
	answer.Body.Close()
	a.stop()
	for _, p := range before {
		if err := syscall.Kill(-p.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(p.PID, nil, 0, nil); err != nil && !errors.Is(err, syscall.ECHILD) {
			t.Fatal(err)
		}
	}
	m.start(home, nil)
	m.Until("the ends are reported", func() bool { return len(m.Exits) >= 2 })
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, e := range m.Exits {
		if e.ProcessEnding != (e.ProcessID == before[0].ProcessID) {
			t.Errorf("the end of %s is reported as %+v", e.ProcessID, e)
		}
	}
}

func TestAgent_TokenRefused(t *testing.T) {
	t.Parallel()
	m := play(t)
	a, err := New(Options{Server: m.URL, Token: "wrong", Root: root(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the token is not known") {
		t.Errorf("joined with a wrong token: %v", err)
	}
}

// If isolation is required but not available, nothing runs.
func TestAgent_IsolationRequired(t *testing.T) {
	t.Parallel()
	m := play(t)
	users := jail.Users{From: 1_900_000_100, To: 1_900_000_109}
	o := Options{Server: m.URL, Token: "token", Root: root(t), Launcher: "/bin/false", Users: users, Required: true}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "isolation is required") || m.Joins > 0 {
		t.Errorf("started without isolation: %v, %d joins", err, m.Joins)
	}
	o.Users = jail.Users{}
	if _, err := New(o); err == nil {
		t.Error("required isolation without users was taken")
	}
}

func contains(list []protocol.Process, id string) bool {
	for _, p := range list {
		if p.ProcessID == id {
			return true
		}
	}
	return false
}

func content(t *testing.T, path string) string {
	t.Helper()
	return wait.Value(t, path+" is written", func() (string, error) {
		text, err := os.ReadFile(path)
		if err == nil && len(text) == 0 {
			err = errors.New("it is empty")
		}
		return string(text), err
	})
}
