package build

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables are the package's rows and indexes.
type tables struct {
	builds *store.Table[Build]

	unchecked *store.Index[Build]    // whose archive was received but not checked
	due       *store.DueIndex[Build] // by when they fail for lack of an archive
	deleted   *store.Index[Build]    // that fleets may still use
}

func newTables(st *store.Store) tables {
	var t tables
	t.builds = store.NewTable(st, store.TableSpec[Build]{
		Name: "build", Key: func(b *Build) string { return b.ID },
	})
	t.unchecked = store.NewIndex(t.builds, "unchecked", func(b *Build, emit func(string)) {
		if b.Status == Initialized && !b.Arrived.IsZero() && b.Deleted.IsZero() {
			emit(store.TimeKey(b.Arrived))
		}
	})
	t.due = store.NewDueIndex(t.builds, "due", func(b *Build) time.Time {
		if b.Status == Initialized && b.Arrived.IsZero() && b.Deleted.IsZero() {
			return b.Due
		}
		return time.Time{}
	})
	t.deleted = store.NewIndex(t.builds, "deleted", func(b *Build, emit func(string)) {
		if !b.Deleted.IsZero() {
			emit("")
		}
	})
	return t
}
