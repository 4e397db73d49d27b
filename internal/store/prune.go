package store

import (
	"context"
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

// pruning says what is to be removed at a time.
func (c *catalog) pruning(now time.Time) Pruning {
	p := Pruning{Now: now, Rows: pruneBatch, Before: make([]time.Time, len(c.logs))}
	for i, l := range c.logs {
		p.Before[i] = l.expired(now)
	}
	return p
}

// pruneAll removes batches until one is not full.
func (s *Store) pruneAll() {
	db, err := s.open()
	if err != nil {
		return
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		n, err := db.Prune(ctx, s.catalog.pruning(time.Now().UTC()))
		cancel()
		if err != nil {
			s.log.Warn("expired rows not pruned", "error", err)
			return
		}
		if n < pruneBatch || s.journal.stopping() {
			return
		}
	}
}
