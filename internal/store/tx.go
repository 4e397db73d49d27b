package store

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Tx is what a command's closure works with: it reads the head, changes it, and
// is over when the closure returns. It belongs to that closure's goroutine.
type Tx struct {
	store   *Store
	actor   string
	now     time.Time
	seed    seed
	rand    *rand.Rand
	idsFrom uint64 // the id clock before this command
	changes []change
	before  []any // what each change replaced: a *V, possibly nil
	rows    rows  // the changes as they are stored
	hooks   []func()
	over    bool

	caused    bool     // an attestation follows
	concerned []string // resources, for it
}

func (tx *Tx) trees() []any {
	if tx.over {
		panic("store: transaction used after its command returned")
	}
	return nil
}

func (tx *Tx) logs() []uint64 { tx.trees(); return nil }

// Now is the command's one moment: UTC, whole milliseconds, never before the
// moment of an earlier command.
func (tx *Tx) Now() time.Time { return tx.now }

// Rand is the command's source of chance, seeded anew for each command. Of what it
// gave nobody can tell what else it gives.
func (tx *Tx) Rand() *rand.Rand {
	if tx.rand == nil {
		var key [32]byte
		copy(key[:], tx.seed[:])
		tx.rand = rand.New(rand.NewChaCha8(key))
	}
	return tx.rand
}

// OnCommit has f called once the command is durable and published, before its
// caller is answered, in the order of commits. f must not block and must not
// call Do. It is not called when the command fails, nor in a replay.
func (tx *Tx) OnCommit(f func()) { tx.hooks = append(tx.hooks, f) }

func (tx *Tx) check(s *Store) {
	if tx.over || tx.store != s {
		panic("store: transaction used after its command returned, or on another store")
	}
}

// note remembers a change and what it replaced.
func (tx *Tx) note(c change, old any) {
	tx.changes = append(tx.changes, c)
	tx.before = append(tx.before, old)
}

// rollback undoes all changes, latest first.
func (tx *Tx) rollback() {
	for i := len(tx.changes) - 1; i >= 0; i-- {
		tx.changes[i].member.undo(tx.changes[i].key, tx.before[i])
	}
	tx.changes, tx.before, tx.hooks = nil, nil, nil
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

// PanicError is what a command returns whose closure panicked. It is an
// invariant broken: logged with its stack, undone, and no fault for the caller.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the panic's value without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("command panicked: %v", e.Value) }
