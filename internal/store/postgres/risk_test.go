package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// A connection to the database that others could read is reported, one that they cannot
// read is not.
func TestRisks_WithoutTLS(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://u@127.0.0.1:1/d?sslmode=disable":                  "",
		"postgres://u@localhost:1/d":                                  "",
		"postgres://u@/d?host=/nowhere":                               "",
		"postgres://u@db.invalid/d?sslmode=verify-full":               "",
		"postgres://u@db.invalid/d?sslmode=require":                   "",
		"postgres://u@db.invalid/d":                                   "at db.invalid may",
		"postgres://u@db.invalid/d?sslmode=prefer":                    "at db.invalid may",
		"postgres://u@db.invalid/d?sslmode=allow":                     "at db.invalid may",
		"postgres://u@db.invalid/d?sslmode=disable":                   "at db.invalid may",
		"postgres://u@127.0.0.1:1,db2.invalid:2/d?sslmode=disable":    "at db2.invalid may",
		"postgres://u@db1.invalid:1,db2.invalid:2/d?sslmode=disable":  "at db1.invalid, db2.invalid may",
		"host=db.invalid user=u dbname=d sslmode=disable password=pw": "at db.invalid may",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // so that no server is queried for its replication
		risks, err := postgres.New(address).Risks(ctx)
		if err == nil {
			t.Errorf("%s: there is a database", address)
		}
		told := strings.Join(risks, "\n")
		if want == "" && told != "" || !strings.Contains(told, want) || strings.Contains(told, "pw") {
			t.Errorf("%s: %q, want %q", address, told, want)
		}
	}
}

// A standby that may lag behind at a failover is reported; without one, or once it is
// synchronous, nothing is.
func TestRisks_AsynchronousStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t)
	risks := func() string {
		t.Helper()
		all, err := postgres.New(primary.URL).Risks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all, "\n")
	}
	if told := risks(); told != "" {
		t.Errorf("without standbys: %s", told)
	}
	receive(t, primary)
	wait.For(t, "the standby is reported", func() error {
		if told := risks(); !strings.Contains(told, "1 standbys and none of them is synchronous") {
			return fmt.Errorf("told is %q", told)
		}
		return nil
	})
	primary.Synchronous(t)
	wait.For(t, "the synchronous standby is not reported", func() error {
		if told := risks(); told != "" {
			return fmt.Errorf("told is %q", told)
		}
		return nil
	})
}

// receive runs a program that streams the server's log, as a standby does, until the
// test ends.
func receive(t *testing.T, from *pgtest.Server) {
	t.Helper()
	u, err := url.Parse(from.URL)
	if err != nil {
		t.Fatal(err)
	}
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_receivewal")
	if len(programs) == 0 {
		t.Skip("pg_receivewal is not installed")
	}
	cmd := exec.Command(programs[len(programs)-1], "-h", u.Query().Get("host"), "-U", "postgres", "-D", t.TempDir(), "--synchronous")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// A password given separately replaces the URL's.
func TestDriver_WithPassword(t *testing.T) {
	t.Parallel()
	address := pgtest.Own(t).Login(t, "careful", "right")
	if _, err := postgres.New(address).WithPassword("right").Risks(t.Context()); err != nil {
		t.Errorf("with the right password: %v", err)
	}
	if _, err := postgres.New(address).WithPassword("").Risks(t.Context()); err == nil {
		t.Error("an empty password takes the place of the URL's")
	}
}
