package compute

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// ConnectInput is what a process says of itself when it connects.
type ConnectInput struct {
	Ref Ref
	SDK SDK
}

// Connect accepts a connection of an authenticated process: its first, or one that
// replaces a lost one. Pushes to it are sent to link from now on.
// Errors: Unauthorized if the process has ended or may not start here.
func (s *Service) Connect(ctx context.Context, in ConnectInput, link Link) (*Process, error) {
	key := in.Ref.Key()
	s.links.set(key, link)
	p, err := s.cmd.connect.Do(ctx, in)
	if err != nil && !s.Lives(s.st.View(), in.Ref) {
		s.links.remove(key)
	}
	return p, err
}

func (s *Service) runConnect(tx *store.Tx, in ConnectInput) (*Process, error) {
	old := s.t.processes.Get(tx, in.Ref.Key())
	if old == nil {
		return s.initialize(tx, in)
	}
	if old.Status == Terminated {
		return nil, fault.New(fault.Unauthorized, "process %s has ended (%s); a new run needs a new process id", old.ID, old.Why)
	}
	p := *old
	if !p.Connected {
		p.Connected, p.Away, p.ReconnectBy = true, time.Time{}, time.Time{}
		s.put(tx, &p)
		s.record(tx, event.ProcessReconnected, &p, "")
	}
	if p.Status == Terminating {
		by := p.StopBy
		tx.OnCommit(func() { s.links.send(p.Key, func(l Link) { l.Terminate(by) }) })
	}
	return &p, nil
}

func (s *Service) initialize(tx *store.Tx, in ConnectInput) (*Process, error) {
	c := s.t.computes.Get(tx, Key(in.Ref.FleetID, in.Ref.ComputeName))
	f := s.fleets.Get(tx, in.Ref.FleetID)
	at, open := s.behind(tx, c)
	if !open || f == nil || !f.TakesProcesses(c.Location) {
		return nil, fault.New(fault.Unauthorized, "fleet %s takes no new process on compute %s", in.Ref.FleetID, in.Ref.ComputeName)
	}
	p := &Process{
		Key: in.Ref.Key(), FleetID: f.ID, ComputeName: c.Name, ID: in.Ref.ProcessID, Location: c.Location,
		HostID: at.ID, Impaired: at.Impaired,
		SDK: in.SDK, Connected: true, Initialized: tx.Now(), ReadyBy: tx.Now().Add(s.opts.ReadyTimeout),
	}
	p.move(Initialized)
	s.put(tx, p)
	s.hosting.Connected(tx, p)
	s.record(tx, event.ProcessInitialized, p, in.SDK.Language+" "+in.SDK.Version)
	return p, nil
}

// behind returns the host of a compute, if it has one, and whether a new process may
// start there.
func (s *Service) behind(r store.Reader, c *Compute) (at Host, open bool) {
	if c == nil || c.InstanceID == "" {
		return Host{}, c != nil
	}
	return s.hosting.Behind(r, c)
}

// Disconnect records that the last socket of a process is closed. The process keeps
// its game session and has a grace to come back.
func (s *Service) Disconnect(ctx context.Context, ref Ref) error {
	_, err := s.cmd.disconnect.Do(ctx, ref.Key())
	return err
}

func (s *Service) runDisconnect(tx *store.Tx, key string) (struct{}, error) {
	if p := s.t.processes.Get(tx, key); p != nil && p.Status != Terminated && p.Connected {
		gone := *p
		gone.Away = tx.Now()
		s.markLost(tx, &gone, s.opts.ReconnectGrace)
		s.record(tx, event.ProcessDisconnected, p, "")
	}
	return struct{}{}, nil
}

func (s *Service) markLost(tx *store.Tx, old *Process, grace time.Duration) {
	p := *old
	p.Connected, p.ReconnectBy = false, tx.Now().Add(grace)
	s.put(tx, &p)
}

// ReadyInput is what a process says in ProcessReady.
type ReadyInput struct {
	Ref      Ref
	SDK      SDK
	Port     int
	LogPaths []string
}

// Ready makes the process ACTIVE (ActivateServerProcess). Repeating it is no error,
// since a client repeats a request that was not answered.
// Errors: NotFound, Conflict (ready with another port).
func (s *Service) Ready(ctx context.Context, in ReadyInput) error {
	_, err := s.cmd.ready.Do(ctx, in)
	return err
}

func (s *Service) runReady(tx *store.Tx, in ReadyInput) (struct{}, error) {
	old, err := s.living(tx, in.Ref.Key())
	if err != nil {
		return struct{}{}, err
	}
	if old.Status == Active && old.Port == in.Port {
		return struct{}{}, nil
	}
	if old.Status != Initialized {
		return struct{}{}, fault.New(fault.Conflict, "process %s is %s; it cannot become ready again", old.ID, old.Status)
	}
	p := *old
	p.move(Active)
	p.SDK, p.Port, p.LogPaths = in.SDK, in.Port, in.LogPaths
	p.Ready, p.ReadyBy = tx.Now(), time.Time{}
	s.put(tx, &p)
	s.record(tx, event.ProcessActive, &p, "")
	s.hosting.Ready(tx, &p)
	return struct{}{}, nil
}

// Hearing records that an ACTIVE process accepts pushes from now on. AWS's SDKs drop
// a push that overtakes the answer to ProcessReady, so a process gets no game session
// before this.
func (s *Service) Hearing(ctx context.Context, ref Ref) error {
	_, err := s.cmd.hear.Do(ctx, ref.Key())
	return err
}

func (s *Service) runHear(tx *store.Tx, key string) (struct{}, error) {
	if old := s.t.processes.Get(tx, key); old != nil && old.Status == Active && !old.Hearing {
		p := *old
		p.Hearing = true
		s.put(tx, &p)
	}
	return struct{}{}, nil
}

type endArgs struct {
	Key  string
	Why  event.Code
	Text string
}

// End records that the process called ProcessEnding. Errors: NotFound.
func (s *Service) End(ctx context.Context, ref Ref) error {
	_, err := s.cmd.end.Do(ctx, endArgs{ref.Key(), event.ProcessEnded, "the process called ProcessEnding"})
	return err
}

// Exited records that a host saw the process exit. A process that had not called
// ProcessEnding has crashed; text says how.
func (s *Service) Exited(ctx context.Context, ref Ref, text string) error {
	_, err := s.cmd.end.Do(ctx, endArgs{ref.Key(), event.ServerProcessCrashed, text})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func (s *Service) runEnd(tx *store.Tx, a endArgs) (struct{}, error) {
	p, err := s.living(tx, a.Key)
	if err != nil {
		return struct{}{}, err
	}
	if p.Status == Terminating && a.Why == event.ServerProcessCrashed {
		a.Why = event.ProcessEnded // it was told to end, and did
	}
	s.finish(tx, p, a.Why, a.Text)
	return struct{}{}, nil
}

// Unhealthy begins the end of a process that reports bad health, or none.
func (s *Service) Unhealthy(ctx context.Context, ref Ref, text string) error {
	_, err := s.cmd.unhealthy.Do(ctx, endArgs{ref.Key(), event.ServerProcessUnhealthy, text})
	return err
}

func (s *Service) runUnhealthy(tx *store.Tx, a endArgs) (struct{}, error) {
	p, err := s.living(tx, a.Key)
	if err != nil || p.Status == Terminating {
		return struct{}{}, nil
	}
	s.stop(tx, p, stopArgs{why: a.Why, text: a.Text, grace: s.opts.UnhealthyGrace})
	return struct{}{}, nil
}

// Terminate tells a process to end within the stop grace; why and text are the cause.
func (s *Service) Terminate(tx *store.Tx, key string, why event.Code, text string) {
	if p := s.t.processes.Get(tx, key); p != nil && (p.Status == Active || p.Status == Initialized) {
		s.stop(tx, p, stopArgs{why: why, text: text, grace: s.opts.StopGrace})
	}
}

// Kill counts a process as ended now and makes its host kill it.
func (s *Service) Kill(tx *store.Tx, key string, why event.Code, text string) {
	if p := s.t.processes.Get(tx, key); p != nil && p.Status != Terminated {
		s.finish(tx, p, why, text)
	}
}

type stopArgs struct {
	why   event.Code
	text  string
	grace time.Duration
}

func (s *Service) stop(tx *store.Tx, old *Process, a stopArgs) {
	p := *old
	p.move(Terminating)
	p.Why, p.ReadyBy, p.StopBy = a.why, time.Time{}, tx.Now().Add(a.grace)
	s.put(tx, &p)
	s.record(tx, event.ProcessTerminating, &p, a.text)
	if a.why.Published() {
		s.record(tx, a.why, &p, a.text)
	}
	for _, f := range s.stopping {
		f(tx, &p)
	}
	by := p.StopBy
	tx.OnCommit(func() { s.links.send(p.Key, func(l Link) { l.Terminate(by) }) })
}

// finish ends a process: in the same transaction, the packages above end what it
// hosted.
func (s *Service) finish(tx *store.Tx, old *Process, why event.Code, text string) {
	p := *old
	p.move(Terminated)
	if !old.Why.Published() {
		p.Why = why // otherwise the first cause stays: an unhealthy process stays one, though it was ended by force
	}
	p.Connected, p.Away = false, time.Time{}
	p.Ended, p.ReadyBy, p.ReconnectBy, p.StopBy = tx.Now(), time.Time{}, time.Time{}, time.Time{}
	s.put(tx, &p)
	s.record(tx, why, &p, text)
	for _, f := range s.ended {
		f(tx, &p)
	}
	tx.OnCommit(func() { s.after(p.Ref(), why, p.Ended) })
}

// after completes the end of a process once it is durable. The sockets of one that ends
// itself or is killed close with it: it must not see them close before. One whose
// compute was deregistered is still alive, so it is told to end before its sockets close.
func (s *Service) after(ref Ref, why event.Code, ended time.Time) {
	key := ref.Key()
	switch {
	case why == event.ProcessEnded || s.CanKill(ref):
	case why == event.ComputeDeregistered:
		s.links.send(key, func(l Link) { l.Terminate(ended.Add(s.opts.UnhealthyGrace)) })
	default:
		s.links.send(key, Link.Drop)
	}
	s.links.remove(key)
	s.hosting.Ended(ref, why)
	s.loop.Nudge()
}

// Impair marks a process as impaired, or not any more: it gets no new game sessions.
func (s *Service) Impair(tx *store.Tx, old *Process, impaired bool) {
	if old.Impaired == impaired {
		return
	}
	p := *old
	p.Impaired = impaired
	s.put(tx, &p)
}

// put writes a process and wakes the loop if its deadline may be the next.
func (s *Service) put(tx *store.Tx, p *Process) {
	s.t.processes.Put(tx, p)
	if !p.due().IsZero() && p.Status != Terminated {
		tx.OnCommit(s.loop.Nudge)
	}
	if p.Free() {
		s.nowFree(tx)
	}
}

func (s *Service) living(r store.Reader, key string) (*Process, error) {
	p := s.t.processes.Get(r, key)
	if p == nil || p.Status == Terminated {
		return nil, fault.Missing("process %s is not known or has ended", ParseRef(key).ProcessID)
	}
	return p, nil
}

func (s *Service) record(tx *store.Tx, code event.Code, p *Process, text string) {
	s.events.Append(tx, event.Event{
		Code: code, FleetID: p.FleetID, Location: p.Location, ComputeName: p.ComputeName,
		ProcessID: p.ID, GameSessionID: p.GameSessionID, Message: text,
	})
}
