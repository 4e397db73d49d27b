package containers

import (
	"testing"

	"github.com/musterhq/muster/test/node"
)

// revived is muster local on an image, which a test kills and starts again at the same address.
type revived struct {
	*node.Process
	t    *testing.T
	args []string
}

// startRevived starts it until the test ends.
func startRevived(t *testing.T, d daemon, args ...string) *revived {
	t.Helper()
	r := &revived{t: t, args: append([]string{"local", "--data", t.TempDir(), "--listen", node.Reserve(t), "--log-level", "warn", "--engine", d.Host}, args...)}
	r.start()
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
		if left := d.run("ps", "--all", "--quiet"); left != "" {
			t.Errorf("containers are left: %s", left)
		}
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", r.Log())
		}
	})
	return r
}

func (r *revived) start() {
	r.t.Helper()
	s, err := node.Run(node.Path(r.t), r.args...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Process = s
}
