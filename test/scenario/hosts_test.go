package scenario

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
)

// The resources of a machine: room for one instance of c5.large, or for two.
var (
	small = []string{"--cpu", "2", "--memory", "4096"}
	large = []string{"--cpu", "4", "--memory", "8192"}
)

// server are the parameters of the demo game's server.
const server = "server -port {{.GamePort}} -wait 30m"

// pair starts two machines with one instance of a fleet each; the second has room for
// one more.
func (s *site) pair(copies int32, change ...func(*gamelift.CreateFleetInput)) (fleet string, first, second *machine, instances [2]string) {
	s.t.Helper()
	first, second = s.lab.machine(), s.lab.machine()
	s.run(first, small...)
	fleet = s.fleet(s.build(arena(s.t)), server, copies, change...)
	instances[0] = s.instance(first, 1, 0)
	s.run(second, large...)
	s.scale(fleet, 2)
	instances[1] = s.instance(second, 1, 0)
	for _, i := range instances {
		s.seen.want(int(copies), "processes on "+i, on(i, code("SERVER_PROCESS_ACTIVE", 0)))
	}
	return fleet, first, second, instances
}

// sessions creates game sessions until there is one on each instance, and returns
// them.
func (s *site) sessions(fleet string, instances [2]string) (both [2]*types.GameSession) {
	s.t.Helper()
	for both[0] == nil || both[1] == nil {
		g := s.create(fleet)
		e := s.seen.want(1, "its activation", of(*g.GameSessionId, code("GAME_SESSION_ACTIVATED", 0)))
		for n, i := range instances {
			if e.ComputeName == i {
				both[n] = g
			}
		}
	}
	return both
}

// A host dies with everything on it: its game sessions and player sessions end, its
// capacity is replaced on the other host, and players there notice nothing.
func TestHosts_Killed(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t), "--host-grace", "2s")
	fleet, first, second, instances := s.pair(2)
	games := s.sessions(fleet, instances)
	lost, kept := games[0].GameSessionId, games[1].GameSessionId
	doomed, lucky := s.play(lost, 1), s.play(kept, 2)
	s.reserve(lost, "late")
	defer doomed.stop()

	first.die()
	gone := s.seen.want(1, "the loss of the host", s.host(first, code("HOST_LOST", 0)))
	s.seen.want(1, "its instance's replacement", on(instances[0], code("INSTANCE_REPLACED_UNHEALTHY", 0)))
	s.seen.want(2, "the end of its processes", on(instances[0], code("SERVER_PROCESS_CRASHED", 0)))
	s.seen.want(1, "the end of its game session", of(*lost, code("GAME_SESSION_TERMINATED", 0)))
	if g := s.session(lost); g.Status != types.GameSessionStatusTerminated || g.StatusReason != "" {
		t.Errorf("the lost game session is %s (%s), want TERMINATED and no reason", g.Status, g.StatusReason)
	}
	if now := s.players(lost); now["bot-0"] != types.PlayerSessionStatusCompleted || now["late"] != types.PlayerSessionStatusTimedout {
		t.Errorf("the lost player sessions are %v, want who played COMPLETED and who was awaited TIMEDOUT", now)
	}
	made := s.instance(second, 2, 0)
	s.seen.want(2, "processes in the place of those lost", on(made, code("SERVER_PROCESS_ACTIVE", gone.Seq)))
	lucky.goesOn()
	if g := s.session(kept); g.Status != types.GameSessionStatusActive {
		t.Errorf("the game session on the other host is %s", g.Status)
	}
	lucky.end()
}

// A host that is cut off keeps running, with the players that still reach it. If it
// is back within the grace period, everything is as before.
func TestHosts_CutOffAndBack(t *testing.T) {
	t.Parallel()
	s, m, fleet, _ := hosting(t, arena(t), server, 1)
	id := s.create(fleet).GameSessionId
	players := s.playOn(m, id)
	m.cut()
	away := s.seen.want(1, "the host to be away", s.host(m, code("HOST_DISCONNECTED", 0)))
	m.plug()
	s.seen.want(1, "the host to be back", s.host(m, code("HOST_CONNECTED", away.Seq)))
	if g := s.session(id); g.Status != types.GameSessionStatusActive {
		t.Errorf("the game session is %s", g.Status)
	}
	players() // and they were served all the time
	s.seen.want(1, "the game session's own end", of(*id, code("GAME_SESSION_TERMINATED", 0)))
	s.noneCrashed()
}

// noneCrashed checks that no process's end was counted as a crash.
func (s *site) noneCrashed() {
	s.t.Helper()
	for _, e := range s.seen.all(code("SERVER_PROCESS_CRASHED", 0)) {
		s.t.Errorf("process %s counts as crashed: %s", e.ProcessID, e.Message)
	}
}

// A host that is cut off for longer than the grace period is given up and replaced.
// When it comes back, what was replaced is stopped there.
func TestHosts_CutOffForLong(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t), "--host-grace", "1s")
	fleet, first, second, instances := s.pair(1, relayed)
	games := s.sessions(fleet, instances)
	first.cut()
	s.seen.want(1, "the loss of the host", s.host(first, code("HOST_LOST", 0)))
	s.seen.want(1, "the end of its game session", of(*games[0].GameSessionId, code("GAME_SESSION_TERMINATED", 0)))
	s.instance(second, 2, 0)
	if n := len(first.pids()); n < 2 {
		t.Errorf("%d processes run on the machine that is cut off, want its agent and its game server", n)
	}
	first.plug()
	s.seen.want(1, "the host to be back", s.host(first, code("HOST_CONNECTED", first.joined(s))))
	wait.Until(t, "what was replaced is stopped", func() bool { return len(first.pids()) == 1 })
	if g := s.session(games[1].GameSessionId); g.Status != types.GameSessionStatusActive {
		t.Errorf("the game session on the other host is %s", g.Status)
	}
}

// joined returns the event of a machine's first connection.
func (m *machine) joined(s *site) uint64 {
	s.t.Helper()
	return s.seen.want(1, "the first connection", s.host(m, code("HOST_CONNECTED", 0))).Seq
}

// An agent is killed while players play, and so is the server, one after the other
// and both together. The games continue; afterwards everything is managed as before.
func TestHosts_AgentAndServerKilled(t *testing.T) {
	t.Parallel()
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		killBoth(t, 0)
	})
	t.Run("relayed", func(t *testing.T) {
		t.Parallel()
		killBoth(t, 2, relayed)
	})
}

// killBoth kills the agent and the server of a fleet with two processes, throughAgent
// of which are connected through the agent.
func killBoth(t *testing.T, throughAgent int, change ...func(*gamelift.CreateFleetInput)) {
	s, m, fleet, instance := hosting(t, arena(t), server, 2, change...)
	id := s.create(fleet).GameSessionId
	players := s.play(id, 2)
	s.seen.want(2, "both processes", on(instance, code("SERVER_PROCESS_ACTIVE", 0)))
	mark, reconnected := uint64(0), 0
	back := func(processes int) {
		t.Helper()
		mark = s.seen.want(1, "the agent to be back", s.host(m, code("HOST_CONNECTED", mark))).Seq
		if reconnected += processes; reconnected > 0 {
			s.seen.want(reconnected, "its processes to be back", on(instance, code("SERVER_PROCESS_RECONNECTED", 0)))
		}
		players.goesOn()
		if g := s.session(id); g.Status != types.GameSessionStatusActive {
			t.Fatalf("the game session is %s", g.Status)
		}
	}
	back(0) // for the first time

	m.killAgent()
	mark = s.seen.want(1, "the agent to be away", s.host(m, code("HOST_DISCONNECTED", mark))).Seq
	players.goesOn()
	s.run(m, small...)
	back(throughAgent)

	s.restart()
	back(2)

	m.killAgent()
	s.restart()
	players.goesOn()
	s.run(m, small...)
	back(2)

	second := s.create(fleet)
	if *second.GameSessionId == *id {
		t.Errorf("a second game session is the first: %s", *id)
	}
	players.end()
	s.seen.want(1, "the game session's own end", of(*id, code("GAME_SESSION_TERMINATED", 0)))
	s.seen.want(3, "a process in the place of that which ended", on(instance, code("SERVER_PROCESS_ACTIVE", 0)))
	s.noneCrashed()
}

// Behind the relay an outage of Muster does not affect games: a game that ends during
// the outage ends normally, and does not count as a crash when Muster is back.
func TestHosts_OutageBehindTheRelay(t *testing.T) {
	t.Parallel()
	s, m, fleet, instance := hosting(t, arena(t), server, 1, relayed)
	id := s.create(fleet).GameSessionId
	players := s.play(id, 2)
	game := m.games()
	s.server.Kill()
	players.goesOn()
	players.end()
	wait.Until(t, "the game server has ended and another runs", func() bool {
		now := m.games()
		return len(now) == 1 && now[0] != game[0]
	})
	s.start()
	s.seen.want(1, "the game session's own end", of(*id, code("GAME_SESSION_TERMINATED", 0)))
	s.seen.want(2, "the process that started in the outage", on(instance, code("SERVER_PROCESS_ACTIVE", 0)))
	s.create(fleet)
	s.noneCrashed()
}

// games returns the processes on the machine except its agent and the first processes
// of the namespaces that it creates for them.
func (m *machine) games() []int {
	return slices.DeleteFunc(m.pids(), func(pid int) bool {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return m.agent != nil && pid == m.agent.Process.Pid || strings.HasPrefix(string(args), "muster-first")
	})
}
