//go:build unix

package app_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/agent"
	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
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
	token, err := a.JoinToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := agent.Options{
		Server: a.URL(), Token: token, Root: root, StopGrace: time.Second,
		Facts: protocol.Facts{IPAddress: "127.0.0.1", CPUMillis: 64_000, MemoryMiB: 256 << 10, PortFrom: from, PortTo: from + 200},
	}
	if change != nil {
		change(&o)
	}
	runner, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
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

func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	content, err := os.ReadFile(zipped(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func arenaText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(arena(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHosting covers the whole process on a machine that joined: a build becomes an ACTIVE
// fleet, a game session is played and ends, and its logs are stored.
func TestHosting(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	join(t, a, filepath.Join(t.TempDir(), "agent"), 21000, nil)
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": arenaText(t), "install.sh": "echo ok\n"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	base := a.URL()
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	events(t, base, "FLEET_STATE_ACTIVE", 1, 0)
	c := &client.Client{Endpoint: base}
	made := createWhenFree(t, base, map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	active := events(t, base, "GAME_SESSION_ACTIVATED", 1, 0)
	if made.IPAddress != "127.0.0.1" || made.DNSName != "127.0.0.1" {
		t.Errorf("players are sent to %s, by the name %q", made.IPAddress, made.DNSName)
	}
	var found struct {
		Instances []struct {
			InstanceID string `json:"InstanceId"`
			IPAddress  string `json:"IpAddress"`
			DNSName    string `json:"DnsName"`
		}
	}
	if err := c.Call(t.Context(), "DescribeInstances", map[string]any{"FleetId": f.ID}, &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Instances) == 0 {
		t.Error("the fleet has no instances")
	}
	for _, i := range found.Instances { // on a host without a name
		if i.IPAddress != "127.0.0.1" || i.DNSName != "127.0.0.1" {
			t.Errorf("an instance is %+v", i)
		}
	}
	in := map[string]any{"GameSessionId": made.GameSessionID, "TerminationMode": "FORCE_TERMINATE"}
	if err := c.Call(t.Context(), "TerminateGameSession", in, nil); err != nil {
		t.Fatal(err)
	}
	events(t, base, "SERVER_PROCESS_ACTIVE", 1, active.Seq) // another one replaces it
	key := f.ID + "/" + active.ComputeName + "/" + made.GameSessionID[strings.LastIndex(made.GameSessionID, "/")+1:] + ".zip"
	wait.Until(t, "the logs are here", func() bool { return a.Logs(f.ID)[key] > 0 })
}

// A machine joins a region by the region's URL and hosts game servers there alone.
func TestHosting_Region(t *testing.T) {
	t.Parallel()
	const region = "eu-central-1"
	a := start(t, func(o *app.Options) { o.Regions = []string{"us-east-1", region} })
	c := &client.Client{Endpoint: a.URL(), Region: region}
	token, err := c.CreateJoinToken(t.Context(), client.JoinTokenInput{})
	if err != nil {
		t.Fatal(err)
	}
	join(t, a, filepath.Join(t.TempDir(), "agent"), 23000, func(o *agent.Options) {
		o.Server, o.Token = a.URL()+"/regions/"+region, token.Token
	})
	f, err := a.MakeFleetIn(t, region, archiveOf(t, map[string]string{"server": arenaText(t)}), nil)
	if err != nil {
		t.Fatal(err)
	}
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

// TestHosting_NamesCauses checks the reported causes of small broken servers.
func TestHosting_NamesCauses(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	join(t, a, filepath.Join(t.TempDir(), "agent"), 24000, func(o *agent.Options) {
		o.Facts.PortTo = o.Facts.PortFrom + 1999 // room for all of them at the same time
	})
	for name, tt := range map[string]struct {
		files map[string]string
		code  string
		want  string
	}{
		"missing":  {map[string]string{"bin/server": "#!/bin/sh\n"}, "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "it has bin/server"},
		"foreign":  {map[string]string{"server": "MZ"}, "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "for Windows"},
		"script":   {map[string]string{"server": "#!/bin/sh\n", "install.sh": "echo no compiler; exit 1"}, "FLEET_CREATION_FAILED_INSTALLER", "no compiler"},
		"exits":    {map[string]string{"server": "#!/bin/sh\necho no config >&2; exit 5\n"}, "SERVER_PROCESS_CRASHED", "no config"},
		"machine":  {map[string]string{"server": foreignText(t)}, "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "is made for"},
		"library":  {map[string]string{"server": unlinkedText(t)}, "SERVER_PROCESS_CRASHED", "the shared library libq.so.6 is missing"},
		"silent":   {map[string]string{"server": "#!/bin/sh\nexit 0\n"}, "SERVER_PROCESS_CRASHED", "started but never connected"},
		"segfault": {map[string]string{"server": "#!/bin/sh\nkill -SEGV $$\n"}, "SERVER_PROCESS_CRASHED", "SIGSEGV"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := a.MakeFleet(t, archiveOf(t, tt.files), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text := ofFleet(t, a.URL(), f.ID, tt.code); !strings.Contains(text, tt.want) {
				t.Errorf("the event says %q, want %q in it", text, tt.want)
			}
		})
	}
}

// foreignText returns a program for another processor than this machine's.
func foreignText(t *testing.T) string {
	t.Helper()
	text := programText(t)
	foreign := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		foreign = elf.EM_X86_64
	}
	const machineAt = 18 // in the header of an ELF file
	binary.LittleEndian.PutUint16(text[machineAt:], uint16(foreign))
	return string(text)
}

// unlinkedText returns a program that needs a shared library that does not exist.
func unlinkedText(t *testing.T) string {
	t.Helper()
	text := programText(t)
	broken := bytes.Replace(text, []byte("\x00libc.so.6\x00"), []byte("\x00libq.so.6\x00"), 1)
	if bytes.Equal(text, broken) {
		t.Skip("this system's programs are not linked to libc.so.6, so that none can be made to miss it")
	}
	return string(broken)
}

// programText returns a program of this system, to be broken.
func programText(t *testing.T) []byte {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("programs of Linux are broken here; run this on Linux")
	}
	text, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	return text
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

// TestHosting_NamesTheUnconnected runs a program that never calls InitSDK.
func TestHosting_NamesTheUnconnected(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.Instances.InitTimeout = time.Second })
	join(t, a, filepath.Join(t.TempDir(), "agent"), 22800, nil)
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": "#!/bin/sh\nexec sleep 1000\n"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := ofFleet(t, a.URL(), f.ID, "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"); !strings.Contains(text, "started but never connected") {
		t.Errorf("the event says %q", text)
	}
}

// TestHosting_AgentGoes stops an agent while a game session runs; the next one takes the
// processes over, and Muster never counts them as ended.
func TestHosting_AgentGoes(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	root := filepath.Join(t.TempDir(), "agent")
	first := join(t, a, root, 21600, func(o *agent.Options) { o.KeepRunning = true })
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": arenaText(t)}), func(in *fleet.CreateInput) { in.Runtime.Processes[0].Concurrent = 1 })
	if err != nil {
		t.Fatal(err)
	}
	before := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	first.end()
	lost := events(t, a.URL(), "HOST_DISCONNECTED", 1, 0)
	join(t, a, root, 21600, nil)
	back := events(t, a.URL(), "HOST_CONNECTED", 1, lost.Seq)
	createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	hosting := events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, back.Seq)
	if hosting.ProcessID != before.ProcessID {
		t.Errorf("the session is on process %s, want %s that outlived its agent", hosting.ProcessID, before.ProcessID)
	}
}

// TestHosting_Relayed connects a fleet's processes through the agent while the server is
// stopped and started again.
func TestHosting_Relayed(t *testing.T) {
	t.Parallel()
	dir, listen := t.TempDir(), node.Reserve(t)
	a := start(t, func(o *app.Options) { o.DataDir, o.Store, o.Listen = dir, "sqlite", listen })
	join(t, a, filepath.Join(t.TempDir(), "agent"), 21900, nil)
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": arenaText(t)}), func(in *fleet.CreateInput) {
		in.Runtime.Processes[0].Concurrent = 1
		in.Tags = map[string]string{"muster:relay": "true"}
	})
	if err != nil {
		t.Fatal(err)
	}
	before := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	made := createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	playing := events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, before.Seq)
	stopping, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := a.Stop(stopping); err != nil {
		t.Fatal(err)
	}
	b := start(t, func(o *app.Options) { o.DataDir, o.Store, o.Listen = dir, "sqlite", listen })
	again := events(t, b.URL(), "SERVER_PROCESS_RECONNECTED", 1, playing.Seq)
	if again.ProcessID != before.ProcessID || again.FleetID != f.ID {
		t.Errorf("process %s of %s came back, want %s of %s", again.ProcessID, again.FleetID, before.ProcessID, f.ID)
	}
	var seen struct{ GameSessions []struct{ Status string } }
	in := map[string]any{"GameSessionId": made.GameSessionID}
	if err := (&client.Client{Endpoint: b.URL()}).Call(t.Context(), "DescribeGameSessions", in, &seen); err != nil || seen.GameSessions[0].Status != "ACTIVE" {
		t.Errorf("after the restart the game session is %+v, %v", seen, err)
	}
}

// agentProcess starts an agent in a separate process; kill ends it with SIGKILL.
func agentProcess(t *testing.T, a *app.App, root string) (kill func()) {
	t.Helper()
	token, err := a.JoinToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, a.URL(), root, token)
	cmd.Env = append(os.Environ(), playVariable+"=agent")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
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

// TestHosting_AgentKilled kills an agent twice with SIGKILL. After the first kill a game
// session goes on and its process is taken over; the crash of a process while no agent
// ran is reported by the next one.
func TestHosting_AgentKilled(t *testing.T) {
	t.Parallel()
	a := start(t, nil)
	root := filepath.Join(t.TempDir(), "agent")
	kill := agentProcess(t, a, root)
	f, err := a.MakeFleet(t, archiveOf(t, map[string]string{"server": arenaText(t)}), func(in *fleet.CreateInput) { in.Runtime.Processes[0].Concurrent = 1 })
	if err != nil {
		t.Fatal(err)
	}
	before := events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, 0)
	c := &client.Client{Endpoint: a.URL()}
	made := createWhenFree(t, a.URL(), map[string]any{"FleetId": f.ID, "MaximumPlayerSessionCount": 2})
	events(t, a.URL(), "GAME_SESSION_ACTIVATED", 1, before.Seq)
	kill()
	lost := events(t, a.URL(), "HOST_DISCONNECTED", 1, 0)
	kill = agentProcess(t, a, root)
	back := events(t, a.URL(), "HOST_CONNECTED", 1, lost.Seq)
	var seen struct{ GameSessions []struct{ Status string } }
	if err := c.Call(t.Context(), "DescribeGameSessions", map[string]any{"GameSessionId": made.GameSessionID}, &seen); err != nil || seen.GameSessions[0].Status != "ACTIVE" {
		t.Fatalf("after the agent was killed the game session is %+v, %v", seen, err)
	}
	kill()
	lost = events(t, a.URL(), "HOST_DISCONNECTED", 1, back.Seq)
	for _, pid := range gamePIDs(t, root) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	agentProcess(t, a, root)
	crashed := events(t, a.URL(), "SERVER_PROCESS_CRASHED", 1, lost.Seq)
	if crashed.ProcessID != before.ProcessID {
		t.Errorf("the crash of %s is told, want that of %s", crashed.ProcessID, before.ProcessID)
	}
	events(t, a.URL(), "GAME_SESSION_TERMINATED", 1, lost.Seq)
	events(t, a.URL(), "SERVER_PROCESS_ACTIVE", 1, lost.Seq)
}

// gamePIDs returns the game servers recorded in an agent's folder.
func gamePIDs(t *testing.T, root string) []int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "instances", "*", "slots", "*", "state", "slot-0.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the agent keeps no record of what it runs: %v", err)
	}
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var record struct{ PID int }
		if err := json.Unmarshal(text, &record); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, record.PID)
	}
	return pids
}
