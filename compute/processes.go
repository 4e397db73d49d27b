package compute

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// processes holds the game server processes on the computes.
type processes struct {
	*roster
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

	ended      []func(tx *store.Tx, p *Process, how string)
	stopping   []func(*store.Tx, *Process)
	connection []func(*store.Tx, *Process)
	free       []func()
	cmd        processCommands
}

type processCommands struct {
	connect    *store.Command[ConnectInput, *Process]
	disconnect *store.Action[string]
	ready      *store.Action[ReadyInput]
	hear       *store.Action[string]
	end        *store.Action[endArgs]
	unhealthy  *store.Action[endArgs]
	retire     *store.Action[endArgs]
	retireIdle *store.Action[endArgs]
}

func newProcesses(st *store.Store, d Deps, o Options, computes *registry, wake func()) *processes {
	ps := &processes{
		links: &links{m: map[string]Link{}}, losses: newLosses(st), roster: newRoster(st), st: st, opts: o, events: d.Events, fleets: d.Fleets, computes: computes, hosting: nobody{}, wake: wake,
		ends: newEnds(o.Registerer, st, d.Fleets),
	}
	ps.cmd = processCommands{
		connect:    store.NewCommand(st, "process.connect", ps.runConnect),
		disconnect: store.NewAction(st, "process.disconnect", ps.runDisconnect),
		ready:      store.NewAction(st, "process.ready", ps.runReady),
		hear:       store.NewAction(st, "process.hear", ps.runHear),
		end:        store.NewAction(st, "process.end", ps.runEnd),
		unhealthy:  store.NewAction(st, "process.unhealthy", ps.runUnhealthy),
		retire:     store.NewAction(st, "process.retire", ps.runRetire),
		retireIdle: store.NewAction(st, "process.retire_idle", ps.runRetireIdle),
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

// OnConnection registers f to be called in each transaction that records that a process has lost its
// last connection, or is connected again. It must be called before the store is opened.
func (ps *processes) OnConnection(f func(*store.Tx, *Process)) {
	ps.connection = append(ps.connection, f)
}

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
