package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	followEvery = 250 * time.Millisecond // between two readings of what the owner has committed
	followAgain = 2 * time.Second        // until another attempt, after a failed one

	catchUpTimeout = 10 * time.Second // for one reading of changes

	tablesMade = 30 * time.Second // until then servers that started together may have no tables
)

// follower keeps the head like the durable state while another node owns the cell, so that
// Open reads only what was committed last.
type follower struct {
	store  *Store
	cancel context.CancelFunc
	done   chan struct{} // closed when nothing is read any more
	begun  time.Time
	turn   sync.Mutex // held while the database is read and the head changed

	// The store's mu guards these.
	state State     // that the head has; only who has the turn changes it
	warm  bool      // the head has a state
	fresh time.Time // when it was the durable one
	err   error     // why it is not, if the last attempt failed
	told  bool      // that there are difficulties
}

// Standby tells how ready a standby is to take over.
type Standby struct {
	Warm   bool          // the state is in memory
	Behind time.Duration // how long ago it was compared with what is durable; 0 unless Warm
	Err    error         // of the last attempt to compare or to read it; nil if that succeeded
}

// ErrCold reports that a standby has not read the state.
var ErrCold = errors.New("the state has not been read yet")

// errTables reports that an owner of this release has not made the tables of the database, or
// not yet, as when several servers are started for the first time.
var errTables = errors.New("the tables of the database are not those of this release")

// Follow keeps the state in memory, and up to date, until ctx ends, Open needs it, or the
// store is closed. Other nodes may own the cell. If the database cannot tell what
// has changed, Follow reads everything again.
func (s *Store) Follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := s.beginFollowing(cancel)
	if f == nil {
		return
	}
	defer close(f.done)
	for {
		pause := followEvery
		err := f.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.note(err); err != nil {
			pause = followAgain
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// beginFollowing returns the store's follower; nil if there is one, or the store was opened
// or closed.
func (s *Store) beginFollowing(cancel context.CancelFunc) *follower {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew || s.followed != nil {
		return nil
	}
	s.followed = &follower{store: s, cancel: cancel, done: make(chan struct{}), begun: time.Now(), err: ErrCold}
	return s.followed
}

// endFollowing ends Follow. What that was reading is given up: its connection may be one
// that nobody answers any more.
func (s *Store) endFollowing() {
	s.mu.Lock()
	f := s.followed
	s.mu.Unlock()
	if f != nil {
		f.cancel()
		<-f.done
	}
}

// Standby returns how ready the store is to be opened.
func (s *Store) Standby() Standby {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.followed
	if f == nil {
		return Standby{Err: ErrCold}
	}
	b := Standby{Warm: f.warm, Err: f.err}
	if f.warm {
		b.Behind = time.Since(f.fresh)
	}
	return b
}

// note keeps the outcome of a step, and logs the beginning and the end of difficulties.
func (f *follower) note(err error) {
	s := f.store
	s.mu.Lock()
	before, told, seq := f.err, f.told, f.state.Fence.Seq
	waits := errors.Is(err, errTables) && time.Since(f.begun) < tablesMade
	f.err, f.told = err, err != nil && !waits
	s.mu.Unlock()
	switch {
	case err == nil && before != nil:
		s.log.Info("the state is in memory, ready to take over", "seq", seq)
	case waits && errors.Is(before, ErrCold):
		s.log.Info("the database does not have all tables of this release yet; the state is read when its owner has made them")
	case err != nil && !waits && !told:
		s.log.Warn("the state in memory does not follow the owner's; taking over would take longer", "error", err)
	}
}

// step reads what was committed since the last step, or everything.
func (f *follower) step(ctx context.Context) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	db, err := f.connection(ctx)
	if err != nil {
		return err
	}
	reader, ok := db.(changeReader)
	if !ok {
		return errors.New("the database does not tell what has changed")
	}
	if f.warm {
		err := f.catchUp(ctx, reader)
		if !errors.Is(err, ErrGap) {
			return err
		}
		f.store.log.Info("the state is read again", "reason", err)
	}
	return f.readAll(ctx, db)
}

// connection returns the connection that Prepare made, or makes it.
func (f *follower) connection(ctx context.Context) (DB, error) {
	s := f.store
	prepared := func() DB {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.prepared
	}
	if db := prepared(); db != nil {
		return db, nil
	}
	if err := s.Prepare(ctx); err != nil {
		return nil, err
	}
	if db := prepared(); db != nil {
		return db, nil
	}
	return nil, errTables
}

// readAll reads the whole state, unless this program does not know its feature level, and so
// cannot own it.
func (f *follower) readAll(ctx context.Context, db DB) error {
	s := f.store
	f.cool()
	if _, err := db.Level(ctx); err != nil {
		return fmt.Errorf("read feature level: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	at := time.Now()
	sn, state, err := s.catalog.load(ctx, db)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head.adopt(sn)
	f.warm, f.state, f.fresh = true, state, at
	return nil
}

// cool forgets the state.
func (f *follower) cool() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.warm = false
	f.store.head.adopt(f.store.catalog.empty())
}

// catchUp applies what was committed since the follower's state.
func (f *follower) catchUp(ctx context.Context, db changeReader) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	at := time.Now()
	changes, err := db.Changes(ctx, f.state)
	if err != nil {
		return err
	}
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if err := f.apply(changes); err != nil {
		f.warm = false
		return err
	}
	f.fresh = at
	return nil
}

// apply makes changes on the head. It must be called with the store's mu held. If it fails,
// the head is no state of the cell.
func (f *follower) apply(c Changes) (err error) {
	s := f.store
	defer func() {
		if p := recover(); p != nil { // in a function of a table
			err = &PanicError{Value: p, Stack: stack()}
		}
	}()
	for _, row := range c.Rows {
		if err := s.catalog.tables[row.Table].replace(row.Key, row.Doc); err != nil {
			return err
		}
	}
	for i, l := range s.catalog.logs {
		l.resume(c.State.Last[i])
	}
	s.head.seq, f.state = c.State.Fence.Seq, c.State
	return nil
}

// newest returns the durable state of a cell that this store has taken: the follower's with
// what it lacks, or all read from SQL. It must be called with mu held.
func (s *Store) newest(ctx context.Context, db DB) (*Snapshot, State, error) {
	if f := s.followed; f != nil && f.warm {
		f.warm = false // the head is the owner's from now on
		sn, err := f.finish(ctx, db)
		if err == nil {
			s.log.Info("the state was in memory", "seq", sn.seq)
			return sn, f.state, nil
		}
		s.log.Warn("the state in memory cannot be used; everything is read", "error", err)
	}
	return s.catalog.load(ctx, db)
}

// finish returns the durable state of the cell, which has no other owner any more.
func (f *follower) finish(ctx context.Context, db DB) (*Snapshot, error) {
	reader, ok := db.(changeReader)
	if !ok {
		return nil, ErrGap
	}
	changes, err := reader.Changes(ctx, f.state)
	if err != nil {
		return nil, err
	}
	if err := f.apply(changes); err != nil {
		return nil, err
	}
	return f.store.head.seal(), nil
}

// CheckFollowed compares the state that Follow keeps with what a new owner would read from
// SQL: rows, indexes, sequence and log numbers. The owner may go on committing. If they
// differ, the error is a *DiffersError, and what was read is followed from then on.
func (s *Store) CheckFollowed(ctx context.Context) error {
	s.mu.Lock()
	f, db := s.followed, s.prepared
	s.mu.Unlock()
	reader, ok := db.(changeReader)
	if f == nil || !ok {
		return ErrCold
	}
	f.turn.Lock()
	defer f.turn.Unlock()
	stored, state, err := s.catalog.load(ctx, db)
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	if !s.Standby().Warm {
		return ErrCold
	}
	since := f.state
	if state.Fence.Seq < since.Fence.Seq {
		since = state
	}
	changes, err := reader.Changes(ctx, since)
	if err != nil {
		return fmt.Errorf("read changes: %w", err)
	}
	mine, theirs, err := f.meet(stored, changes)
	if err != nil {
		return err
	}
	if err := mine.differs(theirs); err != nil {
		return &DiffersError{err}
	}
	return nil
}

// DiffersError reports that the state in memory is not what is durable, which is a fault of
// the program.
type DiffersError struct{ Err error }

func (e *DiffersError) Error() string { return e.Err.Error() }

// meet brings the head and a stored state to the state that changes lead to, and makes the
// latter the head.
func (f *follower) meet(stored *Snapshot, changes Changes) (mine, theirs *Snapshot, err error) {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseNew {
		return nil, nil, ErrCold
	}
	f.warm = false // unless all is applied
	if err := f.apply(changes); err != nil {
		return nil, nil, err
	}
	mine = s.head.seal()
	s.head.adopt(stored)
	if err := f.apply(changes); err != nil {
		return nil, nil, err
	}
	f.warm = true
	return mine, s.head.seal(), nil
}
