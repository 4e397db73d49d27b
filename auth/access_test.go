package auth_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/auth"
)

// Credentials name their grant, and every change of what they say or of the compute's
// registration needs another secret.
func TestAccess(t *testing.T) {
	t.Parallel()
	m, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	g := auth.AccessGrant{KeyID: "MSTRKEY", FleetID: "fleet-1", ComputeName: "i-1/0", Registered: now.Add(-time.Hour), Expires: now}
	c, other := m.IssueAccess(g), m.IssueAccess(g)
	got, ok := auth.ParseAccess(c.AccessKeyID, c.SessionToken)
	if want := (auth.AccessGrant{KeyID: g.KeyID, FleetID: g.FleetID, ComputeName: g.ComputeName, Expires: now}); !ok || got != want {
		t.Errorf("parsed %+v, %v, want %+v", got, ok, want)
	}
	if len(c.AccessKeyID) != 20 || c.AccessKeyID == other.AccessKeyID || c.SecretAccessKey == other.SecretAccessKey {
		t.Errorf("two credentials are %+v and %+v", c, other)
	}
	if m.AccessSecret(c.AccessKeyID, c.SessionToken, g.Registered) != c.SecretAccessKey {
		t.Error("the secret is not the one that was issued")
	}
	for what, secret := range map[string]string{
		"a later registration": m.AccessSecret(c.AccessKeyID, c.SessionToken, g.Registered.Add(time.Millisecond)),
		"another time":         m.AccessSecret(other.AccessKeyID, c.SessionToken, g.Registered),
		"another compute":      m.AccessSecret(c.AccessKeyID, strings.Replace(c.SessionToken, "i-1", "i-2", 1), g.Registered),
		"another key":          m.AccessSecret(c.AccessKeyID, strings.Replace(c.SessionToken, "MSTRKEY", "MSTRKEX", 1), g.Registered),
	} {
		if secret == c.SecretAccessKey {
			t.Errorf("%s has the same secret", what)
		}
	}
	for _, bad := range [][2]string{{"", ""}, {c.AccessKeyID, ""}, {c.AccessKeyID, "a:b"}, {c.AccessKeyID, c.SessionToken + ":x"}, {"MSTR" + c.AccessKeyID[4:], c.SessionToken}, {c.AccessKeyID + "AAAA", c.SessionToken}, {"MSTA!", c.SessionToken}} {
		if _, ok := auth.ParseAccess(bad[0], bad[1]); ok {
			t.Errorf("%q counts as credentials for remote access", bad)
		}
	}
}

// Shells are apart from administration: only two roles allow them.
func TestRole_Shells(t *testing.T) {
	t.Parallel()
	for _, action := range []auth.Action{"GetComputeAccess", "GetInstanceAccess", auth.OpenShell} {
		for _, r := range auth.Roles() {
			if got, want := r.Allows(action), r == auth.Admin || r == auth.RemoteShell; got != want {
				t.Errorf("%s may %s: %v, want %v", r, action, got, want)
			}
		}
	}
	for action, want := range map[auth.Action]bool{
		"DescribeCompute": true, "ListFleets": true, auth.ReadHosts: true, "GetComputeAuthToken": false, "GetGameSessionLogUrl": false,
		"UpdateFleetCapacity": false, "TerminateGameSession": false, auth.ManageHosts: false, auth.ManageKeys: false, auth.ReadAudit: false, auth.ReadPlayerSessionIDs: false,
	} {
		if got := auth.RemoteShell.Allows(action); got != want {
			t.Errorf("%s may %s: %v, want %v", auth.RemoteShell, action, got, want)
		}
	}
}
