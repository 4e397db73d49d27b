package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// nobody is the user, by number, as whom a developer's programs run if the tests run as root.
const nobody = 65534

// A developer's own Muster opens shells as the developer, if that is asked for and the
// developer is not root.
func TestShell_Local(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/var/tmp", "muster-local-shell")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path, args := node.Path(t), []string{"local", "--demo=false", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--log-level", "warn", "--remote-access"}
	uid := os.Getuid()
	if uid == 0 {
		uid = nobody
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			t.Skip("setpriv is missing (Debian package util-linux), and root opens no shells as itself")
		}
		own := filepath.Join(dir, "muster") // where the user reaches it
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(own, content, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--reuid", fmt.Sprint(uid), "--regid", fmt.Sprint(uid), "--clear-groups", own}, args...)
		path = setpriv
	}
	server := node.Serve(t, path, args...)
	s := &site{t: t, server: server, client: node.ClientAs(server.URL, "any", "any"), console: &client.Client{Endpoint: server.URL}}
	s.seen = follow(t, s.console)
	fleet := s.fleet(s.build(arena(t)), "server -port {{.GamePort}} -wait 30m", 1)
	one := s.seen.want(1, "an ACTIVE instance", code("INSTANCE_ACTIVE", 0)).ComputeName
	out, errs, ended := node.Output(t, s.command(client.Credentials{}, "shell", fleet, one, "--", "sh", "-c", "id -u; basename $PWD; exit 2"))
	if !strings.HasPrefix(out, fmt.Sprintf("%d\n", uid)) || !strings.Contains(out, "game") || ended != 2 {
		t.Errorf("%q, %q, %d", out, errs, ended)
	}
}
