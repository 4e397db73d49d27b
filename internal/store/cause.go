package store

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// Cause is the request on whose behalf commands are called, for audit. It travels in
// the context, so no caller of a command can forget it.
type Cause interface {
	// Describe returns what an attestation needs, or nil if none is needed (any
	// more). It is recorded with the command.
	Describe() jsontext.Value
	// Attested is called when an attested command is durable.
	Attested()
}

type causeKey struct{}

// WithCause returns a context whose commands have the given cause.
func WithCause(ctx context.Context, cause Cause) context.Context {
	return context.WithValue(ctx, causeKey{}, cause)
}

// CauseOf returns the cause set by WithCause, or nil.
func CauseOf(ctx context.Context) Cause {
	cause, _ := ctx.Value(causeKey{}).(Cause)
	return cause
}

func describedCause(ctx context.Context) (Cause, jsontext.Value) {
	cause := CauseOf(ctx)
	if cause == nil {
		return nil, nil
	}
	return cause, cause.Describe()
}

// OnCause registers f to run at the end of each command that changed something and
// has a cause, in its transaction: the changes that f makes are committed if and only
// if the command's are. A replay runs f again. Call OnCause before Open, once.
func (s *Store) OnCause(f func(tx *Tx, cause jsontext.Value)) {
	if s.phase != phaseNew || s.attest != nil {
		panic("store: OnCause was called twice or after Open")
	}
	s.attest = f
}

// attested wraps f so that it runs the attestation of its cause.
func (s *Store) attested(cause jsontext.Value, f func(*Tx) error) func(*Tx) error {
	if cause == nil || s.attest == nil {
		return f
	}
	return func(tx *Tx) error {
		tx.caused = true
		if err := f(tx); err != nil || len(tx.changes) == 0 {
			return err
		}
		s.attest(tx, cause)
		return nil
	}
}

// Concerns names a resource that the command is about, for the attestation of its
// cause; "" is ignored.
func (tx *Tx) Concerns(resource string) {
	if tx.caused && resource != "" {
		tx.concerned = append(tx.concerned, resource)
	}
}

// Concerned returns the resources passed to Concerns, in order.
func (tx *Tx) Concerned() []string { return tx.concerned }
