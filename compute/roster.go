package compute

import (
	"iter"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// roster is the table of game server processes, and what finds them in it.
type roster struct {
	rows      *store.Table[Process]
	alive     *store.Index[Process]    // not ended, by fleet, location
	onCompute *store.Index[Process]    // not ended, by compute
	due       *store.DueIndex[Process] // by earliest deadline
}

func newRoster(st *store.Store) *roster {
	ro := &roster{}
	ro.rows = store.NewTable(st, store.TableSpec[Process]{
		Name: "server_process",
		Key:  func(p *Process) string { return p.Key },
		// The database itself refuses a game session on two processes.
		Columns: []store.Column[Process]{{Name: "game_session", Unique: true, Value: (*Process).hosted}},
	})
	living := func(name string, key func(*Process) string) *store.Index[Process] {
		return store.NewIndex(ro.rows, name, func(p *Process, emit func(string)) {
			if p.Status != Terminated {
				emit(key(p))
			}
		})
	}
	ro.alive = living("alive", func(p *Process) string { return store.Key(p.FleetID, p.Location) })
	ro.onCompute = living("compute", func(p *Process) string { return p.Key[:len(p.FleetID)+1+len(p.ComputeName)] }) // Key, without a copy
	ro.due = store.NewDueIndex(ro.rows, "due", (*Process).due)
	return ro
}

// Process returns a process by key, or nil.
func (ro *roster) Process(r store.Reader, key string) *Process { return ro.rows.Get(r, key) }

// Lives reports whether the process is known and has not ended.
func (ro *roster) Lives(r store.Reader, ref Ref) bool {
	p := ro.rows.Get(r, ref.Key())
	return p != nil && p.Status != Terminated
}

// On returns the processes of a compute that have not ended.
func (ro *roster) On(r store.Reader, fleetID, computeName string) iter.Seq[*Process] {
	return ro.onCompute.Equal(r, Key(fleetID, computeName))
}

// OfInstance returns the processes of an instance, and of the container groups on it, that
// have not ended.
func (ro *roster) OfInstance(r store.Reader, fleetID, instanceID string) iter.Seq[*Process] {
	return func(yield func(*Process) bool) {
		for _, p := range ro.onCompute.Prefix(r, Key(fleetID, instanceID)) { // ids of instances have one length, so none is the beginning of another
			if !yield(p) {
				return
			}
		}
	}
}

// Processes returns the processes of a fleet that have not ended; location "" means
// all its locations, and fleetID "" all fleets.
func (ro *roster) Processes(r store.Reader, fleetID, location string) iter.Seq[*Process] {
	prefix := ""
	switch {
	case location != "":
		prefix = store.Key(fleetID, location)
	case fleetID != "":
		prefix = store.Key(fleetID)
	}
	return func(yield func(*Process) bool) {
		for _, p := range ro.alive.Prefix(r, prefix) {
			if !yield(p) {
				return
			}
		}
	}
}

// living returns a process that has not ended. Errors: NotFound.
func (ro *roster) living(r store.Reader, key string) (*Process, error) {
	p := ro.rows.Get(r, key)
	if p == nil || p.Status == Terminated {
		return nil, fault.Missing("process %s is not known or has ended", ParseRef(key).ProcessID)
	}
	return p, nil
}
