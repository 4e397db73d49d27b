package compute

import "github.com/musterhq/muster/internal/store"

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
			emit(Key(p.FleetID, p.ComputeName))
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
			add(Key(p.FleetID, p.ComputeName), 1)
		}
	})
	return t
}

// hosting returns the game session of a process that has not ended.
func hosting(p *Process) string {
	if p.Status == Terminated {
		return ""
	}
	return p.GameSessionID
}
