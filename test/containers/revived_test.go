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
	t.Cleanup(func() {
		if left := d.run("ps", "--all", "--quiet"); left != "" {
			t.Errorf("containers are left: %s", left)
		}
	})
	r.start()
	return r
}

func (r *revived) start() {
	r.t.Helper()
	r.Process = node.Serve(r.t, node.Path(r.t), r.args...)
}
