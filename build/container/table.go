package container

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables are the package's rows and indexes.
type tables struct {
	definitions *store.Table[Definition]
	versions    *store.Table[Version]

	of  *store.Index[Version]    // versions by name, the newest first
	due *store.DueIndex[Version] // when the registries of a COPYING version are asked
}

func newTables(st *store.Store) tables {
	var t tables
	t.definitions = store.NewTable(st, store.TableSpec[Definition]{
		Name: "container_group_definition", Key: func(d *Definition) string { return d.Name },
	})
	t.versions = store.NewTable(st, store.TableSpec[Version]{
		Name: "container_group_version", Key: func(v *Version) string { return key(v.Name, v.Number) },
	})
	t.of = store.NewIndex(t.versions, "name", func(v *Version, emit func(string)) { emit(v.Name) })
	t.due = store.NewDueIndex(t.versions, "due", func(v *Version) time.Time {
		if v.Status == Copying {
			return v.Due
		}
		return time.Time{}
	})
	return t
}
