package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

func (o *Options) setDefaults() {
	o.Cell = cmp.Or(o.Cell, "default")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.MaxBatch = cmp.Or(o.MaxBatch, 512)
	o.MaxPending = cmp.Or(o.MaxPending, 8192)
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	if o.Owner == "" {
		host, _ := os.Hostname()
		o.Owner = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
}

// Prepare does the part of Open that is possible while another node owns the cell,
// which shortens a takeover.
func (s *Store) Prepare(ctx context.Context) error {
	driver, ok := s.opts.Driver.(connector)
	if !ok {
		return nil
	}
	db, err := driver.Connect(ctx, s.opts.Cell, s.catalog.schema())
	if err != nil || db == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew || s.prepared != nil {
		return db.Close()
	}
	s.prepared = db
	return nil
}

// connect opens the database. It must be called with mu held.
func (s *Store) connect(ctx context.Context) (DB, error) {
	if db := s.prepared; db != nil {
		s.prepared = nil
		return db, nil
	}
	return s.opts.Driver.Open(ctx, s.opts.Cell, s.catalog.schema())
}

// Open migrates the database, takes the fence (which ends any other ownership), reads
// the state, or what Follow has not read of it, and starts the journal. ctx applies to the opening only.
func (s *Store) Open(ctx context.Context) error {
	s.endFollowing()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew {
		return fmt.Errorf("open store: it was opened before")
	}
	db, err := s.connect(ctx)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	if err := s.start(ctx, db); err != nil {
		db.Close()
		return err
	}
	return nil
}

// Inspect opens the store read-only, even while an owner has it open: its View and
// logs can be read, and no command runs. Close ends it.
func (s *Store) Inspect(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew {
		return fmt.Errorf("inspect store: it was opened before")
	}
	db, err := s.opts.Driver.Inspect(ctx, s.opts.Cell, s.catalog.schema())
	if err != nil {
		return fmt.Errorf("inspect store: %w", err)
	}
	var sn *Snapshot
	if _, err = db.Level(ctx); err == nil {
		sn, _, err = s.catalog.load(ctx, db)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("inspect store: %w", err), db.Close())
	}
	s.head.adopt(sn)
	s.published.Store(sn)
	s.db, s.phase, s.catalog.fixed = db, phaseInspected, true
	return nil
}

// start takes the cell and starts the journal. It must be called with mu held. The
// owner's name gets a random suffix, so that no two openings have the same.
func (s *Store) start(ctx context.Context, db DB) error {
	fence, err := db.Take(ctx, s.opts.Owner+"/"+rand.Text()[:8])
	if err != nil {
		return fmt.Errorf("take cell %s: %w", s.opts.Cell, err)
	}
	level, err := db.Level(ctx)
	if err != nil {
		return fmt.Errorf("read feature level: %w", err)
	}
	s.level.Store(int64(level))
	if err := s.catalog.grow(ctx, db); err != nil {
		return err
	}
	confirmed := s.knownConfirmed()
	sn, state, err := s.newest(ctx, db)
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	recorder, err := newRecorder(s.opts.Record, s.opts.Cell, s.log, sn)
	if err != nil {
		return err
	}
	s.head.seeds = newSeeder()
	if s.head.clock, err = clockAfter(ctx, db, state.Now); err != nil {
		return err
	}
	s.head.ids = lastIDOf(s.head.clock.last)
	fence.Seq = state.Fence.Seq
	s.journal.db, s.journal.fence, s.journal.confirmed = db, fence, max(fence.Seq, confirmed)
	s.journal.recorder, s.journal.metrics = recorder, newMetrics(s.opts.Registerer, s)
	if sn, err = s.face(ctx, sn, nil); err != nil {
		return err
	}
	s.head.adopt(sn)
	s.published.Store(sn)
	s.db, s.phase, s.catalog.fixed = db, phaseOpen, true
	s.running.Go(s.keepJournal)
	s.running.Go(s.keepPruning)
	return nil
}

// Close makes everything accepted durable, stops the store and releases the database.
// It may be called more than once and on a store that was never opened.
func (s *Store) Close() error {
	s.endFollowing()
	s.mu.Lock()
	was := s.phase
	if was == phaseInspected {
		defer s.mu.Unlock()
		s.phase = phaseClosed
		return s.db.Close()
	}
	if was != phaseLost {
		s.phase = phaseClosed
	}
	s.catalog.fixed = true
	s.reading.end()
	s.reading = nil
	prepared := s.prepared
	s.prepared = nil
	s.mu.Unlock()
	if prepared != nil {
		prepared.Close()
	}
	if was == phaseNew || was == phaseClosed {
		return nil
	}
	s.stopOnce.Do(func() { close(s.stop) })
	s.wake.Send()
	s.running.Wait()
	return s.release()
}

// release closes the files when nothing runs any more.
func (s *Store) release() error {
	s.mu.Lock()
	db := s.db
	s.db, s.phase = nil, phaseClosed
	s.mu.Unlock()
	if db == nil {
		return nil
	}
	s.catalog.discardEnded()
	s.journal.metrics.unregister()
	if err := s.journal.recorder.close(s.View()); err != nil {
		s.log.Error("recording not finished", "error", err)
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}
