package compute

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// ConnectInput describes a process that connects.
type ConnectInput struct {
	Ref Ref
	Key string `json:"-"` // of Ref, if the caller keeps it: its memory is then shared
	SDK SDK

	// Hosts is the game session that the process was last told to host, "" for none, if its
	// host's agent knows.
	Hosts *string `json:",omitzero"`
}

// Connect accepts a connection of an authenticated process: its first, or one that
// replaces a lost one. Pushes to it are sent to link from now on.
// Errors: Unauthorized if the process has ended or may not start here.
func (ps *processes) Connect(ctx context.Context, in ConnectInput, link Link) (*Process, error) {
	in.Key = cmp.Or(in.Key, in.Ref.Key())
	ps.links.set(in.Key, link)
	p, err := ps.cmd.connect.Do(ctx, in)
	if err != nil && !ps.Lives(ps.st.View(), in.Ref) {
		ps.links.remove(in.Key)
	}
	return p, err
}

func (ps *processes) runConnect(tx *store.Tx, in ConnectInput) (*Process, error) {
	old := ps.rows.Get(tx, in.Ref.Key())
	if old == nil {
		return ps.initialize(tx, in)
	}
	if old.Status == Terminated {
		return nil, fault.New(fault.Unauthorized, "process %s has ended (%s); a new run needs a new process id", old.ID, old.Why)
	}
	p := *old
	if !p.Connected {
		p.Connected, p.Away, p.ReconnectBy = true, time.Time{}, time.Time{}
		ps.put(tx, &p)
		ps.record(tx, event.ProcessReconnected, &p, "")
		ps.reached(tx, &p)
	}
	ps.settle(tx, &p, in.Hosts)
	if p.Status == Terminating {
		by := p.StopBy
		tx.OnCommit(func() { ps.links.send(p.Key, func(l Link) { l.Terminate(by) }) })
	}
	return &p, nil
}

func (ps *processes) initialize(tx *store.Tx, in ConnectInput) (*Process, error) {
	c := ps.computes.Get(tx, in.Ref.FleetID, in.Ref.ComputeName)
	f := ps.fleets.Get(tx, in.Ref.FleetID)
	at, open := ps.behind(tx, c, in.Ref.ProcessID)
	if !open || f == nil || !f.TakesProcesses(c.Location) {
		return nil, fault.New(fault.Unauthorized, "fleet %s takes no new process on compute %s", in.Ref.FleetID, in.Ref.ComputeName)
	}
	key := cmp.Or(in.Key, in.Ref.Key()) // a recorded command has none
	p := &Process{
		Key: key, FleetID: f.ID, ComputeName: c.Name, ID: ParseRef(key).ProcessID, Location: c.Location,
		HostID: at.ID, Impaired: at.Impaired,
		SDK: in.SDK, Connected: true, Initialized: tx.Now(), ReadyBy: tx.Now().Add(ps.opts.ReadyTimeout),
	}
	p.move(Initialized)
	if ps.inDoubt(tx) {
		p.Doubt, p.ReadyBy = true, time.Time{}
	}
	ps.put(tx, p)
	ps.hosting.Connected(tx, p)
	ps.record(tx, event.ProcessInitialized, p, in.SDK.Language+" "+in.SDK.Version)
	ps.settle(tx, p, in.Hosts)
	return p, nil
}

// behind returns the host of a compute, if it has one, and whether a new process may
// start there.
func (ps *processes) behind(r store.Reader, c *Compute, processID string) (at Host, open bool) {
	if c == nil || c.InstanceID == "" {
		return Host{}, c != nil
	}
	return ps.hosting.Behind(r, c, processID)
}

// Disconnect records that the last socket of a process is closed. The process keeps
// its game session and has a grace period to come back.
func (ps *processes) Disconnect(ctx context.Context, ref Ref) error {
	return ps.cmd.disconnect.Do(ctx, ref.Key())
}

func (ps *processes) runDisconnect(tx *store.Tx, key string) error {
	if p := ps.rows.Get(tx, key); p != nil && p.Status != Terminated && p.Connected {
		gone := *p
		gone.Away = tx.Now()
		ps.markLost(tx, &gone, ps.opts.ReconnectGrace)
		ps.record(tx, event.ProcessDisconnected, p, "")
		ps.reached(tx, &gone)
	}
	return nil
}

// reached calls the functions of OnConnection.
func (ps *processes) reached(tx *store.Tx, p *Process) {
	for _, f := range ps.connection {
		f(tx, p)
	}
}

func (ps *processes) markLost(tx *store.Tx, old *Process, grace time.Duration) {
	p := *old
	p.Connected, p.ReconnectBy = false, tx.Now().Add(grace)
	ps.put(tx, &p)
}

// ReadyInput is the content of a ProcessReady request.
type ReadyInput struct {
	Ref      Ref
	SDK      SDK
	Port     int
	LogPaths []string
}

// Ready makes the process ACTIVE (ActivateServerProcess). Repeating it is no error,
// since a client repeats a request that was not answered. A process in a container whose port
// its definition does not declare, so that nobody can reach it, begins to end instead.
// Errors: NotFound, Conflict (ready with another port).
func (ps *processes) Ready(ctx context.Context, in ReadyInput) error {
	return ps.cmd.ready.Do(ctx, in)
}

func (ps *processes) runReady(tx *store.Tx, in ReadyInput) error {
	old, err := ps.living(tx, in.Ref.Key())
	if err != nil {
		return err
	}
	port, declared := ps.hosting.Port(tx, old, in.Port)
	if old.Status == Active && old.Port == port {
		p := *old
		p.Doubt = false
		if old.Wrapped() && in.SDK.ToolName != WrapTool {
			p.SDK = in.SDK // the wrapped program manages itself from now on
		}
		if p.Doubt != old.Doubt || p.SDK != old.SDK {
			ps.put(tx, &p)
		}
		return nil
	}
	if old.Status != Initialized {
		return fault.New(fault.Conflict, "process %s is %s; it cannot become ready again", old.ID, old.Status)
	}
	if !declared {
		ps.stop(tx, old, stopArgs{why: event.ServerProcessWrongPort, grace: ps.opts.UnhealthyGrace, text: fmt.Sprintf(
			"the process listens on port %d, which no port range of its container declares; declare it in PortConfiguration, or listen on a declared port", in.Port)})
		return nil
	}
	p := *old
	p.move(Active)
	p.SDK, p.Port, p.LogPaths, p.Doubt = in.SDK, port, in.LogPaths, false
	p.Ready, p.ReadyBy = tx.Now(), time.Time{}
	ps.put(tx, &p)
	ps.record(tx, event.ProcessActive, &p, "")
	ps.hosting.Ready(tx, &p)
	return nil
}

// Hearing records that an ACTIVE process accepts pushes from now on. AWS's SDKs drop
// a push that overtakes the answer to ProcessReady, so a process gets no game session
// before this.
func (ps *processes) Hearing(ctx context.Context, ref Ref) error {
	return ps.cmd.hear.Do(ctx, ref.Key())
}

func (ps *processes) runHear(tx *store.Tx, key string) error {
	if old := ps.rows.Get(tx, key); old != nil && old.Status == Active && !old.Hearing {
		p := *old
		p.Hearing = true
		ps.put(tx, &p)
	}
	return nil
}

// Rest makes an ACTIVE process host nothing until it calls ProcessReady again, as processes
// with Server SDK 3 and 4 may. The caller has ended what it hosted.
func (ps *processes) Rest(tx *store.Tx, key string) {
	old := ps.rows.Get(tx, key)
	if old == nil || old.Status != Active {
		return
	}
	p := *old
	p.move(Initialized)
	p.GameSessionID, p.Hearing, p.Ready, p.ReadyBy = "", false, time.Time{}, tx.Now().Add(ps.opts.ReadyTimeout)
	ps.put(tx, &p)
}

type endArgs struct {
	Key  string
	Why  event.Code
	Text string
}

// CalledProcessEnding is the text of a process that ended as it should.
const CalledProcessEnding = "the process called ProcessEnding"

// End records that the process called ProcessEnding. Errors: NotFound.
func (ps *processes) End(ctx context.Context, ref Ref) error {
	return ps.cmd.end.Do(ctx, endArgs{ref.Key(), event.ProcessEnded, CalledProcessEnding})
}

// Exited records that a host, or the wrapper of its program, saw the process exit. A process
// that had not called ProcessEnding has crashed; text says how.
func (ps *processes) Exited(ctx context.Context, ref Ref, text string) error {
	err := ps.cmd.end.Do(ctx, endArgs{ref.Key(), event.ServerProcessCrashed, text})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (ps *processes) runEnd(tx *store.Tx, a endArgs) error {
	p, err := ps.living(tx, a.Key)
	if err != nil {
		return err
	}
	if p.Status == Terminating && a.Why == event.ServerProcessCrashed {
		a.Why = event.ProcessEnded // it was told to end, and did
	}
	ps.finish(tx, p, a.Why, a.Text)
	return nil
}

// Unhealthy begins to end a process that reports bad health, or does not report.
func (ps *processes) Unhealthy(ctx context.Context, ref Ref, text string) error {
	return ps.cmd.unhealthy.Do(ctx, endArgs{ref.Key(), event.ServerProcessUnhealthy, text})
}

func (ps *processes) runUnhealthy(tx *store.Tx, a endArgs) error {
	p, err := ps.living(tx, a.Key)
	if err != nil || p.Status == Terminating {
		return nil
	}
	ps.stop(tx, p, stopArgs{why: a.Why, text: a.Text, grace: ps.opts.UnhealthyGrace})
	return nil
}

// Retire tells a process to end, whose host is about to stop and ends it: that is no crash.
func (ps *processes) Retire(ctx context.Context, ref Ref) error {
	return ps.cmd.retire.Do(ctx, endArgs{ref.Key(), event.InstanceDraining, "its host stops"})
}

// RetireIdle asks a process that hosts no game session to end, and leaves others: it is about to be
// replaced.
func (ps *processes) RetireIdle(ctx context.Context, ref Ref, text string) error {
	return ps.cmd.retireIdle.Do(ctx, endArgs{ref.Key(), event.InstanceDraining, text})
}

func (ps *processes) runRetire(tx *store.Tx, a endArgs) error {
	ps.Terminate(tx, a.Key, a.Why, a.Text)
	return nil
}

func (ps *processes) runRetireIdle(tx *store.Tx, a endArgs) error {
	if p := ps.rows.Get(tx, a.Key); p != nil && p.GameSessionID == "" {
		ps.Terminate(tx, a.Key, a.Why, a.Text)
	}
	return nil
}

// Terminate tells a process to end within the stop grace; why and text are the cause.
func (ps *processes) Terminate(tx *store.Tx, key string, why event.Code, text string) {
	if p := ps.rows.Get(tx, key); p != nil && (p.Status == Active || p.Status == Initialized) {
		ps.stop(tx, p, stopArgs{why: why, text: text, grace: ps.opts.StopGrace})
	}
}

// Kill counts a process as ended now and makes its host kill it.
func (ps *processes) Kill(tx *store.Tx, key string, why event.Code, text string) {
	if p := ps.rows.Get(tx, key); p != nil && p.Status != Terminated {
		ps.finish(tx, p, why, text)
	}
}

type stopArgs struct {
	why   event.Code
	text  string
	grace time.Duration
}

func (ps *processes) stop(tx *store.Tx, old *Process, a stopArgs) {
	p := *old
	p.move(Terminating)
	p.Why, p.ReadyBy, p.StopBy = a.why, time.Time{}, tx.Now().Add(a.grace)
	ps.put(tx, &p)
	ps.record(tx, event.ProcessTerminating, &p, a.text)
	if a.why.Published() {
		ps.record(tx, a.why, &p, a.text)
	}
	for _, f := range ps.stopping {
		f(tx, &p)
	}
	by := p.StopBy
	tx.OnCommit(func() { ps.links.send(p.Key, func(l Link) { l.Terminate(by) }) })
}

// finish ends a process: in the same transaction, the packages above end what it
// hosted.
func (ps *processes) finish(tx *store.Tx, old *Process, why event.Code, text string) {
	p := *old
	p.move(Terminated)
	if !old.Why.Published() {
		p.Why = why // otherwise the first cause stays: an unhealthy process stays one, though it was ended by force
	}
	p.Connected, p.Away = false, time.Time{}
	p.Ended, p.ReadyBy, p.ReconnectBy, p.StopBy = tx.Now(), time.Time{}, time.Time{}, time.Time{}
	ps.put(tx, &p)
	ps.record(tx, why, &p, text)
	for _, f := range ps.ended {
		f(tx, &p, text)
	}
	tx.OnCommit(func() {
		ps.ends.count(p.FleetID, p.Location, p.Why)
		ps.afterEnd(p.Ref(), why, p.Ended)
	})
}

// afterEnd completes the end of a process once it is durable. The sockets of a process that
// ends itself, crashed or is killed close with it: it must not see them close earlier. A process
// whose compute was deregistered is still alive, so it is told to end before its sockets
// close.
func (ps *processes) afterEnd(ref Ref, why event.Code, ended time.Time) {
	key := ref.Key()
	switch {
	case why == event.ProcessEnded || why == event.ServerProcessCrashed || ps.CanKill(ref):
	case why == event.ComputeDeregistered:
		ps.links.send(key, func(l Link) { l.Terminate(ended.Add(ps.opts.UnhealthyGrace)) })
	default:
		ps.links.send(key, Link.Drop)
	}
	ps.links.remove(key)
	ps.hosting.Ended(ref, why)
	ps.wake()
}

// Impair sets whether a process is impaired: if so, it gets no new game sessions.
func (ps *processes) Impair(tx *store.Tx, old *Process, impaired bool) {
	if old.Impaired == impaired {
		return
	}
	p := *old
	p.Impaired = impaired
	ps.put(tx, &p)
}

// put writes a process and wakes the loop if its deadline may be the next.
func (ps *processes) put(tx *store.Tx, p *Process) {
	ps.rows.Put(tx, p)
	if !p.due().IsZero() && p.Status != Terminated {
		tx.OnCommit(ps.wake)
	}
	if p.Free() {
		ps.announceFree(tx)
	}
}

func (ps *processes) record(tx *store.Tx, code event.Code, p *Process, text string) {
	ps.events.Append(tx, event.Event{
		Code: code, FleetID: p.FleetID, Location: p.Location, ComputeName: p.ComputeName,
		ProcessID: p.ID, GameSessionID: p.GameSessionID, Message: text,
	})
}

// overdue handles the passed deadline of a process.
func (ps *processes) overdue(tx *store.Tx, p *Process) {
	switch now := tx.Now(); {
	case p.Status == Terminated:
		ps.rows.Delete(tx, p.Key)
	case wake.Passed(p.StopBy, now):
		ps.finish(tx, p, event.ServerProcessForceTerminated, "the process did not end in time after it was told to")
	case wake.Passed(p.ReconnectBy, now):
		ps.finish(tx, p, event.ServerProcessCrashed, "the process lost its connection and did not come back in time")
	case wake.Passed(p.ReadyBy, now):
		ps.stop(tx, p, stopArgs{why: event.ServerProcessReadyTimeout, grace: ps.opts.UnhealthyGrace,
			text: "the process did not call ProcessReady within " + ps.opts.ReadyTimeout.String() + " after InitSDK"})
	}
}
