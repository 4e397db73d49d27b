package store

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/internal/feature"
)

// Level returns the cell's feature level: what commands may write. It is 0 before Open.
func (s *Store) Level() feature.Level { return feature.Level(s.level.Load()) }

// Raise raises the cell's feature level. The caller has checked that every node of the cell
// knows it. A level that is not higher changes nothing.
func (s *Store) Raise(ctx context.Context, level feature.Level) error {
	if level <= s.Level() {
		return nil
	}
	_, err := ask(ctx, s, func(ctx context.Context, db DB) (struct{}, error) { return struct{}{}, db.Raise(ctx, level) })
	if err != nil {
		return fmt.Errorf("raise the feature level to %d: %w", level, err)
	}
	s.level.Store(int64(level))
	s.log.Info("the cell's feature level is raised", "level", level, "needs", level.Release())
	return nil
}
