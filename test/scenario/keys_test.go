package scenario

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/test/node"
)

// serveCell runs servers of one cell on PostgreSQL, and returns them and the first key.
func serveCell(t *testing.T, n int, flags ...string) (servers []*node.Process, first client.Credentials) {
	t.Helper()
	path, url := node.Path(t), pgtest.URL(t)
	flags = append(flags, "--listen", "127.0.0.1:0", "--master-key-file", filepath.Join(t.TempDir(), "master.key"),
		"--store", url, "--cell", pgtest.Cell(t, url), "--log-level", "warn")
	for i := range n {
		data := t.TempDir()
		p, err := node.Run(path, append([]string{"serve", "--data", data}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		if servers = append(servers, p); i == 0 { // it owns the cell, and has made the key
			first = node.FirstKey(t, data)
		}
	}
	return servers, first
}

// TestClusterKeys creates, uses, rotates, disables and deletes keys through the three
// servers of a cell, each step at another one: what one server has answered is in
// effect at all of them for the next request, without restarts.
func TestClusterKeys(t *testing.T) {
	servers, credentials := serveCell(t, 3)
	at := func(i int, c client.Credentials) *client.Client {
		return &client.Client{Endpoint: servers[i].URL, Credentials: c}
	}
	everywhere := func(c client.Credentials, code string) {
		t.Helper()
		for i := range servers {
			err := at(i, c).Call(t.Context(), "ListFleets", map[string]any{}, nil)
			var refused *client.Error
			if errors.As(err, &refused); (code == "") != (err == nil) || refused != nil && refused.Code != code {
				t.Errorf("server %d answers %s with %v, want %q", i, c.AccessKeyID, err, code)
			}
		}
	}
	must := func(k client.Key, err error) client.Credentials {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return client.Credentials{AccessKeyID: k.ID, SecretAccessKey: k.Secret}
	}
	const unknown = "UnrecognizedClientException"
	first := must(at(1, credentials).Keys().Create(t.Context(), client.KeySpec{Name: "ci", Role: "operator"}))
	everywhere(first, "")
	second := must(at(2, credentials).Keys().Rotate(t.Context(), first.AccessKeyID, client.KeyRotation{}))
	everywhere(first, "")
	everywhere(second, "")
	begun := time.Now()
	must(at(2, credentials).Keys().Disable(t.Context(), first.AccessKeyID))
	everywhere(first, unknown)
	t.Logf("disabled at a standby and refused by all three servers after %s", time.Since(begun).Round(time.Millisecond))
	everywhere(second, "")
	must(at(0, credentials).Keys().Enable(t.Context(), first.AccessKeyID))
	everywhere(first, "")
	if err := at(1, credentials).Keys().Delete(t.Context(), first.AccessKeyID); err != nil {
		t.Fatal(err)
	}
	everywhere(first, unknown)
	if err := at(1, credentials).Keys().Delete(t.Context(), credentials.AccessKeyID); err == nil {
		t.Error("the last admin key can be deleted")
	}
	if _, err := at(1, second).Keys().List(t.Context()); err == nil {
		t.Error("an operator sees the keys")
	}
}
