package postgres

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// What the writer's connection reads without an index, as Take reads the level, is not
// compiled: that would take longer than all the rest of a takeover.
func TestWriter_NotCompiled(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	opened, err := New(url).Open(t.Context(), pgtest.Cell(t, url), store.Schema{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	err = query(t.Context(), opened.(*db).writer)(func(row sqltext.Row) error {
		var line string
		if err := row.Scan(&line); err != nil {
			return err
		}
		if strings.Contains(line, "JIT") {
			t.Errorf("the plan has %q", line)
		}
		return nil
	}, `EXPLAIN (ANALYZE) SELECT "version" FROM "muster_schema"`)
	if err != nil {
		t.Fatal(err)
	}
}
