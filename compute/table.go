package compute

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables holds the package's tables and indexes.
type tables struct {
	computes  *store.Table[Compute]
	inFleet   *store.Index[Compute] // by fleet
	processes *store.Table[Process]
	free      *store.Index[Process] // free ones by fleet, location, then rank and time
	alive     *store.Index[Process] // not ended, by fleet, location
	onCompute *store.Index[Process] // not ended, by compute
	connected *store.Index[Process] // with an open socket
	due       *store.Index[Process] // by earliest deadline
	tally     *store.Sum[Process]   // by what is counted, fleet and location ("" is all); and game sessions by compute
	hostTables
}

// hostTables are the rows of managed fleets.
type hostTables struct {
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

func newHostTables(st *store.Store) hostTables {
	var t hostTables
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
			ref := ParseRef(l.Key)
			emit(computeKey(ref.FleetID, ref.ComputeName))
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

func newTables(st *store.Store) tables {
	var t tables
	t.computes = store.NewTable(st, store.TableSpec[Compute]{Name: "compute", Key: func(c *Compute) string { return c.Key }})
	t.inFleet = store.NewIndex(t.computes, "fleet", func(c *Compute, emit func(string)) { emit(store.Key(c.FleetID)) })
	t.processes = store.NewTable(st, store.TableSpec[Process]{
		Name: "server_process",
		Key:  func(p *Process) string { return p.Key },
		// The database itself refuses a game session on two processes.
		Columns: []store.Column[Process]{{Name: "game_session", Unique: true, Value: hosting}},
	})
	t.free = store.NewIndex(t.processes, "free", func(p *Process, emit func(string)) {
		if p.Free() {
			emit(store.Key(p.FleetID, p.Location) + p.rank() + store.TimeKey(p.Ready))
		}
	})
	t.alive = store.NewIndex(t.processes, "alive", func(p *Process, emit func(string)) {
		if p.Status != Terminated {
			emit(store.Key(p.FleetID, p.Location))
		}
	})
	t.onCompute = store.NewIndex(t.processes, "compute", func(p *Process, emit func(string)) {
		if p.Status != Terminated {
			emit(computeKey(p.FleetID, p.ComputeName))
		}
	})
	t.connected = store.NewIndex(t.processes, "connected", func(p *Process, emit func(string)) {
		if p.Connected {
			emit("")
		}
	})
	t.due = store.NewIndex(t.processes, "due", func(p *Process, emit func(string)) {
		if at := p.due(); !at.IsZero() {
			emit(store.TimeKey(at))
		}
	})
	t.tally = store.NewSum(t.processes, "tally", func(p *Process, add func(string, int)) {
		for _, location := range []string{p.Location, ""} {
			for _, what := range p.counted() {
				add(store.Key(what, p.FleetID, location), 1)
			}
		}
		if p.Status != Terminated && p.GameSessionID != "" {
			add(computeKey(p.FleetID, p.ComputeName), 1)
		}
	})
	t.hostTables = newHostTables(st)
	return t
}

// hosting returns the game session of a process that has not ended.
func hosting(p *Process) string {
	if p.Status == Terminated {
		return ""
	}
	return p.GameSessionID
}
