package group

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/internal/ziptest"
)

// play plays one scene on a stage.
func play(t *testing.T, scene func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		defer s.close()
		scene(s)
	})
}

// run returns the current run of a group.
func (s *stage) run(name string) *actor {
	s.Helper()
	for _, a := range s.living() {
		if a.launch.Labels.Group == name {
			return a
		}
	}
	s.Fatalf("group %s does not run: %+v", name, s.i.Report())
	return nil
}

// Images are fetched, then containers are started, with what their game servers need to
// connect.
func TestInstance_Starts(t *testing.T) {
	play(t, func(s *stage) {
		s.desired.Region = "eu-central-1"
		s.desired.Groups[0].Containers[0].Environment = []protocol.Variable{{Name: "MAP", Value: "winter"}, {Name: "GAMELIFT_SDK_AUTH_TOKEN", Value: "defined"}}
		s.begin(true)
		s.wantPhases(protocol.Downloading, all(protocol.GroupPulling))
		if r := s.i.Report(); r.Done != 50 || r.Groups[0].Done != 50 {
			t.Errorf("half of the images are reported as %+v", r)
		}
		wait.Settle(3 * time.Second)
		s.wantPhases(protocol.Activating, all(protocol.GroupStarting))
		wait.Settle(time.Second)
		s.wantPhases(protocol.Activating, all(protocol.GroupRunning))
		a := s.run("0")
		env := map[string]string{}
		for _, v := range a.launch.Group.Containers[0].Environment {
			if _, twice := env[v.Name]; twice {
				t.Errorf("%s is set twice", v.Name)
			}
			env[v.Name] = v.Value
		}
		for name, want := range map[string]string{
			"MAP": "winter", "GAMELIFT_SDK_WEBSOCKET_URL": "wss://muster.test", "GAMELIFT_SDK_AUTH_TOKEN": "token-0", "GAMELIFT_SDK_FLEET_ID": "containerfleet-1",
			"GAMELIFT_SDK_HOST_ID": "i-1/0", "GAMELIFT_SDK_PROCESS_ID": a.launch.ProcessID, "GAMELIFT_COMPUTE_TYPE": "CONTAINER", "GAMELIFT_REGION": "eu-central-1",
		} {
			if env[name] != want {
				t.Errorf("%s is %q, want %q", name, env[name], want)
			}
		}
		if env := s.run("beside").launch.Group.Containers[0].Environment; len(env) != 0 {
			t.Errorf("a container without a game server gets %v", env)
		}
		g := s.group("0")
		if g.ProcessID != a.launch.ProcessID || g.Definition != "one" || len(g.Containers) != 1 || g.Usage.MemoryMiB != 20 {
			t.Errorf("the group is reported as %+v", g)
		}
		if r := s.i.Report(); r.Usage.MemoryMiB != 60 {
			t.Errorf("the instance uses %+v", r.Usage)
		}
	})
}

// A group that crashed is started again after pauses that grow; one that ended as it should
// immediately.
func TestInstance_StartsAgain(t *testing.T) {
	play(t, func(s *stage) {
		s.desired.Groups = s.desired.Groups[:1]
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.run("0").finish(End{Code: 3, Tail: []string{"no map"}})
		wait.Settle(0)
		g := s.group("0")
		if g.Phase != protocol.GroupFailed || g.Code != codeCrashed || !strings.Contains(g.Cause, "no map") || g.ProcessID != "" {
			t.Errorf("after a crash it is %+v", g)
		}
		if e := s.exits[0]; e.Group != "0" || !e.Known || e.Code != 3 || e.Reason != "" || e.InstanceID != "i-1" || e.FleetID != "containerfleet-1" {
			t.Errorf("the end is reported as %+v", e)
		}
		wait.Settle(6 * time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupRunning || g.Cause != "" {
			t.Errorf("after a pause it is %+v", g)
		}
		wait.Settle(time.Minute)
		s.run("0").finish(End{})
		wait.Settle(0)
		if g := s.group("0"); g.Phase != protocol.GroupPulling {
			t.Errorf("after a clean end it is %+v", g)
		}
	})
}

// An unhealthy container and one that is out of memory say so.
func TestInstance_SaysHowItEnded(t *testing.T) {
	play(t, func(s *stage) {
		s.desired.Groups[1].MemoryMiB = 64
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.run("0").finish(End{Code: -1, Signal: "SIGKILL", Unhealthy: true})
		s.run("1").finish(End{Code: -1, Signal: "SIGKILL", OOM: true})
		s.run("beside").finish(End{Code: 1})
		wait.Settle(0)
		for name, want := range map[string]string{"0": "unhealthy", "1": "64 MiB", "beside": "container collector exited with code 1"} {
			if g := s.group(name); !strings.Contains(g.Cause, want) {
				t.Errorf("%s: %q, want %q", name, g.Cause, want)
			}
		}
		g := s.group("beside")
		if g.Code != codeBeside || len(s.exits) != 2 || !strings.Contains(g.Failed.Cause, "exited with code 1") || g.Failed.Definition != g.Definition {
			t.Errorf("%+v, and %d ends of game servers", g, len(s.exits))
		}
		// After a longer run the next one begins at once, and the failure is told nonetheless.
		first := g.Failed.ID
		wait.Settle(2 * time.Minute)
		s.run("beside").finish(End{Code: 2})
		wait.Settle(0)
		if g := s.group("beside"); g.Phase == protocol.GroupFailed || g.Failed.ID == first || !strings.Contains(g.Failed.Cause, "exited with code 2") {
			t.Errorf("after a long run it is %+v", g)
		}
	})
}

// What does not end in a drain is told to, ten seconds before its deadline; what runs
// beside game servers outlives them.
func TestInstance_DrainsUntilTheDeadline(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.want(func(d *protocol.Desired) { d.Stop, d.StopBy = protocol.Drain, time.Now().Add(time.Minute) })
		s.run("0").finish(End{})
		wait.Settle(49 * time.Second)
		s.wantPhases(protocol.Draining, map[string]protocol.GroupPhase{"0": protocol.GroupGone, "1": protocol.GroupDraining, "beside": protocol.GroupRunning})
		wait.Settle(3 * time.Second)
		s.wantPhases(protocol.Gone, all(protocol.GroupGone))
		if e := s.exits[1]; e.Reason != codeStopped {
			t.Errorf("the end at the deadline is %+v", e)
		}
	})
}

// A group that is drained for another version is not replaced before the desired state
// wants it again.
func TestInstance_NewVersion(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		before := s.run("0").launch.ProcessID
		s.want(func(d *protocol.Desired) { d.Groups[0].Definition = "two" })
		wait.Settle(time.Minute)
		if g := s.group("0"); g.ProcessID != before || g.Definition != "one" {
			t.Errorf("a running game server was replaced: %+v", g)
		}
		s.want(func(d *protocol.Desired) { d.Groups[0].Stop = protocol.Drain })
		s.run("0").finish(End{})
		wait.Settle(time.Minute)
		if g := s.group("0"); g.Phase != protocol.GroupGone || g.Definition != "one" {
			t.Errorf("the drained group is %+v", g)
		}
		s.want(func(d *protocol.Desired) { d.Groups[0].Stop = protocol.Keep })
		wait.Settle(10 * time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupRunning || g.Definition != "two" {
			t.Errorf("the new version is %+v", g)
		}
	})
}

// The failures of one version do not delay the next: its groups are started again soon.
func TestInstance_NewVersionStartsAfresh(t *testing.T) {
	play(t, func(s *stage) {
		s.desired.Groups = s.desired.Groups[:1]
		s.begin(true)
		for s.group("0").Cause == "" || !strings.Contains(s.group("0").Cause, "in a row") {
			wait.Settle(time.Minute)
			if s.group("0").Phase == protocol.GroupRunning {
				s.run("0").finish(End{Code: 2})
				wait.Settle(0)
			}
		}
		s.want(func(d *protocol.Desired) { d.Groups[0].Stop = protocol.Drain })
		wait.Settle(time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupGone {
			t.Fatalf("a group that does not run is not drained: %+v", g)
		}
		s.want(func(d *protocol.Desired) { d.Groups[0].Stop, d.Groups[0].Definition = protocol.Keep, "two" })
		wait.Settle(10 * time.Second)
		s.run("0").finish(End{Code: 2})
		wait.Settle(10 * time.Second)
		if g := s.group("0"); g.Phase != protocol.GroupRunning {
			t.Errorf("the first crash of the new version is %+v", g)
		}
	})
}

// Killing a process ends its run, and the next one begins immediately.
func TestInstance_Kill(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		a := s.run("0")
		s.i.Kill(protocol.Kill{ProcessID: a.launch.ProcessID, Reason: "SERVER_PROCESS_TERMINATED_UNHEALTHY", Grace: 5 * time.Second})
		wait.Settle(4 * time.Second)
		if a.isOver() {
			t.Error("it was killed within its grace period")
		}
		wait.Settle(2 * time.Second)
		if !a.isOver() || s.exits[0].Reason != "SERVER_PROCESS_TERMINATED_UNHEALTHY" {
			t.Errorf("its end is reported as %+v", s.exits)
		}
		wait.Settle(4 * time.Second)
		if next := s.run("0"); next == a || s.group("0").Phase != protocol.GroupRunning {
			t.Errorf("the group is %+v", s.group("0"))
		}
	})
}

// An image that cannot be had fails an instance that has run nothing, with the reason, until
// it can be had. One that has goes on.
func TestInstance_ImageRefused(t *testing.T) {
	play(t, func(s *stage) {
		s.refusal = &Refused{Reason: "registry.test has no image game:two", Lasts: true}
		s.begin(true)
		wait.Settle(3100 * time.Millisecond)
		s.wantPhases(protocol.Failed, all(protocol.GroupFailed))
		if r := s.i.Report(); r.Code != codeDownload || r.Cause != "registry.test has no image game:two" {
			t.Errorf("it reports %+v", r)
		}
		s.set(func() { s.refusal = nil })
		wait.Settle(time.Minute)
		s.wantPhases(protocol.Activating, all(protocol.GroupRunning))
		s.set(func() { s.refusal = errors.New("the registry does not answer") })
		s.run("0").finish(End{})
		wait.Settle(3100 * time.Millisecond)
		s.wantPhases(protocol.Activating, map[string]protocol.GroupPhase{"0": protocol.GroupFailed, "1": protocol.GroupRunning, "beside": protocol.GroupRunning})
	})
}

// What a former agent left and no desired state names goes on until Muster decides.
func TestInstance_Unnamed(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		s.i.Detach()
		s.begin(false)
		wait.Settle(time.Hour)
		s.wantPhases(protocol.Activating, all(protocol.GroupRunning))
		s.want(func(d *protocol.Desired) { d.Groups = d.Groups[:1] })
		wait.Settle(10 * time.Second)
		s.wantPhases(protocol.Activating, map[string]protocol.GroupPhase{"0": protocol.GroupRunning})
		s.i.Forget()
		wait.Settle(10 * time.Second)
		if n := len(s.living()); n > 0 || s.i.Over() {
			t.Errorf("%d live, over: %v", n, s.i.Over())
		}
		wait.Settle(keepLogs)
		if !s.i.Over() {
			t.Error("its folder is left")
		}
	})
}

// The output of a run's containers is what its logs are.
func TestInstance_PackLogs(t *testing.T) {
	play(t, func(s *stage) {
		s.begin(true)
		wait.Settle(10 * time.Second)
		id := s.run("0").launch.ProcessID
		s.run("0").finish(End{Code: 2})
		wait.Settle(0)
		var buf bytes.Buffer
		if err := s.i.PackLogs(&buf, protocol.Collect{ProcessID: id, LogPaths: []string{"/local/game/logs"}, GameSessionID: "gsess-1"}); err != nil {
			t.Fatal(err)
		}
		files := ziptest.Files(t, buf.Bytes())
		if files[id+".server.log"] != "server of "+id+"\n" || !strings.Contains(files[id+".exit.txt"], "exited with code 2") ||
			!strings.Contains(files["README.txt"], "/local/game/logs is in the container") {
			t.Errorf("the archive has %v", files)
		}
		if err := s.i.DropLogs(id); err != nil {
			t.Error(err)
		}
		for range keepRuns + 2 { // beyond those that are kept
			wait.Settle(6 * time.Minute)
			s.run("0").finish(End{})
			wait.Settle(10 * time.Second)
		}
		buf.Reset()
		if err := s.i.PackLogs(&buf, protocol.Collect{ProcessID: id}); err != nil || strings.Contains(buf.String(), id+".server.log") {
			t.Errorf("dropped logs are still there: %v", err)
		}
	})
}

// An agent that starts while the engine does not answer starts nothing, and reports the game servers
// of the former agent as running: Muster would end their game sessions. Those that are gone when the
// engine answers are reported as ended.
func TestInstance_EngineAwayAtStart(t *testing.T) {
	play(t, func(s *stage) {
		s.desired.Groups = s.desired.Groups[:2]
		s.begin(true)
		wait.Settle(10 * time.Second)
		lives, lost := s.run("0"), s.run("1")
		s.i.Detach()
		s.away = true
		s.begin(true)
		for name, a := range map[string]*actor{"0": lives, "1": lost} {
			if g := s.group(name); g.ProcessID != a.launch.ProcessID {
				t.Errorf("while the engine is away, group %s is reported as %+v", name, g)
			}
		}
		wait.Settle(time.Minute)
		if g := s.group("0"); g.Phase != protocol.GroupPulling || !strings.Contains(g.Cause, "Docker or Podman") {
			t.Errorf("without an engine it is %+v", g)
		}
		s.mu.Lock()
		delete(s.runs, lost.launch.ProcessID)
		s.away = false
		s.mu.Unlock()
		s.search()
		wait.Settle(0)
		if g := s.group("0"); g.ProcessID != lives.launch.ProcessID || g.Phase != protocol.GroupRunning || len(s.exits) != 1 {
			t.Errorf("when it is back, the group is reported as %+v, and %d ends", g, len(s.exits))
		}
		if e := s.exits[0]; e.Group != "1" || e.ProcessID != lost.launch.ProcessID || e.Known || e.Cause == "" {
			t.Errorf("the end is reported as %+v", e)
		}
		wait.Settle(time.Minute)
		if g := s.group("1"); g.ProcessID == lost.launch.ProcessID || len(s.exits) != 1 {
			t.Errorf("later group 1 is reported as %+v, and %d ends", g, len(s.exits))
		}
	})
}
