//go:build unix

package app_test

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/terminal"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/internal/wait"
)

// ownProgram returns options for hosting a developer's own program, which is a game server of the
// demo unless change says otherwise.
func ownProgram(t *testing.T, change func(*app.Options)) app.Options {
	return options(t, func(o *app.Options) {
		o.Host = &host.Options{Exec: &host.Program{Path: arena(t), Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}}}
		change(o)
	})
}

// TestExec hosts a developer's own program: its output is shown, it gets game sessions, it is
// restarted when it is killed, and its log is read while it plays and stored when it has ended.
func TestExec(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "server")
	check(t, os.WriteFile(program, []byte(speaking(t)), 0o755))
	base, out, _ := run(t, ownProgram(t, func(o *app.Options) { o.Host.Managed, o.Host.Exec.Path = true, program }))
	first := events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
	if text := out.String(); !strings.Contains(text, "--alias-id alias-") || !strings.Contains(text, first.FleetID) || !strings.Contains(text, "matchmaker exec ") {
		t.Errorf("the commands to try are missing:\n%s", text)
	}
	c := &client.Client{Endpoint: base}
	id := createWhenFree(t, base, map[string]any{"FleetId": first.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2}).GameSessionID
	active := events(t, base, "GAME_SESSION_ACTIVATED", 1, first.Seq)
	const said = "the map is loaded\n"
	if log := outputOf(t, c, id, said); log.Process != first.ProcessID {
		t.Errorf("the log is %+v", log)
	}
	var load struct {
		Why  string
		Used []any
	}
	viewOf(t, c, "session-load?id="+id, &load)
	if load.Why != "" || load.Used == nil {
		t.Errorf("what it used: %+v", load)
	}
	var followed, stored screen
	shown := make(chan error, 1)
	go func() { shown <- (&terminal.Terminal{Client: c, Out: &followed}).SessionLog(t.Context(), id, true) }()
	followed.await(t, "the map is loaded")
	answered(t, c, "TerminateGameSession", map[string]any{"GameSessionId": id, "TerminationMode": "FORCE_TERMINATE"})
	events(t, base, "SERVER_PROCESS_FORCE_TERMINATED", 1, active.Seq)
	if next := events(t, base, "SERVER_PROCESS_ACTIVE", 1, active.Seq); next.ProcessID == first.ProcessID {
		t.Error("the killed process is ACTIVE again")
	}
	out.await(t, "Your game server ended by signal SIGKILL")
	if err, text := <-shown, followed.String(); err != nil || strings.Count(text, said) != 1 || strings.Contains(text, "muster:") {
		t.Errorf("following ended with %v after %q, want %q once", err, text, said)
	}
	wait.Until(t, "the log is stored", func() bool {
		return c.Call(t.Context(), "GetGameSessionLogUrl", map[string]any{"GameSessionId": id}, nil) == nil
	})
	if err := (&terminal.Terminal{Client: c, Out: &stored}).SessionLog(t.Context(), id, false); err != nil || !strings.Contains(stored.String(), said) {
		t.Errorf("the stored log: %v, %q", err, &stored)
	}
}

// A program's game servers reach a server that speaks TLS with a certificate which only itself
// trusts. Operators see the machine with its own processors, though it offers more to fleets, and
// the processes on it.
func TestExec_SelfSigned(t *testing.T) {
	t.Parallel()
	o := ownProgram(t, func(o *app.Options) {
		o.TLSSelfSigned, o.TLSMinVersion, o.Host.Managed, o.Host.Exec.Copies = true, "1.2", true, 2
	})
	base, _, _ := run(t, o)
	c := &client.Client{Endpoint: base, HTTP: trusting(t, filepath.Join(o.DataDir, sniff.CertificateFile))}
	eventsFor(t, c, "SERVER_PROCESS_ACTIVE", 2, 0)
	// Once this machine has joined, the game servers' processes have the name under which hosts are listed.
	var h client.Host
	var processes []client.Process
	wait.For(t, "the game servers' processes have the name of their host", func() error {
		hosts, err := c.Hosts().List(t.Context())
		if err == nil {
			processes, err = c.Processes(t.Context(), "")
		}
		if err != nil || len(hosts) != 1 || hosts[0].Processes != 2 || len(processes) != 2 || processes[0].Host != hosts[0].Name || processes[0].Compute != host.ComputeName {
			return fmt.Errorf("processes %+v on hosts %+v: %v", processes, hosts, err)
		}
		h = hosts[0]
		return nil
	})
	if h.Resources.CPUMillis != runtime.NumCPU()*1000 || h.CPUMillis <= h.Resources.CPUMillis || h.Instances != 0 || len(h.Own) != 1 || len(h.Own[0].Processes) != 2 {
		t.Errorf("the machine is %+v", h)
	}
	wait.Until(t, "the game servers hear of game sessions", func() bool { // soon after they are ACTIVE
		fleets, err := c.Fleets(t.Context())
		return err == nil && len(fleets) == 1 && fleets[0].Free == 2
	})
	made := answered(t, c, "CreateGameSession", map[string]any{"FleetId": processes[0].FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2})
	var page struct {
		Host    string
		Process struct {
			HostID string `json:"host_id"`
		}
	}
	viewOf(t, c, "session?id="+url.QueryEscape(made["GameSession"].(map[string]any)["GameSessionId"].(string)), &page)
	if page.Host != h.Name || page.Process.HostID != h.HostID {
		t.Errorf("the page of a game session says host %+v", page)
	}
}

// Players are told the address that is set, also after a restart with another one. A game server
// that ends because Muster stops has not crashed.
func TestExec_IP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, ip := range []string{"", "192.0.2.7"} {
		base, _, stop := run(t, ownProgram(t, func(o *app.Options) { o.Store, o.DataDir, o.Host.IP, o.Host.Managed = "sqlite", dir, ip, true }))
		active := events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
		if ip != "" {
			active = events(t, base, "SERVER_PROCESS_ACTIVE", 1, active.Seq)
		}
		made := createWhenFree(t, base, map[string]any{"FleetId": active.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2})
		if want := cmp.Or(ip, "127.0.0.1"); made.IPAddress != want {
			t.Errorf("players are told %s, want %s", made.IPAddress, want)
		}
		stop()
	}
	a := start(t, func(o *app.Options) { o.Store, o.DataDir = "sqlite", dir })
	codes := map[string]int{}
	check(t, at(a).Events(t.Context(), client.EventQuery{Last: 1000}, func(e client.Event) error {
		codes[e.Code]++
		return nil
	}))
	if codes["SERVER_PROCESS_ACTIVE"] != 2 || codes["SERVER_PROCESS_CRASHED"] > 0 {
		t.Errorf("the events are %v", codes)
	}
}

// A program without an SDK that is started like one with it is reported with the remedy.
func TestExec_NeverConnects(t *testing.T) {
	t.Parallel()
	base, out, _ := run(t, ownProgram(t, func(o *app.Options) {
		o.Host.Exec = &host.Program{Path: "/bin/sleep", Dir: t.TempDir(), Args: []string{"1000"}, Copies: 2}
	}))
	e := events(t, base, "GENERIC_EVENT", 1, 0)
	if !strings.Contains(e.Message, "has not called InitSDK") || !strings.Contains(e.Message, "--no-sdk") || e.ComputeName != host.ComputeName {
		t.Errorf("the event is %+v", e)
	}
	out.await(t, "Your program has not called InitSDK for 10s; if it knows no SDK, call ready of the HTTP interface (MUSTER_GAME_URL), or use --no-sdk.")
	if n := strings.Count(out.String(), "has not called InitSDK"); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
}

// When the file of a program changes, game servers without a game session start anew, with what
// it is now; one with a game session goes on, and is replaced after it.
func TestExec_Reload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "server")
	write := func(marker string) {
		text := "#!/bin/sh\necho " + marker + "\nexec " + arena(t) + " server --port $1\n"
		check(t, os.WriteFile(program+".new", []byte(text), 0o700))
		check(t, os.Rename(program+".new", program))
	}
	write("the first program")
	base, out, _ := run(t, ownProgram(t, func(o *app.Options) {
		o.Host.Exec = &host.Program{Path: program, Dir: t.TempDir(), Args: []string{"{port}"}, Copies: 2, Reload: []string{dir}}
	}))
	last := events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	made := createWhenFree(t, base, map[string]any{"FleetId": last.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2})
	hosting := events(t, base, "GAME_SESSION_ACTIVATED", 1, last.Seq)

	write("the second program")
	if idle := events(t, base, "SERVER_PROCESS_TERMINATING", 1, hosting.Seq); idle.ProcessID == hosting.ProcessID {
		t.Fatal("the game server with the game session is told to end")
	}
	next := events(t, base, "SERVER_PROCESS_ACTIVE", 1, hosting.Seq)
	out.await(t, "the second program")
	if text := out.String(); !strings.Contains(text, "Your program has changed: its game servers start anew, 1 of them after the game session that is played there.") || strings.Count(text, "the second program") != 1 {
		t.Errorf("it says\n%s", text)
	}
	c := &client.Client{Endpoint: base}
	answered(t, c, "TerminateGameSession", map[string]any{"GameSessionId": made.GameSessionID, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	events(t, base, "SERVER_PROCESS_ACTIVE", 1, next.Seq)
	wait.Until(t, "both run the second program", func() bool { return strings.Count(out.String(), "the second program") == 2 })
	check(t, c.Events(t.Context(), client.EventQuery{Last: 1000}, func(e client.Event) error {
		if e.Code == "SERVER_PROCESS_CRASHED" {
			t.Errorf("%s crashed: %s", e.ProcessID, e.Message)
		}
		return nil
	}))
}
