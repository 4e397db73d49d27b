package store

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// LostCommits reports that the database no longer has commits that it had confirmed: a
// replica took over that lacked them, or an earlier copy was put in its place.
type LostCommits struct {
	Found     uint64 // the last sequence that is stored
	Confirmed uint64 // the last one that is known to have been confirmed

	// Restored is set if the rows were written again from the memory of the owner that had
	// committed them: only entries of logs, and rows archived since, are gone. Otherwise all
	// that happened since is.
	Restored bool
}

// lostEntries is how many numbers of each log are left out for every lost command whose
// entries are not known, so that none is given twice: far more than one command appends.
const lostEntries = 1 << 16

// OnLostCommits registers f to be called when lost commits are found, in the first
// transaction after that: no command runs before it. It must be called before the store is
// opened.
func (s *Store) OnLostCommits(f func(*Tx, LostCommits)) { s.onLost = append(s.onLost, f) }

// Confirmed returns the last sequence that is known to have been committed.
func (s *Store) Confirmed() uint64 {
	if sn := s.View(); sn != nil {
		return sn.Seq()
	}
	return 0
}

// knownConfirmed returns the last sequence that this node knows was confirmed by another
// owner, or by itself when it last ran. It must be called with mu held.
func (s *Store) knownConfirmed() (last uint64) {
	if s.opts.Confirmed != nil {
		last = s.opts.Confirmed()
	}
	if f := s.followed; f != nil {
		last = max(last, f.state.Fence.Seq)
	}
	return last
}

// face handles lost commits, if there are any, and returns the durable state afterwards: sn,
// or what it led to. before is the state as of the last confirmed commit, or nil if it is not
// known. It must be called while no command can run.
func (s *Store) face(ctx context.Context, sn, before *Snapshot) (*Snapshot, error) {
	l := LostCommits{Found: sn.seq, Confirmed: s.journal.confirmed, Restored: before != nil}
	if l.Found >= l.Confirmed {
		s.journal.confirmed = l.Found // with what was committed although its callers got an error
		return sn, nil
	}
	s.log.Error("the database lost commits it had confirmed", "confirmed", l.Confirmed, "found", l.Found, "restored_from_memory", l.Restored)
	err := s.keepLevel(ctx)
	var g *group
	if err == nil {
		g, err = s.prepareLost(sn, before, l)
	}
	if err == nil {
		err = s.journal.commitNow(ctx, g, sn)
	}
	if err != nil {
		return nil, fmt.Errorf("after the database lost commits: %w", err)
	}
	s.journal.metrics.lost(l.Confirmed - l.Found)
	s.published.Store(g.sealed)
	for _, hook := range g.commands[0].hooks {
		s.runHook(hook)
	}
	return g.sealed, nil
}

// keepLevel raises the feature level again if that was lost too.
func (s *Store) keepLevel(ctx context.Context) error {
	found, err := s.journal.db.Level(ctx)
	if err == nil && found < s.Level() {
		err = s.journal.db.Raise(ctx, s.Level())
	}
	return err
}

// prepareLost returns a group that makes up for lost commits as far as that is possible. Its
// sequence comes after all that were confirmed, and so do the numbers of logs.
func (s *Store) prepareLost(sn, before *Snapshot, l LostCommits) (*group, error) {
	s.head.adopt(sn)
	s.head.seq = l.Confirmed + 1
	for i, log := range s.catalog.logs {
		next := sn.last[i] + lostEntries*(l.Confirmed-l.Found)
		if before != nil {
			next = max(sn.last[i], before.last[i])
		}
		log.resume(next)
	}
	tx := s.head.begin(s, call{})
	err := tx.run(func(tx *Tx) error {
		if before != nil {
			for _, t := range s.catalog.tables {
				if err := t.restore(tx, before); err != nil {
					return err
				}
			}
		}
		for _, f := range s.onLost {
			f(tx, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.seq = s.head.seq
	g := newGroup(nil)
	g.commands, g.changed, g.sealed = []*Tx{tx}, true, s.head.seal()
	return g, nil
}

// lostTimeout bounds the commit of what makes up for lost commits.
const lostTimeout = 30 * time.Second

// commitNow makes a group durable with one attempt; durable is the state before it.
func (j *journal) commitNow(ctx context.Context, g *group, durable *Snapshot) error {
	defer j.builder.reset()
	ctx, cancel := context.WithTimeout(ctx, lostTimeout)
	defer cancel()
	batch, err := j.build(g, durable)
	if err != nil {
		return err
	}
	if err := j.db.Commit(ctx, batch); err != nil {
		return err
	}
	j.fence.Seq, j.confirmed = batch.Seq, batch.Seq
	j.recorder.write(g)
	return nil
}

// restore gives the head the rows of a snapshot. Rows that are not there were removed since,
// and are archived again if the table has an archive.
func (t *table) restore(tx *Tx, from *Snapshot) error {
	var puts []any
	var err error
	rowsIn(t, from).Scan(func(e entry) bool {
		var same bool
		if same, err = t.equal(e.row, t.get(tx, e.key)); err == nil && !same {
			puts = append(puts, e.row)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	var gone []string
	rowsIn(t, tx).Scan(func(e entry) bool {
		if rowIn(rowsIn(t, from), e.key) == nil {
			gone = append(gone, e.key)
		}
		return true
	})
	for _, key := range gone {
		t.archive(tx, key)
	}
	for _, row := range puts {
		t.put(tx, row)
	}
	return nil
}

// equal reports whether two rows are stored alike; either may be nil.
func (t *table) equal(row, other any) (bool, error) {
	if row == nil || other == nil {
		return row == nil && other == nil, nil
	}
	mine, err := t.encode(row)
	if err != nil {
		return false, err
	}
	theirs, err := t.encode(other)
	return bytes.Equal(mine, theirs), err
}
