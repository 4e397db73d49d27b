package store

import (
	"context"
	"fmt"
)

// CopyTo copies everything that is kept, as it was at one moment, to an empty
// target of any engine. The store need not be open, and its owner may work on.
func (s *Store) CopyTo(ctx context.Context, target Driver) error {
	return s.copy(ctx, s.opts.Driver, target)
}

// CopyFrom fills the store's own database, which must be empty, from a source of
// any engine. The store must not be open.
func (s *Store) CopyFrom(ctx context.Context, source Driver) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew {
		return fmt.Errorf("copy: the store is or was open")
	}
	return s.copy(ctx, source, s.opts.Driver)
}

func (s *Store) copy(ctx context.Context, from, to Driver) error {
	source, err := from.Inspect(ctx, s.opts.Cell, s.schema())
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	defer source.Close()
	target, err := to.Open(ctx, s.opts.Cell, s.schema())
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	err = target.Fill(ctx, func(add func(Item) error) (State, error) {
		state, err := source.Dump(ctx, add)
		if err == nil && state.Fence.Epoch == 0 {
			err = fmt.Errorf("the source holds no cell %q", s.opts.Cell)
		}
		return state, err
	})
	if closing := target.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}
