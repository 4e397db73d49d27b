package foreign

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// program returns the path in an environment variable of a program for another machine, or
// skips the test.
func program(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("%s does not name a program for another machine: make foreign and make snapshot run this", variable)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// emulator skips the test if a program of a Debian package is missing.
func emulator(t *testing.T, name, from string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is missing (Debian package %s), so programs for other machines cannot be run", name, from)
	}
}

// `muster local` for arm64 answers AWS's client, and two players of the game of
// docs/ten-minutes.md are matched and play on a game server that it has started.
func TestARM64(t *testing.T) {
	muster := program(t, "MUSTER_ARM64_BIN")
	emulator(t, "qemu-aarch64-static", "qemu-user-static")
	emulator(t, "python3", "python3")
	game := filepath.Join(document.Top(t), "examples", "ten-minutes", "python")
	server := node.Serve(t, "qemu-aarch64-static", muster, "local", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn",
		"--exec", "python3", "--", filepath.Join(game, "server.py"))
	list, err := node.Client(server.URL).ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	if err != nil || len(list.FleetIds) != 1 {
		t.Errorf("the fleets are %v, %v, want the one of the game server", list, err)
	}
	seen := node.Follow(t, server.URL)
	seen.Code(t, "SERVER_PROCESS_ACTIVE")
	var players sync.WaitGroup
	var said [2]string
	for n := range said {
		players.Go(func() { said[n] = guesses(t, server.URL, filepath.Join(game, "player.py")) })
	}
	players.Wait()
	if won := strings.Count(said[0]+said[1], "you won"); won != 1 {
		t.Errorf("of two players %d have won:\n%s\n%s", won, said[0], said[1])
	}
	seen.Code(t, "GAME_SESSION_TERMINATED")
}

// guesses runs a player who guesses every number, and returns what the player reads.
func guesses(t *testing.T, url, player string) string {
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `seq 1 100 | python3 "$0"`, player)
	cmd.Env = append(os.Environ(), "MUSTER_ENDPOINT="+url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("a player ends with %v:\n%s", err, out)
	}
	return string(out)
}
