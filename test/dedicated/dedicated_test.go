//go:build linux

package dedicated

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// dedicated is a dedicated server of a package of Debian. DIR in its arguments is a folder of its own.
type dedicated struct {
	pkg, program string
	flags        []string // of muster local
	args         []string
}

var servers = map[string]dedicated{
	"teeworlds": {
		"teeworlds-server", "/usr/games/teeworlds-server", nil,
		[]string{"sv_port {{.GamePort}}; sv_name {{.GameSessionName}}; sv_max_clients {{.MaximumPlayerSessionCount}}; sv_register 0"},
	},
	"minetest": {
		"minetest-server", "/usr/games/minetestserver", []string{"--ready-line", `listening on .*:\d+`},
		[]string{"--port", "{{.GamePort}}", "--world", "DIR/world", "--gameid", "minetest"},
	},
	"bzflag": {
		"bzflag-server", "/usr/games/bzfs", nil, []string{"-p", "{{.GamePort}}", "-mp", "{{.MaximumPlayerSessionCount}}"},
	},
	"armagetron": { // its port is in a file
		"armagetronad-dedicated", "/bin/sh", []string{"--stop-line", "QUIT"},
		[]string{"-c", `echo "SERVER_PORT $GAME_PORT" > DIR/autoexec.cfg && exec /usr/games/armagetronad-dedicated.real ` +
			`--datadir /usr/share/games/armagetronad --configdir /etc/armagetronad --userconfigdir DIR --userdatadir DIR --vardir DIR`},
	},
	"sauerbraten": {
		"cube2-server", "/usr/lib/cube2/cube2_server", []string{"--ready-line", "waiting for clients"},
		[]string{"-j{{.GamePort}}", "-c{{.MaximumPlayerSessionCount}}", "-n{{.GameSessionName}}", "-m"},
	},
	"openarena": {
		"openarena-server", "/usr/games/openarena-server", []string{"--query", "quake3", "--stop-line", "quit"},
		[]string{
			"+set", "dedicated", "1", "+set", "net_port", "{{.GamePort}}", "+set", "fs_homepath", "DIR", "+set", "sv_maxclients", "{{.MaximumPlayerSessionCount}}",
			"+set", "sv_hostname", "{{.GameSessionName}}", "+map", "oa_dm1",
		},
	},
}

func TestServers(t *testing.T) {
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(server.program); err != nil {
				t.Skipf("%s of Debian is not installed: %v", server.pkg, err)
			}
			server.host(t)
		})
	}
}

// host plays two game sessions on a server: one that ends as it was asked to, and one whose server
// is killed.
func (d dedicated) host(t *testing.T) {
	dir := t.TempDir()
	args := slices.Concat([]string{"local", "--demo=false", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--no-sdk", "--no-legacy-sdk", "--log-level", "warn", "--exec", d.program}, d.flags, []string{"--"})
	for _, arg := range d.args {
		args = append(args, strings.ReplaceAll(arg, "DIR", dir))
	}
	s := node.Serve(t, node.Path(t), args...)
	seen, api := node.Follow(t, s.URL), node.Client(s.URL)
	place := node.Place{Client: api, FleetID: seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID, Location: "custom-local"}

	g := active(t, &place, seen)
	_, err := api.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: g.GameSessionId, TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
	if err != nil {
		t.Fatal(err)
	}
	seen.Code(t, "GAME_SESSION_TERMINATED")
	c := &client.Client{Endpoint: s.URL}
	if end, err := c.Sessions().End(t.Context(), *g.GameSessionId); err != nil || end.How != "" {
		t.Errorf("it was asked to end, and ended by %s: %q, %v", end.Reason, end.How, err)
	}

	g = active(t, &place, seen)
	if err := syscall.Kill(hosting(t, *g.GameSessionId), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	seen.Code(t, "GAME_SESSION_TERMINATED")
	end, err := c.Sessions().End(t.Context(), *g.GameSessionId)
	if err != nil || end.Reason != "SERVER_PROCESS_CRASHED" || !strings.Contains(end.How, "SIGKILL") || !strings.Contains(end.How, "its last words") {
		t.Errorf("it was killed, and ended by %s: %q, %v", end.Reason, end.How, err)
	}
	t.Logf("killed: %s", end.How)
}

// active returns a game session once it is ACTIVE. Then its port is bound.
func active(t *testing.T, place *node.Place, seen *node.Events) *types.GameSession {
	t.Helper()
	g, err := place.Create(t.Context(), 4, func(in *gamelift.CreateGameSessionInput) { in.Name = aws.String("friday") })
	if err != nil {
		t.Fatal(err)
	}
	seen.Code(t, "GAME_SESSION_ACTIVATED")
	udp, udpErr := net.ListenUDP("udp4", &net.UDPAddr{Port: int(*g.Port)})
	if udpErr == nil {
		defer udp.Close()
	}
	tcp, tcpErr := net.ListenTCP("tcp4", &net.TCPAddr{Port: int(*g.Port)})
	if tcpErr == nil {
		defer tcp.Close()
	}
	if udpErr == nil && tcpErr == nil {
		t.Errorf("the game session is ACTIVE, and nobody listens on port %d", *g.Port)
	}
	return g
}

// hosting returns the process of the program that hosts a game session.
func hosting(t *testing.T, id string) (pid int) {
	t.Helper()
	variable := []byte("GAME_SESSION_ID=" + id)
	wait.For(t, "the program of "+id+" is found", func() error {
		files, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && slices.ContainsFunc(bytes.Split(text, []byte{0}), func(v []byte) bool { return bytes.Equal(v, variable) }) {
				pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
				return err
			}
		}
		return fmt.Errorf("none of %d processes has it", len(files))
	})
	return pid
}
