package store

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/wake"
)

const (
	pruneEvery = time.Minute
	pruneBatch = 500 // rows per transaction, so that commits wait only briefly
)

// keepPruning removes expired archive rows and log entries until the store stops.
func (s *Store) keepPruning() {
	s.each(pruneEvery, nil, s.pruneAll)
}

// keepPartitions drops expired partitions and creates those that come next, until the store
// stops.
func (s *Store) keepPartitions() {
	db, err := s.open()
	if err != nil {
		return
	}
	parts, ok := db.(partitioner)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.stop:
		case <-s.lost:
		case <-ctx.Done():
		}
		cancel()
	}()
	partition := func() {
		if s.Level() < feature.Packed {
			return
		}
		if err := parts.Partition(ctx, s.pruning(time.Now().UTC())); err != nil && ctx.Err() == nil {
			s.log.Warn("partitions of what has ended are not kept", "error", err)
		}
	}
	partition()
	s.each(pruneEvery, s.raised, partition)
}

// each calls f at intervals, and after each nudge, until the store stops.
func (s *Store) each(every time.Duration, nudge wake.Nudge, f func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.lost:
			return
		case <-nudge:
		case <-ticker.C:
		}
		f()
	}
}

// pruning says what is to be removed at a time.
func (s *Store) pruning(now time.Time) Pruning {
	p := Pruning{Now: now, Rows: pruneBatch, Before: make([]time.Time, len(s.catalog.logs))}
	for i, l := range s.catalog.logs {
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
		n, err := db.Prune(ctx, s.pruning(time.Now().UTC()))
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
