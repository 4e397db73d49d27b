package scenario

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A game session whose game server is killed looks other than one that ended by itself: where a
// game session is shown, where its player is, and in the status.
func TestSessions_ShowCrash(t *testing.T) {
	t.Parallel()
	s, m, fleet, instance := hosting(t, arena(t), server, 1)
	s.seen.want(1, "a game server", on(instance, code("SERVER_PROCESS_ACTIVE", 0)))
	if out := s.must("status"); !strings.Contains(out, "OK      placement     1 more game session could start now\n") || strings.Contains(out, "CRASHED") {
		t.Errorf("the status before:\n%s", out)
	}
	for _, c := range []struct {
		name, player, status, because string
		end                           func(id string)
	}{
		{"killed", "ann", "TERMINATED: SERVER_PROCESS_CRASHED", "was ended by signal SIGKILL", func(string) { m.killGame(t) }},
		{"ended", "bob", "TERMINATED: TRIGGERED_ON_PROCESS_TERMINATE", "", func(id string) { s.must("sessions", "end", id) }},
	} {
		id := s.create(fleet).GameSessionId
		s.reserve(id, c.player)
		if out := s.must("sessions", "show", *id); strings.Contains(out, "Ended") {
			t.Errorf("%s, before:\n%s", c.name, out)
		}
		c.end(*id)
		s.seen.want(1, "the end of the game session", of(*id, code("GAME_SESSION_TERMINATED", 0)))
		out := s.must("sessions", "show", *id)
		if !strings.Contains(out, c.status+"\n") || !strings.Contains(out, "Ended ") || strings.Contains(out, "Cause ") != (c.because != "") || !strings.Contains(out, c.because) {
			t.Errorf("%s: want %q with the cause %q in\n%s", c.name, c.status, c.because, out)
		}
		_, reason, _ := strings.Cut(c.status, ": ")
		if out := s.must("players", "show", c.player); !strings.Contains(out, "ago: "+reason+"\n") || strings.Count(out, reason) != 2 {
			t.Errorf("%s: want %s twice in\n%s", c.name, reason, out)
		}
	}
	out := s.must("status")
	for _, want := range []string{"game servers  1 game server crashed in 5 min\n", "us-east-1", "SERVER_PROCESS_CRASHED  was ended by signal SIGKILL"} {
		if !strings.Contains(out, want) {
			t.Errorf("the status lacks %q:\n%s", want, out)
		}
	}
}

// killGame kills the only game server of a machine.
func (m *machine) killGame(t *testing.T) {
	t.Helper()
	for _, pid := range m.games() {
		if path, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); strings.HasSuffix(path, "/server") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no game server on the machine")
}
