package store

import (
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Tx is the transaction of a command's closure: it reads and changes the head, and
// ends when the closure returns. It must be used by that closure's goroutine only.
type Tx struct {
	store   *Store
	call    call
	now     time.Time
	seed    seed
	rand    *rand.Rand
	idsFrom uint64 // the id clock before this command
	changes []change
	rows    rows // the changes in stored form
	hooks   []func()
	over    bool
	seq     uint64 // once it has joined a group; 0 if it changed nothing

	caused    bool     // an attestation follows
	concerned []string // resources, for the attestation
}

func (tx *Tx) trees() []any {
	if tx.over {
		panic("store: transaction used after its command returned")
	}
	return nil
}

func (tx *Tx) logs() []uint64 { tx.trees(); return nil }

// Now returns the command's time: UTC, whole milliseconds, never before that of an
// earlier command. It is the same throughout the command.
func (tx *Tx) Now() time.Time { return tx.now }

// Rand returns the command's random source, seeded anew for each command. Its output
// cannot be predicted from other output.
func (tx *Tx) Rand() *rand.Rand {
	if tx.rand == nil {
		var key [32]byte
		copy(key[:], tx.seed[:])
		tx.rand = rand.New(rand.NewChaCha8(key))
	}
	return tx.rand
}

// Span returns the span of the command's caller; the zero value if that is not traced.
func (tx *Tx) Span() trace.SpanContext { return tx.call.span }

// OnCommit registers f to be called when the command is durable and published, before
// its caller is answered, in the order of commits. f must not block and must not call
// Do. It is not called if the command fails, nor in a replay.
func (tx *Tx) OnCommit(f func()) { tx.hooks = append(tx.hooks, f) }

func (tx *Tx) check(s *Store) {
	if tx.over || tx.store != s {
		panic("store: transaction used after its command returned, or on another store")
	}
}

// note records a change.
func (tx *Tx) note(c change) {
	if tx.changes == nil {
		tx.changes = make([]change, 0, 6) // most commands have no more
	}
	tx.changes = append(tx.changes, c)
}

// rollback undoes all changes, latest first.
func (tx *Tx) rollback() {
	for i := len(tx.changes) - 1; i >= 0; i-- {
		tx.changes[i].member.undo(tx.changes[i].key, tx.changes[i].old)
	}
	tx.changes, tx.hooks = nil, nil
}

// run calls f and ends the transaction; a panic in f becomes an error.
func (tx *Tx) run(f func(*Tx) error) (err error) {
	defer func() {
		tx.over = true
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: stack()}
		}
		if err != nil {
			tx.rollback()
		}
	}()
	return f(tx)
}

// PanicError is the error of a command whose closure panicked: an invariant is
// broken. It is logged with its stack, the command is undone, and it is not a fault
// of the caller.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the panic's value without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("command panicked: %v", e.Value) }
