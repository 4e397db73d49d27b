package store

import (
	"context"
	"slices"
)

// memoryCommit is what a commit wrote and removed.
type memoryCommit struct {
	before, seq, mark uint64
	rows              []ChangedRow // without documents
}

// commitsKept is how many commits a Memory can tell the changes of.
const commitsKept = 1000

// Connect is Open. From then on, commits are kept for Changes.
func (m *Memory) Connect(ctx context.Context, cell string, schema Schema) (DB, error) {
	db, err := m.Open(ctx, cell, schema)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells[cell].followed = true
	return db, err
}

// keep keeps what a batch changed. It must be called with mu held.
func (db *memoryDB) keep(b *Batch) {
	c := db.cell
	if !c.followed {
		return
	}
	c.marks++
	one := memoryCommit{before: b.Fence.Seq, seq: b.Seq, mark: c.marks}
	for _, tb := range b.Tables {
		for _, key := range tb.Deletes {
			one.rows = append(one.rows, ChangedRow{Table: tb.Table, Key: key})
		}
		for _, row := range tb.Puts {
			one.rows = append(one.rows, ChangedRow{Table: tb.Table, Key: row.Key})
		}
	}
	c.commits = append(c.commits, one)
	if len(c.commits) > commitsKept {
		c.commits = slices.Delete(c.commits, 0, commitsKept/2)
	}
}

// Changes reads the rows that commits after since have written or removed.
func (db *memoryDB) Changes(_ context.Context, since State) (Changes, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	changes := Changes{State: db.state()}
	at := since.Fence.Seq
	for _, one := range db.cell.commits {
		switch {
		case one.seq < since.Fence.Seq:
			continue
		case one.seq == since.Fence.Seq:
			if one.mark != since.Mark && since.Mark != 0 {
				return Changes{}, ErrGap
			}
			continue
		case one.before != at:
			return Changes{}, ErrGap
		}
		at = one.seq
		changes.Rows = append(changes.Rows, one.rows...)
	}
	if at != changes.State.Fence.Seq {
		return Changes{}, ErrGap
	}
	for i, row := range changes.Rows {
		if found, ok := db.table(row.Table).live[row.Key]; ok {
			changes.Rows[i].Doc = found.Doc
		}
	}
	return changes, nil
}
