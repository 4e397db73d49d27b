package auth

import (
	"testing"

	"github.com/musterhq/muster/internal/fault"
)

// A refused caller learns which roles may do it.
func TestHas_NamesRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role   Role
		action Action
		want   string
	}{
		{ReadOnly, "CreateFleet", "access key K has the role read-only, which may not call CreateFleet; the roles operator and admin may"},
		{GameServer, "StartMatchmaking", "access key K has the role game-server, which may not call StartMatchmaking; the roles game-backend, operator and admin may"},
		{Operator, ManageKeys, "access key K has the role operator, which may not call muster:ManageKeys; the role admin alone may"},
		{Admin, ManageKeys, ""},
	} {
		err := Caller{KeyID: "K", Role: c.role}.Has(c.action)
		f, _ := fault.As(err)
		if c.want == "" && err != nil || c.want != "" && (f == nil || f.Kind != fault.AccessDenied || f.Message != c.want) {
			t.Errorf("%s, %s: %v, want %q", c.role, c.action, err, c.want)
		}
	}
}
