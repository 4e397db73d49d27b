//go:build unix

package app_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/app/host"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/internal/wait"
)

// TestExec hosts a developer's own program: its output is shown, it gets game sessions,
// and it is restarted when it crashes.
func TestExec(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) {
		o.Host = &host.Options{Exec: &host.Program{Path: arena(t), Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}}}
	})
	base, out, _ := run(t, o)
	first := events(t, base, "SERVER_PROCESS_ACTIVE", 1, 0)
	if text := out.String(); !strings.Contains(text, "--alias-id alias-") || !strings.Contains(text, first.FleetID) || !strings.Contains(text, "matchmaker exec ") {
		t.Errorf("the commands to try are missing:\n%s", text)
	}
	c := &client.Client{Endpoint: base}
	made := createWhenFree(t, base, map[string]any{"FleetId": first.FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2})
	active := events(t, base, "GAME_SESSION_ACTIVATED", 1, first.Seq)
	in := map[string]any{"GameSessionId": made.GameSessionID, "TerminationMode": "FORCE_TERMINATE"}
	if err := c.Call(t.Context(), "TerminateGameSession", in, nil); err != nil {
		t.Fatal(err)
	}
	if next := events(t, base, "SERVER_PROCESS_ACTIVE", 1, active.Seq); next.ProcessID == first.ProcessID {
		t.Error("the killed process is ACTIVE again")
	}
	out.await(t, "Your game server ended by signal SIGKILL")
}

// A program's game servers reach a server that speaks TLS with a certificate which only itself
// trusts.
func TestExec_SelfSigned(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) {
		o.TLSSelfSigned, o.TLSMinVersion = true, "1.2"
		o.Host = &host.Options{Managed: true, Exec: &host.Program{Path: arena(t), Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}}}
	})
	base, _, _ := run(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &client.Client{Endpoint: base, HTTP: trusting(t, filepath.Join(o.DataDir, sniff.CertificateFile))}
	active := false
	err := c.Events(ctx, client.EventQuery{Follow: true, Last: 1000}, func(e client.Event) error {
		if active = e.Code == "SERVER_PROCESS_ACTIVE"; active {
			cancel()
		}
		return nil
	})
	if !active {
		t.Fatalf("no game server is ready: %v", err)
	}
	// Once this machine has joined, the game server's has the name under which hosts are listed.
	var hosts []client.Host
	var processes []client.Process
	wait.For(t, "the game server's process has the name of its host", func() error {
		hosts, err = c.Hosts().List(t.Context())
		if err == nil {
			processes, err = c.Processes(t.Context(), "")
		}
		if err != nil || len(hosts) != 1 || len(processes) != 1 || processes[0].Host != hosts[0].Name || processes[0].Compute != host.ComputeName {
			return fmt.Errorf("processes %+v on hosts %+v: %v", processes, hosts, err)
		}
		return nil
	})
	var made struct {
		GameSession struct{ GameSessionId string }
	}
	wait.Until(t, "the game server hears of game sessions", func() bool { // soon after it is ACTIVE
		fleets, err := c.Fleets(t.Context())
		return err == nil && len(fleets) == 1 && fleets[0].Free == 1
	})
	if err := c.Call(t.Context(), "CreateGameSession", map[string]any{"FleetId": processes[0].FleetID, "Location": host.Location, "MaximumPlayerSessionCount": 2}, &made); err != nil {
		t.Fatal(err)
	}
	answer, err := c.HTTP.Get(base + "/console/api/views/session?id=" + url.QueryEscape(made.GameSession.GameSessionId))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var page struct {
		Data struct {
			Host    string
			Process struct {
				HostID string `json:"host_id"`
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil || page.Data.Host != hosts[0].Name || page.Data.Process.HostID != hosts[0].HostID {
		t.Errorf("the page of a game session says host %+v: %v", page.Data, err)
	}
}

// Players are told the address that is set, also after a restart with another one.
func TestExec_IP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, ip := range []string{"", "192.0.2.7"} {
		o := options(t, func(o *app.Options) {
			o.Store, o.DataDir = "sqlite", dir
			o.Host = &host.Options{IP: ip, Managed: true, Exec: &host.Program{Path: arena(t), Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}}}
		})
		base, _, stop := run(t, o)
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
}

// Operators see the machine with its own processors, though it offers more to fleets, and the
// processes of the developer's program on it.
func TestExec_Host(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) {
		o.Host = &host.Options{Managed: true, Exec: &host.Program{Path: arena(t), Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}, Copies: 2}}
	})
	base, _, _ := run(t, o)
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	var seen []client.Host
	wait.Until(t, "both processes are seen on the machine", func() bool {
		var err error
		seen, err = (&client.Client{Endpoint: base}).Hosts().List(t.Context())
		return err == nil && len(seen) == 1 && seen[0].Processes == 2
	})
	h := seen[0]
	if h.Resources.CPUMillis != runtime.NumCPU()*1000 || h.CPUMillis <= h.Resources.CPUMillis || h.Instances != 0 || len(h.Own) != 1 || len(h.Own[0].Processes) != 2 {
		t.Errorf("the machine is %+v", h)
	}
}

// A game server that ends because Muster stops has not crashed.
func TestExec_StopIsNoCrash(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) {
		o.Store = "sqlite"
		o.Host = &host.Options{Exec: &host.Program{Path: arena(t), Dir: t.TempDir(), Args: []string{"server", "--port", "{port}"}, Copies: 2}}
	})
	base, _, end := run(t, o)
	events(t, base, "SERVER_PROCESS_ACTIVE", 2, 0)
	end()
	o.Host = nil
	base, _, _ = run(t, o)
	codes := map[string]int{}
	err := (&client.Client{Endpoint: base}).Events(t.Context(), client.EventQuery{Last: 1000}, func(e client.Event) error {
		codes[e.Code]++
		return nil
	})
	if err != nil || codes["SERVER_PROCESS_ACTIVE"] != 2 || codes["SERVER_PROCESS_CRASHED"] > 0 {
		t.Errorf("%v, %v", codes, err)
	}
}

// A program without an SDK that is started like one with it is reported with the remedy.
func TestExec_NeverConnects(t *testing.T) {
	t.Parallel()
	o := options(t, func(o *app.Options) {
		o.Host = &host.Options{Exec: &host.Program{Path: "/bin/sleep", Dir: t.TempDir(), Args: []string{"1000"}, Copies: 2}}
	})
	base, out, _ := run(t, o)
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
		if err := os.WriteFile(program+".new", []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(program+".new", program); err != nil {
			t.Fatal(err)
		}
	}
	write("the first program")
	o := options(t, func(o *app.Options) {
		o.Host = &host.Options{Exec: &host.Program{Path: program, Dir: t.TempDir(), Args: []string{"{port}"}, Copies: 2, Reload: []string{dir}}}
	})
	base, out, _ := run(t, o)
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
	if err := c.Call(t.Context(), "TerminateGameSession", map[string]any{"GameSessionId": made.GameSessionID, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"}, nil); err != nil {
		t.Fatal(err)
	}
	events(t, base, "SERVER_PROCESS_ACTIVE", 1, next.Seq)
	wait.Until(t, "both run the second program", func() bool { return strings.Count(out.String(), "the second program") == 2 })
	err := c.Events(t.Context(), client.EventQuery{Last: 1000}, func(e client.Event) error {
		if e.Code == "SERVER_PROCESS_CRASHED" {
			t.Errorf("%s crashed: %s", e.ProcessID, e.Message)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
