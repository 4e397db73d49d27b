package audit_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// TestTampering edits the database as someone with access to it could.
func TestTampering(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, want string }{
		"nothing":       {`SELECT 1`, ""},
		"an edit":       {`UPDATE audit SET doc = replace(doc, '"KEY"', '"ME"') WHERE seq = 2`, "changed"},
		"the last one":  {`UPDATE audit SET doc = replace(doc, '"KEY"', '"ME"') WHERE seq = 4`, "record 4 was changed"},
		"a gap":         {`DELETE FROM audit WHERE seq = 2`, "record 2 is missing"},
		"no beginning":  {`DELETE FROM audit WHERE seq = 1`, "record 1 is missing"},
		"no end":        {`DELETE FROM audit WHERE seq = 4`, "record 4 is missing"},
		"all":           {`DELETE FROM audit`, "record 1 is missing"},
		"its knowledge": {`DELETE FROM audit_chain`, "knows of none"},
	} {
		dir := t.TempDir()
		s := newSite(t, sqlite.New(dir), audit.Options{})
		for _, id := range []string{"a", "b", "c", "d"} {
			s.act(t, "CreateFleet", audit.OK, id)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, "muster.db"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(c.sql); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		again := newSite(t, sqlite.New(dir), audit.Options{})
		v := again.whole(t)
		if (v.Problem == "") != (c.want == "") || !strings.Contains(v.Problem, c.want) {
			t.Errorf("%s: the verdict is %+v, want %q", name, v, c.want)
		}
	}
}
