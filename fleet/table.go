package fleet

import "github.com/musterhq/muster/internal/store"

// tables are the package's tables and indexes.
type tables struct {
	fleets    *store.Table[Fleet]
	locations *store.Table[Location]
	aliases   *store.Table[Alias]
	using     *store.Index[Fleet] // by location that the fleet lists
	leaving   *store.Index[Fleet] // fleets that are being deleted or lose a location
	managed   *store.Index[Fleet] // managed fleets
	ofBuild   *store.Index[Fleet] // managed fleets by build
}

func newTables(st *store.Store) tables {
	var t tables
	t.fleets = store.NewTable(st, store.TableSpec[Fleet]{
		Name: "fleet", Key: func(f *Fleet) string { return f.ID },
	})
	t.locations = store.NewTable(st, store.TableSpec[Location]{
		Name: "location", Key: func(l *Location) string { return l.Name },
	})
	t.aliases = store.NewTable(st, store.TableSpec[Alias]{
		Name: "alias", Key: func(a *Alias) string { return a.ID },
	})
	t.using = store.NewIndex(t.fleets, "location", func(f *Fleet, emit func(string)) {
		for _, l := range f.Locations {
			emit(l.Location)
		}
	})
	t.leaving = store.NewIndex(t.fleets, "leaving", func(f *Fleet, emit func(string)) {
		if f.leaving() {
			emit("")
		}
	})
	t.managed = store.NewIndex(t.fleets, "managed", func(f *Fleet, emit func(string)) {
		if f.Managed != nil {
			emit("")
		}
	})
	t.ofBuild = store.NewIndex(t.fleets, "build", func(f *Fleet, emit func(string)) {
		if f.Managed != nil {
			emit(f.Managed.BuildID)
		}
	})
	return t
}
