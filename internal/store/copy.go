package store

import (
	"context"
	"fmt"
)

// CopyTo copies everything stored, as of one moment, to an empty target of any
// engine. The store need not be open, and its owner may keep running.
func (s *Store) CopyTo(ctx context.Context, target Driver) error {
	source, err := s.opts.Driver.Inspect(ctx, s.opts.Cell, s.catalog.schema())
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return copyAll(ctx, source, target, s.opts.Cell, s.catalog.schema())
}

// CopyFrom fills the store's own database, which must be empty, from a source of any
// engine. The store must not be open. The source is first migrated to this program's
// layout, as Open would.
func (s *Store) CopyFrom(ctx context.Context, source Driver) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew {
		return fmt.Errorf("copy: the store is or was open")
	}
	db, err := source.Open(ctx, s.opts.Cell, s.catalog.schema())
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if err := s.catalog.grow(ctx, db); err != nil {
		db.Close()
		return fmt.Errorf("copy: %w", err)
	}
	return copyAll(ctx, db, s.opts.Driver, s.opts.Cell, s.catalog.schema())
}

// copyAll fills to with the contents of source, and closes source.
func copyAll(ctx context.Context, source DB, to Driver, cell string, schema Schema) error {
	defer source.Close()
	target, err := to.Open(ctx, cell, schema)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	err = target.Fill(ctx, func(add func(Item) error) (State, error) {
		state, err := source.Dump(ctx, add)
		if err == nil && state.Fence.Epoch == 0 {
			err = fmt.Errorf("the source holds no cell %q", cell)
		}
		return state, err
	})
	if err == nil {
		err = target.Settle(ctx)
	}
	if closing := target.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}
