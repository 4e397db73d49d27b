package scenario

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wait"
)

// An agent is replaced by its program on disk, again and again, under a game server that ends
// at the first error of an interface: the HTTP interface, polled and with a long poll, the ports
// of Server SDK 3 and 4, the relay, and those for metrics.
func TestAgent_Replaced(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "impatient.py"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("/usr/bin/python3 is missing (Debian package python3)")
	}
	s, m, fleet, _ := hosting(t, map[string][]byte{"server": text}, "", 1, relayed)
	g := s.create(fleet)
	player, err := net.Dial("tcp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	if err := player.SetDeadline(time.Now().Add(late)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(player)
	counts := func() (now map[string]int) {
		fmt.Fprintln(player)
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &now)
		}
		if err != nil {
			t.Fatalf("the game is over: %v: %s", err, s.seen.want(1, "the end of its process", code("SERVER_PROCESS_CRASHED", 0)).Message)
		}
		return now
	}
	before, joined := m.games(), m.joined(s)
	for n := range 20 {
		then := counts()
		if err := m.agent.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		joined = s.seen.want(1, fmt.Sprintf("agent %d", n), s.host(m, code("HOST_CONNECTED", joined))).Seq
		for name, count := range counts() {
			if name != "waiting" { // the long poll is answered once
				then[name] = count
			}
		}
		wait.For(t, "all interfaces answer", func() error {
			for name, count := range counts() {
				if count <= then[name] {
					return fmt.Errorf("%s has answered %d times", name, count)
				}
			}
			return nil
		})
	}
	if after := m.games(); !slices.Equal(after, before) {
		t.Errorf("the game servers were %v and are %v", before, after)
	}
	if now := s.session(g.GameSessionId); now.Status != types.GameSessionStatusActive {
		t.Errorf("the game session is %s: %v", now.Status, now.StatusReason)
	}
	s.noneCrashed()
}
