package scenario

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// shellFlags have a machine isolate shells, and allow them.
var shellFlags = []string{"--isolation", "required", "--allow-shells", "isolated"}

// command returns a command of the binary, with credentials for the site.
func (s *site) command(k client.Credentials, args ...string) *exec.Cmd {
	cmd := exec.Command(node.Path(s.t), args...)
	cmd.Env = append(os.Environ(), "MUSTER_ENDPOINT="+s.server.URL, "AWS_ACCESS_KEY_ID="+k.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+k.SecretAccessKey, "AWS_SESSION_TOKEN="+k.SessionToken)
	return cmd
}

// key creates an access key.
func (s *site) key(spec client.KeySpec) client.Credentials {
	s.t.Helper()
	spec.Name = s.t.Name()
	made, err := s.console.Keys().Create(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return client.Credentials{AccessKeyID: made.ID, SecretAccessKey: made.Secret}
}

// reachable adds a machine whose agent has its folder where the users of instances reach it.
// The folder is removed after the machine.
func (l *lab) reachable() *machine {
	l.t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "muster-shell")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	m := l.machine()
	m.root = filepath.Join(dir, "agent")
	return m
}

// A caller with the role opens shells: what is asked for runs as the instance's user in the
// build's folder, sees no other instance, has its streams and exit code, and is recorded.
func TestShell(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t), "--remote-access")
	m := s.lab.reachable()
	s.run(m, append(shellFlags, "--cpu", "4", "--memory", "8192")...)
	fleet := s.fleet(s.build(arena(t)), server, 1)
	one := s.instance(m, 1, 0)
	s.scale(fleet, 2)
	other := s.instance(m, 2, 0)
	visitor := s.key(client.KeySpec{Role: "remote-shell"})
	run := func(words ...string) (string, string, int) {
		t.Helper()
		return node.Output(t, s.command(visitor, append([]string{"shell", fleet, one, "--"}, words...)...))
	}

	out, errs, ended := run("sh", "-c", "id -u; pwd; echo bad >&2; exit 7")
	lines := strings.Fields(out)
	if len(lines) != 2 || lines[0] == "0" || !strings.HasSuffix(lines[1], one+"/game") || errs != "bad\n" || ended != 7 {
		t.Errorf("said %q and %q, and ended with %d", out, errs, ended)
	}

	secret := filepath.Join(m.root, "instances", other, "game", "server")
	for _, c := range []struct{ what, script string }{
		{"another instance's files", "cat " + secret},
		{"another instance's folder", "ls " + filepath.Dir(secret)},
		{"the host's credential", "cat " + filepath.Join(m.root, "credential.json")},
		{"root's rights", "touch /etc/muster-shell"},
		{"namespaces", "unshare -U true"},
	} {
		if out, errs, code := run("sh", "-c", c.script); code == 0 || out != "" {
			t.Errorf("it gets %s: %q, %q", c.what, out, errs)
		}
	}
	out, _, _ = run("sh", "-c", "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done")
	if strings.Contains(out, "server -port") || strings.Contains(out, "agent --server") || !strings.Contains(out, "sh -c") {
		t.Errorf("it sees processes: %s", out)
	}

	process := s.seen.want(1, "its process", on(one, code("SERVER_PROCESS_ACTIVE", 0))).ProcessID
	among := func(id, script string) (string, string, int) {
		return node.Output(t, s.command(visitor, "shell", "--process", id, fleet, one, "--", "sh", "-c", script))
	}
	list := "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done; id -u"
	if out, errs, code := among(process, list); strings.Count(out, "server -port") != 1 || strings.Contains(out, "agent --server") || strings.Contains(out, "\n0\n") || code != 0 {
		t.Errorf("among the processes of the game server it sees %q, %q, %d", out, errs, code)
	}
	elsewhere := s.seen.want(1, "the other's process", on(other, code("SERVER_PROCESS_ACTIVE", 0))).ProcessID
	if out, errs, code := among(elsewhere, list); code != 255 || out != "" || !strings.Contains(errs, "does not run in this instance") {
		t.Errorf("among the processes of another instance: %q, %q, %d", out, errs, code)
	}

	if out, errs, code := run("sh", "-c", "tail ../logs/*/*.log; env"); code != 0 || strings.Contains(out, "AUTH_TOKEN") {
		t.Errorf("the logs: %q, %q, %d", out, errs, code)
	}

	input := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	cmd := s.command(visitor, "shell", fleet, one, "--", "cat")
	cmd.Stdin = bytes.NewReader(input)
	if out, errs, code := node.Output(t, cmd); out != string(input) || code != 0 {
		t.Errorf("cat returned %d bytes of %d, %q, %d", len(out), len(input), errs, code)
	}
	cmd = s.command(visitor, "shell", fleet, one)
	cmd.Stdin = strings.NewReader("echo from a script\nexit 3\n")
	if out, errs, code := node.Output(t, cmd); out != "from a script\n" || code != 3 {
		t.Errorf("a script said %q, %q, %d", out, errs, code)
	}
	cmd = s.command(visitor, "shell", fleet, one, "--", "sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done")
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 9 {
		t.Errorf("the program's handler of the signal ends muster shell with %d", code)
	}
	if _, errs, code := run("no-such-program"); code != 127 || !strings.Contains(errs, "no-such-program") {
		t.Errorf("a program that does not exist: %q, %d", errs, code)
	}

	s.direct(fleet, one, visitor)
	s.refused(fleet, one, visitor)
	s.recorded(one, visitor)
}

// direct uses the credentials of both operations without muster's asking for them, as a
// user of AWS's CLI does.
func (s *site) direct(fleet, compute string, visitor client.Credentials) {
	s.t.Helper()
	c := node.ClientAs(s.server.URL, visitor.AccessKeyID, visitor.SecretAccessKey)
	access, err := c.GetComputeAccess(s.t.Context(), &gamelift.GetComputeAccessInput{FleetId: &fleet, ComputeName: &compute})
	if err != nil {
		s.t.Fatal(err)
	}
	if *access.ComputeName != compute || *access.Target != compute || !strings.HasSuffix(*access.FleetArn, fleet) || !strings.HasSuffix(*access.ComputeArn, compute) || *access.FleetId != fleet {
		s.t.Errorf("GetComputeAccess answers %+v", access)
	}
	k := access.Credentials
	exported := client.Credentials{AccessKeyID: *k.AccessKeyId, SecretAccessKey: *k.SecretAccessKey, SessionToken: *k.SessionToken}
	for _, words := range [][]string{{"shell", "--", "echo", "here"}, {"shell", fleet, compute, "--", "echo", "here"}} {
		if out, errs, code := node.Output(s.t, s.command(exported, words...)); out != "here\n" {
			s.t.Errorf("with exported credentials, %v says %q, %q, %d", words, out, errs, code)
		}
	}
	login, err := c.GetInstanceAccess(s.t.Context(), &gamelift.GetInstanceAccessInput{FleetId: &fleet, InstanceId: &compute})
	if err != nil {
		s.t.Fatal(err)
	}
	if a := login.InstanceAccess; *a.InstanceId != compute || *a.FleetId != fleet || a.IpAddress == nil || a.OperatingSystem == "" {
		s.t.Errorf("GetInstanceAccess answers %+v", a)
	}
	for _, answer := range []any{
		map[string]any{"FleetId": fleet, "Credentials": k},
		map[string]any{"InstanceAccess": map[string]any{"Credentials": login.InstanceAccess.Credentials}},
	} {
		text, err := json.Marshal(answer)
		if err != nil {
			s.t.Fatal(err)
		}
		file := filepath.Join(s.t.TempDir(), "access.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			s.t.Fatal(err)
		}
		if out, errs, code := node.Output(s.t, s.command(client.Credentials{}, "shell", "--access", file, "--", "echo", "there")); out != "there\n" {
			s.t.Errorf("with %T in a file: %q, %q, %d", answer, out, errs, code)
		}
	}
	forged := exported
	forged.SessionToken = strings.Replace(forged.SessionToken, visitor.AccessKeyID, "MSTRAAAAAAAAAAAAAAAA", 1)
	if _, errs, code := node.Output(s.t, s.command(forged, "shell", "--", "echo", "here")); code == 0 || !strings.Contains(errs, "InvalidSignature") && !strings.Contains(errs, "signature") && !strings.Contains(errs, "Unrecognized") {
		s.t.Errorf("with a changed session token: %q, %d", errs, code)
	}
}

// refused checks who gets no shell, and that a key's end is that of its shells.
func (s *site) refused(fleet, compute string, visitor client.Credentials) {
	s.t.Helper()
	elsewhere := client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:fleet/other"}}
	for who, spec := range map[string]client.KeySpec{
		"an operator": {Role: "operator"}, "a reader": {Role: "read-only"}, "a visitor of other fleets": {Role: "remote-shell", Scope: elsewhere},
	} {
		if out, errs, code := node.Output(s.t, s.command(s.key(spec), "shell", fleet, compute, "--", "id")); code == 0 || out != "" || !strings.Contains(errs, "AccessDenied") {
			s.t.Errorf("%s: %q, %q, %d", who, out, errs, code)
		}
	}
	ended := s.begin(visitor, fleet, compute, "echo begun disabled; sleep 1000")
	if _, err := s.console.Keys().Disable(s.t.Context(), visitor.AccessKeyID); err != nil {
		s.t.Fatal(err)
	}
	if errs, code := ended(); code != 255 || !strings.Contains(errs, "disabled") {
		s.t.Errorf("the shell of a disabled key ended with %q, %d", errs, code)
	}
	nothingIs(s.t, "begun disabled; sleep")
}

// recorded checks the records of shells: who asked for access, what began and how it ended.
func (s *site) recorded(compute string, visitor client.Credentials) {
	s.t.Helper()
	var count map[string]int
	wait.Until(s.t, "the end of each shell is recorded, which is after its client was told", func() bool {
		count = map[string]int{}
		err := s.console.AuditLog().Read(s.t.Context(), client.AuditQuery{KeyID: visitor.AccessKeyID}, func(r client.AuditRecord) error {
			if r.Source == "" || r.KeyID != visitor.AccessKeyID || !strings.Contains(fmt.Sprint(r.Resources), compute) {
				s.t.Errorf("record %+v", r)
			}
			count[r.Action]++
			if r.Action == "muster:EndShell" && r.Outcome != "ok" {
				count[r.Outcome]++
			}
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
		return count["muster:EndShell"] >= count["muster:BeginShell"]
	})
	if count["GetComputeAccess"] < 10 || count["GetInstanceAccess"] < 1 || count["muster:BeginShell"] < 10 || count["muster:EndShell"] != count["muster:BeginShell"] || count["Revoked"] != 1 {
		s.t.Errorf("recorded %v", count)
	}
}

// begin starts a program in a shell, and returns once it has written a line. ended returns
// how it ended.
func (s *site) begin(k client.Credentials, fleet, compute, script string) (ended func() (errs string, code int)) {
	s.t.Helper()
	cmd := s.command(k, "shell", fleet, compute, "--", "sh", "-c", script)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.t.Fatalf("%v: %s", err, errs.String())
	}
	return func() (string, int) {
		cmd.Wait() // the exit code says it
		return errs.String(), cmd.ProcessState.ExitCode()
	}
}

// nothingIs waits until no process has a text in its command line.
func nothingIs(t *testing.T, text string) {
	t.Helper()
	wait.Until(t, "nothing of the shell is left", func() bool {
		left, _ := exec.Command("pgrep", "-f", text).Output()
		return len(left) == 0
	})
}

// A shell ends with the agent, with the server and with the instance. What outlives an agent
// that is killed is ended by the next.
func TestShell_EndsWithItsHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t), "--remote-access", "--host-grace", "60s")
	m := s.lab.reachable()
	flags := append(shellFlags, small...)
	s.run(m, flags...)
	fleet := s.fleet(s.build(arena(t)), server, 1)
	one := s.instance(m, 1, 0)
	mark := m.joined(s)
	admin := s.console.Credentials
	const stubborn = "trap '' HUP TERM INT PIPE; echo begun %s; while :; do sleep 0.1; done"
	begin := func(mark string) func() (string, int) {
		return s.begin(admin, fleet, one, fmt.Sprintf(stubborn, mark))
	}
	back := func() {
		t.Helper()
		mark = s.seen.want(1, "the agent to be back", s.host(m, code("HOST_CONNECTED", mark))).Seq
	}

	ended := begin("agent-killed-" + one)
	m.killAgent()
	if errs, code := ended(); code != 255 || !strings.Contains(errs, "broke") {
		t.Errorf("with its agent it ended with %q, %d", errs, code)
	}
	if left, _ := exec.Command("pgrep", "-f", "begun agent-killed-"+one).Output(); len(left) == 0 {
		t.Error("the program did not outlive its agent, so that the next one has nothing to end")
	}
	s.run(m, flags...)
	back()
	nothingIs(t, "begun agent-killed-"+one)

	ended = begin("server-killed-" + one)
	s.restart()
	if errs, code := ended(); code == 0 || !strings.Contains(errs, "broke") {
		t.Errorf("with the server it ended with %q, %d", errs, code)
	}
	nothingIs(t, "begun server-killed-"+one)
	back()

	ended = begin("server-stopped-" + one)
	if err := s.server.Stop(); err != nil {
		t.Error(err)
	}
	if errs, code := ended(); code == 0 || !strings.Contains(errs, "the server stops") {
		t.Errorf("with the server it ended with %q, %d", errs, code)
	}
	nothingIs(t, "begun server-stopped-"+one)
	s.start()
	back()

	ended = begin("instance-ended-" + one)
	s.scale(fleet, 0)
	if errs, code := ended(); code == 0 || !strings.Contains(errs, "the instance has ended") {
		t.Errorf("with the instance it ended with %q, %d", errs, code)
	}
	nothingIs(t, "begun instance-ended-"+one)
}

// Without --remote-access, and without the host's consent, the operations say what to do.
func TestShell_NotEnabled(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t))
	m := s.lab.machine()
	s.run(m, append(small, "--isolation", "off", "--allow-shells", "as-agent")...)
	fleet := s.fleet(s.build(arena(t)), server, 1)
	one := s.instance(m, 1, 0)
	try := func(want string) {
		t.Helper()
		_, err := s.client.GetComputeAccess(t.Context(), &gamelift.GetComputeAccessInput{FleetId: &fleet, ComputeName: &one})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("GetComputeAccess: %v, want %q", err, want)
		}
		_, err = s.client.GetInstanceAccess(t.Context(), &gamelift.GetInstanceAccessInput{FleetId: &fleet, InstanceId: &one})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("GetInstanceAccess: %v, want %q", err, want)
		}
	}
	try("--remote-access")
	s.args = append(s.args, "--remote-access")
	mark := m.joined(s)
	s.restart()
	mark = s.seen.want(1, "the agent to be back", s.host(m, code("HOST_CONNECTED", mark))).Seq
	try("runs as root")
	m.agent.Process.Signal(syscall.SIGTERM)
	m.reap()
	s.run(m, append(small, "--isolation", "off")...)
	s.seen.want(1, "the agent to be back", s.host(m, code("HOST_CONNECTED", mark)))
	try("--allow-shells")
}
