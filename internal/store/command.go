package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/tracing"
)

// Command is a named change of state. Its effect depends only on the state, its
// arguments, and the transaction's Now, Rand and ID, so a recorded command can be run
// again.
type Command[A, R any] struct {
	store *Store
	name  string
	run   func(tx *Tx, args A) (R, error)
}

// replayer runs a recorded command on the head.
type replayer func(tx *Tx, args jsontext.Value) error

// call is the recorded part of a command.
type call struct {
	name  string // "" for Update
	actor string // who called it (WithActor)
	args  jsontext.Value
	cause jsontext.Value // the description of its cause, or nil
	span  trace.SpanContext
}

// NewCommand registers a command, before Open. It panics if the name is taken.
func NewCommand[A, R any](s *Store, name string, run func(tx *Tx, args A) (R, error)) *Command[A, R] {
	if s.catalog.fixed || s.catalog.commands[name] != nil {
		panic(fmt.Sprintf("store: command %q registered twice or after Open", name))
	}
	s.catalog.commands[name] = func(tx *Tx, raw jsontext.Value) error {
		var args A
		if err := json.Unmarshal(raw, &args, s.rowOptions); err != nil {
			return fmt.Errorf("decode arguments: %w", err)
		}
		_, err := run(tx, args)
		return err
	}
	return &Command[A, R]{store: s, name: name, run: run}
}

// Action is a command without a result.
type Action[A any] struct{ command Command[A, struct{}] }

// NewAction registers an action, as NewCommand does.
func NewAction[A any](s *Store, name string, run func(tx *Tx, args A) error) *Action[A] {
	return &Action[A]{*NewCommand(s, name, func(tx *Tx, args A) (none struct{}, err error) { return none, run(tx, args) })}
}

// Do runs the action. See Command.Do.
func (a *Action[A]) Do(ctx context.Context, args A) error {
	_, err := a.command.Do(ctx, args)
	return err
}

// Do runs the command on the head and returns once its changes are durable. A command
// that fails leaves no trace. If it fails or changes nothing, Do returns once what it
// read is durable. When ctx ends, Do stops waiting, but the command is still carried
// out.
//
// While the database is unavailable, Do waits for at most Options.Patience. It
// returns ThrottlingException if too many commands wait (with WithYield: three
// quarters as many), and InternalServiceException if the changes were not made
// durable, or not in time.
func (c *Command[A, R]) Do(ctx context.Context, args A) (R, error) {
	var result, none R
	call := call{name: c.name, actor: actorOf(ctx)}
	if c.store.journal.recorder != nil {
		raw, err := json.Marshal(args, c.store.rowOptions)
		if err != nil {
			return none, fmt.Errorf("record %s: %w", c.name, err)
		}
		call.args = raw
	}
	err := c.store.do(ctx, call, func(tx *Tx) (err error) {
		result, err = c.run(tx, args)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// Update runs a closure as an unnamed command, for tests and start-up. It is recorded
// as the changes it made, since it cannot be run again.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) error {
	return s.do(ctx, call{actor: actorOf(ctx)}, f)
}

// do carries out a command, in a span of its own if its caller is traced.
func (s *Store) do(ctx context.Context, call call, f func(*Tx) error) error {
	if call.span = tracing.Sampled(ctx); !call.span.IsValid() {
		return s.carryOut(ctx, call, f)
	}
	ctx, span := tracing.Child(ctx, "commit", trace.SpanKindInternal, attribute.String("muster.command", call.name))
	err := s.carryOut(ctx, call, f)
	tracing.End(span, err)
	return err
}

func (s *Store) carryOut(ctx context.Context, call call, f func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cause, description := describedCause(ctx)
	call.cause = description
	g, tx, err := s.runOnHead(ctx, call, s.attested(description, f))
	if g == nil {
		return err
	}
	if tx != nil {
		tx.rows.encode(tx.changes, tx.now) // an error fails the group
	}
	select {
	case <-g.answer:
	case <-ctx.Done():
		return ctx.Err()
	case <-g.late:
		if err := outlast(ctx, g.answer, s.opts.Patience); err != nil {
			return err
		}
	}
	if g.err != nil {
		return g.err
	}
	if description != nil && tx != nil && len(tx.changes) > 0 {
		cause.Attested()
	}
	return err
}

// runOnHead runs f and returns the group whose outcome the caller must wait for: the
// one that the transaction joined, or, if f failed or only read, the latest one it
// may have read from; nil if there is nothing to wait for. It returns the transaction
// only if that joined the group.
func (s *Store) runOnHead(ctx context.Context, call call, f func(*Tx) error) (*group, *Tx, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.reading.worthwhile() {
		if err := s.awaitReading(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := s.admit(ctx); err != nil {
		return nil, nil, err
	}
	tx := s.head.begin(s, call)
	if err := tx.run(f); err != nil {
		if p, ok := err.(*PanicError); ok {
			s.log.Error("command panicked", "command", call.name, "panic", p.Value, "stack", string(p.Stack))
		}
		return s.queue.latest(), nil, err
	}
	if len(tx.changes) == 0 && len(tx.hooks) == 0 {
		return s.queue.latest(), nil, nil
	}
	return s.join(tx), tx, nil
}

// admit returns an error if no command can run now.
func (s *Store) admit(ctx context.Context) error {
	switch s.phase {
	case phaseOpen:
	case phaseReloading:
		if _, err := s.Stalled(); errors.Is(err, ErrFull) {
			return fault.New(fault.InternalService, "no change can be made: %v", ErrFull)
		}
		return fault.New(fault.InternalService, "the state is being read again after a failed write; try again")
	case phaseLost:
		return fault.New(fault.InternalService, "this node does not own its cell any more; try again")
	default:
		return fault.New(fault.InternalService, "the store is not open")
	}
	return s.room(ctx, s.queue.pending)
}

// room returns an error if no more commands may wait. Commands that yield leave a
// quarter of the room to others.
func (s *Store) room(ctx context.Context, waiting int) error {
	most, yields := s.opts.MaxPending, Yields(ctx)
	if yields {
		most -= most / 4
	}
	if waiting < most {
		return nil
	}
	s.journal.metrics.refuse(yields)
	if s.outage.lasts() {
		return fault.New(fault.InternalService, "the database is away and %d writes wait for it already. Try again", waiting)
	}
	if yields {
		return fault.New(fault.Throttling, "Rate exceeded: %d writes are waiting, and what room is left is for game servers. Try again", waiting)
	}
	return fault.New(fault.Throttling, "Rate exceeded: %d writes are waiting. Try again", waiting)
}

// join adds a finished transaction to the filling group.
func (s *Store) join(tx *Tx) *group {
	q := &s.queue
	if q.filling == nil {
		q.filling = newGroup(s.outage.begun())
	}
	g := q.filling
	if len(tx.changes) > 0 {
		s.head.seq++
		tx.seq = s.head.seq
		g.changed = true
	}
	g.commands = append(g.commands, tx)
	q.pending++
	if len(g.commands) >= s.opts.MaxBatch {
		q.seal(s.head.seal())
	}
	s.wake.Send()
	return g
}
