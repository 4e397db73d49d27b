package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

// One key gets at most a quarter of the streams, and the last quarter is reserved for
// administrators and operators. Errors say why a stream is refused, and a stream that
// ends makes room for another.
func TestStreams(t *testing.T) {
	t.Parallel()
	s := newStreams(8)
	caller := func(role auth.Role, n int) auth.Caller { return auth.Caller{KeyID: fmt.Sprint(role, n), Role: role} }
	enter := func(c auth.Caller, want string) {
		t.Helper()
		err := s.enter(c)
		if want == "" && err != nil || want != "" && (!fault.Is(err, fault.Throttling) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", c.KeyID, err, want)
		}
	}
	for n := range 3 {
		enter(caller(auth.ReadOnly, n), "")
		enter(caller(auth.ReadOnly, n), "")
		if n < 2 {
			enter(caller(auth.ReadOnly, n), "limit for one key")
		}
	}
	enter(caller(auth.GameBackend, 0), "roles admin and operator")
	enter(caller(auth.Operator, 0), "")
	enter(caller(auth.Admin, 0), "")
	enter(caller(auth.Operator, 0), "which is the limit; ")
	s.leave(caller(auth.ReadOnly, 1))
	enter(caller(auth.ReadOnly, 1), "roles admin and operator")
	enter(caller(auth.Operator, 0), "")
	for range 2 {
		s.leave(caller(auth.ReadOnly, 0))
	}
	s.leave(caller(auth.Operator, 0))
	enter(caller(auth.GameBackend, 0), "")
	local := newStreams(8)
	for range 8 {
		if err := local.enter(auth.Anybody()); err != nil {
			t.Errorf("on a server for its own user: %v", err)
		}
	}
}
