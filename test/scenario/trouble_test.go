package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/agent/isolate"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// troubled builds the game server that misbehaves.
func troubled(t *testing.T) map[string][]byte {
	t.Helper()
	content, err := os.ReadFile(node.Compiled(t, "test/scenario/troubled"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"server": content}
}

// told returns the message of the first event of a fleet with a code, as
// DescribeFleetEvents shows it.
func (s *site) told(fleet string, what types.EventCode) string {
	s.t.Helper()
	s.seen.want(1, string(what), func(e client.Event) bool { return e.FleetID == fleet && e.Code == string(what) })
	out, err := s.client.DescribeFleetEvents(s.t.Context(), &gamelift.DescribeFleetEventsInput{FleetId: &fleet, Limit: aws.Int32(100)})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range out.Events {
		if e.EventCode == what {
			return aws.ToString(e.Message)
		}
	}
	s.t.Fatalf("DescribeFleetEvents does not show %s", what)
	return ""
}

// A process that reports that it is unhealthy and does not end when told to is
// killed; its game session ends, and another process replaces it.
func TestTrouble_Hung(t *testing.T) {
	t.Parallel()
	s, m, fleet, instance := hosting(t, troubled(t), "hung", 1)
	g := s.create(fleet)
	seat := s.reserve(g.GameSessionId, "late")
	if status := s.players(g.GameSessionId)["late"]; status != types.PlayerSessionStatusReserved {
		t.Errorf("the awaited player's session is %s, want RESERVED", status)
	}
	s.knock(seat) // the program waits for this before it hangs
	told := s.seen.want(1, "the order to end", on(instance, code("SERVER_PROCESS_TERMINATING", 0)))
	if text := s.told(fleet, types.EventCodeServerProcessTerminatedUnhealthy); !strings.Contains(text, "ill health") {
		t.Errorf("the fleet's event says %q", text)
	}
	s.seen.want(1, "the end of the game session", of(*g.GameSessionId, code("GAME_SESSION_TERMINATED", told.Seq)))
	if status := s.players(g.GameSessionId)["late"]; status != types.PlayerSessionStatusTimedout {
		t.Errorf("the awaited player's session is %s, want TIMEDOUT", status)
	}
	again := s.seen.want(1, "another process", on(instance, code("SERVER_PROCESS_ACTIVE", told.Seq)))
	if again.ProcessID == told.ProcessID {
		t.Errorf("process %s is back from the dead", again.ProcessID)
	}
	wait.Until(t, "only the agent and one game server with the first process of its namespace are left", func() bool { return len(m.pids()) == withOneGame })
}

// withOneGame is how many processes a machine with one game server has: the agent,
// the game server and the first process of its namespace.
const withOneGame = 3

// knock connects to the game server of a player session, and disconnects.
func (s *site) knock(p *types.PlayerSession) {
	s.t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(*p.IpAddress, fmt.Sprint(*p.Port)))
	if err != nil {
		s.t.Fatal(err)
	}
	conn.Close()
}

// A program that crashes immediately is restarted after ever longer delays, each end
// is reported with its cause, and a configuration that works is applied immediately.
func TestTrouble_CrashLoop(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, small...)
	crashing := "#!/bin/sh\ndate +%s%N >> ends\necho no map called winter >&2\nexit 3\n"
	fleet := s.beside(map[string][]byte{"bad": []byte(crashing)})
	instance := s.instance(m, 1, 0)
	s.seen.want(4, "crashes", on(instance, code("SERVER_PROCESS_CRASHED", 0)))
	if text := s.told(fleet, types.EventCodeServerProcessCrashed); !strings.Contains(text, "exited with code 3") || !strings.Contains(text, "no map called winter") {
		t.Errorf("the fleet's event says %q", text)
	}
	for n, gap := range gaps(t, filepath.Join(m.root, "instances", instance, "game", "ends")) {
		if least := time.Second << n * 8 / 10; gap < least {
			t.Errorf("after crash %d the program was started again within %s, want at least %s", n+1, gap, least)
		}
	}
	s.runtime(fleet, entry("server", server, 2))
	s.seen.want(2, "a second process that works", on(instance, code("SERVER_PROCESS_ACTIVE", 0)))
}

// beside creates a fleet of one instance that runs the demo game and, beside it, the
// program "bad" of the files.
func (s *site) beside(files map[string][]byte) string {
	s.t.Helper()
	files["server"] = arena(s.t)["server"]
	return s.fleet(s.build(files), server, 1, func(in *gamelift.CreateFleetInput) {
		in.RuntimeConfiguration.ServerProcesses = append(in.RuntimeConfiguration.ServerProcesses, entry("bad", "", 1))
	})
}

// entry returns an entry of a runtime configuration.
func entry(name, parameters string, copies int32) types.ServerProcess {
	p := types.ServerProcess{LaunchPath: aws.String("/local/game/" + name), ConcurrentExecutions: &copies}
	if parameters != "" {
		p.Parameters = &parameters
	}
	return p
}

// runtime changes what the instances of a fleet run.
func (s *site) runtime(fleet string, entries ...types.ServerProcess) {
	s.t.Helper()
	if _, err := s.client.UpdateRuntimeConfiguration(s.t.Context(), &gamelift.UpdateRuntimeConfigurationInput{
		FleetId: &fleet, RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: entries},
	}); err != nil {
		s.t.Fatal(err)
	}
}

// gaps returns the times between a program's ends, in order.
func gaps(t *testing.T, file string) (all []time.Duration) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Duration(0)
	for _, word := range strings.Fields(string(text)) {
		at, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if before > 0 {
			all = append(all, time.Duration(at)-before)
		}
		before = time.Duration(at)
	}
	return all
}

// limited skips the test if processes cannot be limited.
func limited(t *testing.T) {
	t.Helper()
	if _, err := isolate.Find(); err != nil {
		t.Skipf("this system lets us make no control groups, so nothing is limited: %v", err)
	}
}

// A program that starts processes endlessly is stopped at its limit, and all of them
// end with it; the game beside it in the same instance continues.
func TestTrouble_ForkBomb(t *testing.T) {
	t.Parallel()
	limited(t)
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, small...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("processes of the machine: %s", m.states())
		}
	})
	fleet := s.beside(map[string][]byte{"bad": []byte("#!/bin/sh\nwhile sleep 1000 & do :; done\n")})
	s.instance(m, 1, 0)
	players := s.play(s.create(fleet).GameSessionId, 1)
	text := s.told(fleet, types.EventCodeServerProcessCrashed)
	if !strings.Contains(text, "annot fork") {
		t.Errorf("the fleet's event says %q, want that it cannot fork", text)
	}
	players.goesOn()
	s.runtime(fleet, entry("server", server, 1))
	wait.Until(t, "only the agent and the other game are left", func() bool { return len(m.pids()) == withOneGame })
	players.goesOn()
	players.end()
}

// A program that needs more memory than its instance has is killed, and the fleet's
// event says so.
func TestTrouble_OutOfMemory(t *testing.T) {
	t.Parallel()
	limited(t)
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, small...)
	fleet := s.fleet(s.build(troubled(t)), "hungry", 1, func(in *gamelift.CreateFleetInput) { in.EC2InstanceType = types.EC2InstanceTypeT2Micro })
	text := s.told(fleet, types.EventCodeServerProcessCrashed)
	if !strings.Contains(text, "memory") || !strings.Contains(text, "1024 MiB") {
		t.Errorf("the fleet's event says %q, want that its 1024 MiB of memory did not do", text)
	}
}

// A host with a full disk launches nothing, and the game on it continues; once there
// is space, everything works as before.
func TestTrouble_DiskFull(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	smallDisk(t, m.root)
	s.run(m, large...)
	build := s.build(arena(t))
	fleet := s.fleet(build, server, 1)
	instance := s.instance(m, 1, 0)
	id := s.create(fleet).GameSessionId
	players := s.play(id, 2)

	filler := filepath.Join(m.root, "filler")
	fill(t, filler)
	wait.Until(t, "the host tells that its disk is full", func() bool { return s.find(m).Resources.DiskFull })
	players.goesOn()
	s.scale(fleet, 2) // not on this host, and there is no other
	players.end()
	ended := s.seen.want(1, "the game session's own end", of(*id, code("GAME_SESSION_TERMINATED", 0)))
	wait.Until(t, "nothing runs but the agent", func() bool { return len(m.pids()) == 1 })
	if made := s.seen.all(code("INSTANCE_CREATED", 0)); len(made) != 1 {
		t.Errorf("%d instances are made on a host with a full disk, want the first alone", len(made))
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	freed := s.seen.want(1, "a process in the place of that which ended", on(instance, code("SERVER_PROCESS_ACTIVE", ended.Seq)))
	s.instance(m, 1, ended.Seq)
	if e := s.seen.all(func(e client.Event) bool { return e.Code == "SERVER_PROCESS_CRASHED" || e.Code == "FLEET_STATE_ERROR" }); len(e) > 0 {
		t.Errorf("until %d the full disk also led to %+v", freed.Seq, e)
	}
}

// smallDisk mounts a small file system at a folder.
func smallDisk(t *testing.T, at string) {
	t.Helper()
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size=192m"); err != nil {
		t.Skipf("this system mounts no tmpfs, so no disk can be filled: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for piece := bytes.Repeat([]byte{1}, 1<<20); err == nil; {
		_, err = file.Write(piece)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
