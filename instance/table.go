package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/store"
)

// tables holds the package's tables and indexes.
type tables struct {
	tokens      *store.Table[JoinToken]
	hosts       *store.Table[Host]
	removed     *store.Table[removedHost]
	hostDue     *store.Index[Host]
	instances   *store.Table[Instance]
	onHost      *store.Index[Instance] // by host
	ofFleet     *store.Index[Instance] // by fleet, location, id
	draining    *store.Index[Instance]
	instanceDue *store.Index[Instance]
	launches    *store.Table[launch]
	launchesOn  *store.Index[launch] // not ended, by compute
	launchDue   *store.Index[launch]
}

func newTables(st *store.Store) tables {
	var t tables
	t.tokens = store.NewTable(st, store.TableSpec[JoinToken]{Name: "join_token", Key: func(j *JoinToken) string { return j.Hash }})
	t.hosts = store.NewTable(st, store.TableSpec[Host]{Name: "host", Key: func(h *Host) string { return h.ID }})
	t.removed = store.NewTable(st, store.TableSpec[removedHost]{Name: "removed_host", Key: func(h *removedHost) string { return h.ID }})
	t.hostDue = store.NewIndex(t.hosts, "due", func(h *Host, emit func(string)) { emitTime(h.due(), emit) })
	t.instances = store.NewTable(st, store.TableSpec[Instance]{Name: "instance", Key: func(i *Instance) string { return i.ID }})
	t.onHost = store.NewIndex(t.instances, "host", func(i *Instance, emit func(string)) { emit(i.HostID) })
	t.ofFleet = store.NewIndex(t.instances, "fleet", func(i *Instance, emit func(string)) {
		emit(store.Key(i.FleetID, i.Location))
	})
	t.draining = store.NewIndex(t.instances, "draining", func(i *Instance, emit func(string)) {
		if i.Stop == Drain && !i.Gone {
			emit("")
		}
	})
	t.instanceDue = store.NewIndex(t.instances, "due", func(i *Instance, emit func(string)) { emitTime(i.due(), emit) })
	t.launches = store.NewTable(st, store.TableSpec[launch]{Name: "launch", Key: func(l *launch) string { return l.Key }})
	t.launchesOn = store.NewIndex(t.launches, "compute", func(l *launch, emit func(string)) {
		if l.Ended.IsZero() {
			ref := compute.ParseRef(l.Key)
			emit(compute.Key(ref.FleetID, ref.ComputeName))
		}
	})
	t.launchDue = store.NewIndex(t.launches, "due", func(l *launch, emit func(string)) { emitTime(l.due(), emit) })
	return t
}

func emitTime(at time.Time, emit func(string)) {
	if !at.IsZero() {
		emit(store.TimeKey(at))
	}
}
