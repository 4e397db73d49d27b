package compute

import (
	"iter"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// processes holds the game server processes on the computes.
type processes struct {
	*links
	*losses
	st       *store.Store
	opts     Options
	events   *event.Log
	fleets   *fleet.Service
	computes *registry
	hosting  Hosting
	wake     func() // wakes the loop that ends what is overdue
	ends     *ends

	rows      *store.Table[Process]
	alive     *store.Index[Process]    // not ended, by fleet, location
	onCompute *store.Index[Process]    // not ended, by compute
	due       *store.DueIndex[Process] // by earliest deadline

	ended    []func(tx *store.Tx, p *Process, how string)
	stopping []func(*store.Tx, *Process)
	free     []func()
	cmd      processCommands
}

type processCommands struct {
	connect    *store.Command[ConnectInput, *Process]
	disconnect *store.Action[string]
	ready      *store.Action[ReadyInput]
	hear       *store.Action[string]
	end        *store.Action[endArgs]
	unhealthy  *store.Action[endArgs]
	retire     *store.Action[endArgs]
}

func newProcesses(st *store.Store, d Deps, o Options, computes *registry, wake func()) *processes {
	ps := &processes{
		links: &links{m: map[string]Link{}}, losses: newLosses(st), st: st, opts: o, events: d.Events, fleets: d.Fleets, computes: computes, hosting: nobody{}, wake: wake,
		ends: newEnds(o.Registerer, st, d.Fleets),
	}
	ps.rows = store.NewTable(st, store.TableSpec[Process]{
		Name: "server_process",
		Key:  func(p *Process) string { return p.Key },
		// The database itself refuses a game session on two processes.
		Columns: []store.Column[Process]{{Name: "game_session", Unique: true, Value: (*Process).hosted}},
	})
	living := func(name string, key func(*Process) string) *store.Index[Process] {
		return store.NewIndex(ps.rows, name, func(p *Process, emit func(string)) {
			if p.Status != Terminated {
				emit(key(p))
			}
		})
	}
	ps.alive = living("alive", func(p *Process) string { return store.Key(p.FleetID, p.Location) })
	ps.onCompute = living("compute", func(p *Process) string { return p.Key[:len(p.FleetID)+1+len(p.ComputeName)] }) // Key, without a copy
	ps.due = store.NewDueIndex(ps.rows, "due", (*Process).due)
	ps.cmd = processCommands{
		connect:    store.NewCommand(st, "process.connect", ps.runConnect),
		disconnect: store.NewAction(st, "process.disconnect", ps.runDisconnect),
		ready:      store.NewAction(st, "process.ready", ps.runReady),
		hear:       store.NewAction(st, "process.hear", ps.runHear),
		end:        store.NewAction(st, "process.end", ps.runEnd),
		unhealthy:  store.NewAction(st, "process.unhealthy", ps.runUnhealthy),
		retire:     store.NewAction(st, "process.retire", ps.runRetire),
	}
	return ps
}

// OnEnded registers f to be called in each transaction that ends a process, with the
// process as it last was and how it ended, for people. It must be called before the store is
// opened.
func (ps *processes) OnEnded(f func(tx *store.Tx, p *Process, how string)) {
	ps.ended = append(ps.ended, f)
}

// OnStopping registers f to be called in each transaction that orders a process to end.
// It must be called before the store is opened.
func (ps *processes) OnStopping(f func(*store.Tx, *Process)) { ps.stopping = append(ps.stopping, f) }

// OnFree registers f to be called after each commit that may make a placement possible:
// a process became free, or a compute may activate one more game session. It must be
// called before the store is opened.
func (ps *processes) OnFree(f func()) { ps.free = append(ps.free, f) }

func (ps *processes) announceFree(tx *store.Tx) {
	for _, f := range ps.free {
		tx.OnCommit(f)
	}
}

// HostedBy sets what runs processes for this Muster; without it nothing does. It must be
// called before the store is opened.
func (ps *processes) HostedBy(h Hosting) { ps.hosting = h }

// CanKill reports whether a host of this Muster runs the process.
func (ps *processes) CanKill(ref Ref) bool { return ps.hosting.CanKill(ref) }

// Process returns a process by key, or nil.
func (ps *processes) Process(r store.Reader, key string) *Process { return ps.rows.Get(r, key) }

// Lives reports whether the process is known and has not ended.
func (ps *processes) Lives(r store.Reader, ref Ref) bool {
	p := ps.rows.Get(r, ref.Key())
	return p != nil && p.Status != Terminated
}

// On returns the processes of a compute that have not ended.
func (ps *processes) On(r store.Reader, fleetID, computeName string) iter.Seq[*Process] {
	return ps.onCompute.Equal(r, Key(fleetID, computeName))
}

// OfInstance returns the processes of an instance, and of the container groups on it, that
// have not ended.
func (ps *processes) OfInstance(r store.Reader, fleetID, instanceID string) iter.Seq[*Process] {
	return func(yield func(*Process) bool) {
		for _, p := range ps.onCompute.Prefix(r, Key(fleetID, instanceID)) { // ids of instances have one length, so none is the beginning of another
			if !yield(p) {
				return
			}
		}
	}
}

// Processes returns the processes of a fleet that have not ended; location "" means
// all its locations, and fleetID "" all fleets.
func (ps *processes) Processes(r store.Reader, fleetID, location string) iter.Seq[*Process] {
	prefix := ""
	switch {
	case location != "":
		prefix = store.Key(fleetID, location)
	case fleetID != "":
		prefix = store.Key(fleetID)
	}
	return func(yield func(*Process) bool) {
		for _, p := range ps.alive.Prefix(r, prefix) {
			if !yield(p) {
				return
			}
		}
	}
}
