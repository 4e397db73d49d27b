package scenario

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/sniff"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// here returns a lab of this machine only, for tests that need no network of
// machines.
func here(t *testing.T) *lab { return &lab{t: t, address: netip.MustParseAddr("127.0.0.1")} }

// muster runs a command of the binary against the server.
func (s *site) muster(args ...string) (string, error) {
	s.t.Helper()
	out, err := s.command(s.console.Credentials, args...).CombinedOutput()
	return string(out), err
}

func (s *site) must(args ...string) string {
	s.t.Helper()
	out, err := s.muster(args...)
	if err != nil {
		s.t.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// guest is an agent on this machine, with room for one instance of c5.large.
type guest struct {
	root   string
	cmd    *exec.Cmd
	log    *bytes.Buffer
	exited chan struct{} // closed when the agent is gone
	err    error         // how it ended; read after exited
}

// guest starts an agent with a unique name.
func (s *site) guest(name, token string, firstPort int, flags ...string) *guest {
	s.t.Helper()
	return s.guestOf(node.Path(s.t), name, token, firstPort, flags...)
}

// guestOf is like guest with another program.
func (s *site) guestOf(path, name, token string, firstPort int, flags ...string) *guest {
	s.t.Helper()
	g := &guest{root: filepath.Join(s.t.TempDir(), name), log: &bytes.Buffer{}, exited: make(chan struct{})}
	g.cmd = exec.Command(path, append([]string{"agent", "--server", s.server.URL, "--root", g.root, "--name", name, "--ip", "127.0.0.1",
		"--ports", fmt.Sprintf("%d-%d", firstPort, firstPort+199), "--cpu", "2", "--memory", "4096", "--isolation", "off", "--stop", "--stop-grace", "0s"}, flags...)...)
	g.cmd.Env = append(os.Environ(), "MUSTER_TOKEN="+token)
	g.cmd.Stderr = g.log
	g.start(s.t)
	return g
}

func (g *guest) start(t *testing.T) {
	t.Helper()
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		g.err = g.cmd.Wait()
		close(g.exited)
	}()
	t.Cleanup(func() {
		g.cmd.Process.Signal(syscall.SIGTERM) // which ends its game servers as well
		<-g.exited
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", g.root, g.log.String()[max(0, g.log.Len()-3000):])
		}
	})
}

// credential returns the agent's credential.
func (g *guest) credential(t *testing.T) (c struct{ HostID, Secret string }) {
	t.Helper()
	wait.Until(t, "the agent has joined", func() bool {
		text, err := os.ReadFile(filepath.Join(g.root, "credential.json"))
		return err == nil && json.Unmarshal(text, &c) == nil && c.Secret != ""
	})
	return c
}

// shows returns the status with which the server answers a credential.
func (s *site) shows(c struct{ HostID, Secret string }) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+"/agent/v1/builds/none", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.HostID+"."+c.Secret)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// A group of machines joins with one token. One is drained while a game is played on
// it; another one gets a new credential, which somebody copies, and is removed.
func TestHosts_Administered(t *testing.T) {
	t.Parallel()
	s := newSite(t, here(t))
	var made struct{ TokenID, Token string }
	text := s.must("admin", "join-tokens", "create", "--uses", "2", "--life", "48h", "--name", "group", "--cidr", "127.0.0.0/8,10.0.0.0/8", "-o", "json")
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	first, second := s.guest("first", made.Token, 23000), s.guest("second", made.Token, 23200)
	a, b := first.credential(t), second.credential(t)
	third := s.guest("third", made.Token, 23400)
	<-third.exited
	if third.err == nil || !strings.Contains(third.log.String(), "used as often as it may be") {
		t.Errorf("a third machine: %v\n%s", third.err, third.log)
	}
	list := s.must("admin", "join-tokens", "list")
	if !strings.Contains(list, "group") || !strings.Contains(list, "2/2") || strings.Contains(list, made.Token) {
		t.Errorf("the list of tokens:\n%s", list)
	}
	s.must("admin", "join-tokens", "revoke", made.TokenID)
	if list := s.must("admin", "join-tokens", "list"); strings.Contains(list, made.TokenID) {
		t.Errorf("after it was revoked:\n%s", list)
	}

	fleet := s.fleet(s.build(arena(t)), server, 1)
	at := s.seen.want(1, "an instance", code("INSTANCE_CREATED", 0))
	s.seen.want(1, "an ACTIVE instance", code("FLEET_STATE_ACTIVE", 0))
	game := s.create(fleet)
	busy, other := a.HostID, b.HostID
	spare := second
	if strings.Contains(at.Message, other) {
		busy, other, spare = other, busy, first
	}
	s.must("hosts", "drain", busy)
	s.seen.want(1, "the host to be draining", code("HOST_DRAINING", 0))
	s.seen.want(1, "another instance elsewhere", func(e client.Event) bool {
		return e.Code == "INSTANCE_CREATED" && strings.Contains(e.Message, other)
	})
	if g := s.session(game.GameSessionId); g.Status != types.GameSessionStatusActive && g.Status != types.GameSessionStatusActivating {
		t.Errorf("the game session on the draining host is %s", g.Status)
	}
	shown := s.must("hosts", "show", busy)
	if !strings.Contains(shown, "draining") || !strings.Contains(shown, made.TokenID) || strings.Count(shown, "refused: its agent was not started with --allow-shells") != 2 {
		t.Errorf("the host is shown as\n%s", shown)
	}
	if _, err := s.client.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{
		GameSessionId: game.GameSessionId, TerminationMode: types.TerminationModeForceTerminate,
	}); err != nil {
		t.Fatal(err)
	}
	s.seen.want(1, "the host to be empty", code("HOST_DRAINED", 0))
	if out, err := s.muster("hosts", "resume", "host-nobody"); err == nil || !strings.Contains(out, `there is no host "host-nobody"`) {
		t.Errorf("to resume an unknown host: %v %s", err, out)
	}
	s.must("hosts", "resume", busy)

	old := spare.credential(t)
	s.must("hosts", "rotate", other)
	s.seen.want(1, "another credential", code("HOST_CREDENTIAL_ROTATED", 0))
	now := spare.credential(t)
	if was, is := s.shows(old), s.shows(now); old == now || was != http.StatusUnauthorized || is != http.StatusNotFound {
		t.Errorf("the old credential is answered with %d, the new one with %d", was, is)
	}

	s.copied(spare)
	s.must("hosts", "remove", other, "--now")
	s.seen.want(1, "the host's end", code("HOST_REMOVED", 0))
	<-spare.exited
	if !strings.Contains(spare.log.String(), "this host was removed from Muster") {
		t.Errorf("its agent ended with %v:\n%s", spare.err, spare.log)
	}
	if is := s.shows(now); is != http.StatusGone {
		t.Errorf("the removed host's credential is answered with %d", is)
	}
	if left := s.must("hosts", "list"); strings.Contains(left, other) || !strings.Contains(left, busy) {
		t.Errorf("the hosts are\n%s", left)
	}
	by := s.console.Credentials.AccessKeyID
	for _, what := range []string{"HOST_JOIN_TOKEN_CREATED", "HOST_JOIN_TOKEN_REVOKED", "HOST_DRAINING", "HOST_RESUMED", "HOST_REMOVING", "HOST_REMOVED"} {
		if e := s.seen.want(1, what, code(what, 0)); e.Principal != by {
			t.Errorf("%s was done by %q, want %s", what, e.Principal, by)
		}
	}
}

// copied runs a second agent with the credential of another one until that is
// reported.
func (s *site) copied(g *guest) {
	s.t.Helper()
	root := filepath.Join(s.t.TempDir(), "copy")
	text, err := os.ReadFile(filepath.Join(g.root, "credential.json"))
	if err := errors.Join(err, os.MkdirAll(root, 0o755), os.WriteFile(filepath.Join(root, "credential.json"), text, 0o600)); err != nil {
		s.t.Fatal(err)
	}
	args := slices.Clone(g.cmd.Args[1:])
	args[slices.Index(args, "--root")+1] = root
	thief := &guest{root: root, cmd: exec.Command(g.cmd.Path, args...), log: &bytes.Buffer{}, exited: make(chan struct{})}
	thief.cmd.Stderr = thief.log
	thief.start(s.t)
	e := s.seen.want(1, "the credential used elsewhere", code("HOST_CREDENTIAL_USED_ELSEWHERE", 0))
	if strings.Count(e.Message, "127.0.0.1") != 2 {
		s.t.Errorf("it says %q, want both addresses", e.Message)
	}
	thief.cmd.Process.Signal(syscall.SIGTERM)
	<-thief.exited
}

// Game servers without an agent and Muster end on SIGTERM, and with the command that
// ends what an agent left.
func TestHosts_Orphans(t *testing.T) {
	t.Parallel()
	s := newSite(t, here(t))
	made, err := s.console.CreateJoinToken(t.Context(), client.JoinTokenInput{})
	if err != nil {
		t.Fatal(err)
	}
	g := s.guest("gone", made.Token, 23800)
	s.fleet(s.build(arena(t)), server, 2, relayed)
	s.seen.want(2, "both game servers", code("SERVER_PROCESS_ACTIVE", 0))
	both := s.running(g, 2)
	first, second := both[0], both[1]
	s.server.Kill()
	g.cmd.Process.Kill()
	<-g.exited
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "an orphan has ended on SIGTERM", func() bool { return !lives(first) })
	if !lives(second) {
		t.Error("the other one ended with it")
	}
	out, err := exec.Command(node.Path(t), "agent", "cleanup", "--root", g.root).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 instances") {
		t.Errorf("cleanup: %v\n%s", err, out)
	}
	wait.Until(t, "the other orphan has ended", func() bool { return !lives(second) })
}

// running returns the game servers of an agent, once it has reported so many.
func (s *site) running(g *guest, n int) []int {
	s.t.Helper()
	return wait.Value(s.t, fmt.Sprintf("the agent has told of %d game servers", n), func() (pids []int, err error) {
		h, err := s.console.Hosts().Get(s.t.Context(), g.credential(s.t).HostID)
		if err != nil {
			return nil, err
		}
		for _, i := range h.Instance {
			for _, p := range i.Processes {
				pids = append(pids, p.PID)
			}
		}
		if len(pids) != n {
			err = fmt.Errorf("it tells of %v", pids)
		}
		return pids, err
	})
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return !strings.Contains(string(stat[bytes.LastIndexByte(stat, ')'):]), ") Z")
}

// On SIGHUP a server reloads its certificate, and nothing ends, nor does it on SIGUSR1.
func TestServer_Hangup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	renew := func() []byte {
		made := t.TempDir()
		c, err := sniff.SelfSigned(made, []string{"127.0.0.1"}, time.Now())
		if err == nil {
			err = os.Rename(filepath.Join(made, sniff.PairFile), cert)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.Certificate[0]
	}
	renew()
	server, err := node.Run(node.Path(t), "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--tls-cert", cert, "--tls-key", cert)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	next := renew()
	if err := syscall.Kill(server.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the new certificate is shown", func() bool {
		c, err := tls.Dial("tcp", strings.TrimPrefix(server.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatalf("the server does not answer any more: %v\n%s", err, server.Log())
		}
		defer c.Close()
		return bytes.Equal(c.ConnectionState().PeerCertificates[0].Raw, next)
	})
	if err := os.WriteFile(cert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the log says what is wrong", func() bool {
		return strings.Contains(server.Log(), "level=ERROR") && strings.Contains(server.Log(), "certificate")
	})
	if err := syscall.Kill(server.PID(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the log says that an owner has no state to compare", func() bool { return strings.Contains(server.Log(), "no state to compare") })
	select {
	case <-server.Exited():
		t.Errorf("the server ended:\n%s", server.Log())
	default:
	}
}
