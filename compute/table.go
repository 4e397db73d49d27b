package compute

import "github.com/musterhq/muster/internal/store"

// tables are the package's rows and the ways to find them.
type tables struct {
	computes   *store.Table[Compute]
	inFleet    *store.Index[Compute] // by fleet
	processes  *store.Table[Process]
	free       *store.Index[Process] // free ones by fleet, location, then who was ready first
	alive      *store.Index[Process] // not ended, by fleet, location
	onCompute  *store.Index[Process] // not ended, by compute
	activating *store.Index[Process] // with a game session that is not active yet, by compute
	connected  *store.Index[Process] // with an open socket
	due        *store.Index[Process] // by earliest deadline
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
			emit(store.Key(p.FleetID, p.Location) + store.TimeKey(p.Ready))
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
	t.activating = store.NewIndex(t.processes, "activating", func(p *Process, emit func(string)) {
		if p.Activating {
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
	return t
}

// hosting is the game session of a process that has not ended.
func hosting(p *Process) string {
	if p.Status == Terminated {
		return ""
	}
	return p.GameSessionID
}
