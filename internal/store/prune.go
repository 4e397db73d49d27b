package store

import (
	"context"
	"fmt"
	"time"
)

const (
	pruneEvery = time.Minute
	pruneBatch = 500 // rows per transaction, so that commits wait only briefly
)

// keepPruning removes expired archive rows and log entries until the store stops.
func (s *Store) keepPruning() {
	ticker := time.NewTicker(pruneEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.lost:
			return
		case <-ticker.C:
			s.pruneAll()
		}
	}
}

// prune removes a batch of what has expired, and returns how many rows that were.
func (s *Store) prune(db DB) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	now := time.Now().UTC()
	p := Pruning{Now: now, Rows: pruneBatch, Before: make([]time.Time, len(s.catalog.logs))}
	for i, l := range s.catalog.logs {
		var err error
		if p.Before[i], err = l.expired(ctx, now, db); err != nil {
			return 0, fmt.Errorf("read log %s: %w", l.name(), err)
		}
	}
	return db.Prune(ctx, p)
}

// pruneAll removes batches until one is not full.
func (s *Store) pruneAll() {
	db, err := s.open()
	if err != nil {
		return
	}
	for {
		n, err := s.prune(db)
		if err != nil {
			s.log.Warn("expired rows not pruned", "error", err)
			return
		}
		if n < pruneBatch || s.journal.stopping() {
			return
		}
	}
}
