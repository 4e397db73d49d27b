package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/feature"
)

// Memory is a driver without a disk: its state lasts as long as the value. A second
// store opened on it finds what the first one committed, which is how tests simulate
// a crash.
type Memory struct {
	mu    sync.Mutex
	cells map[string]*memoryCell
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{cells: map[string]*memoryCell{}} }

type memoryCell struct {
	level  feature.Level
	grown  string // signature of the schema whose columns all rows have
	fence  Fence
	now    time.Time
	tables map[string]*memoryTable
	logs   map[string]*memoryLog

	followed bool // commits are kept
	commits  []memoryCommit
	marks    uint64 // the last one given
}

type memoryTable struct {
	live    map[string]StoredRow
	archive map[string]StoredRow // Time is when it was archived
	holder  map[held]string      // the row that has a unique value
}

// held is a value of a unique column.
type held struct {
	column, value string
}

func newMemoryTable() *memoryTable {
	return &memoryTable{live: map[string]StoredRow{}, archive: map[string]StoredRow{}, holder: map[held]string{}}
}

type memoryLog struct {
	last    uint64
	entries []StoredEntry
}

// memoryDB is a cell opened with a schema.
type memoryDB struct {
	*Memory
	cell   *memoryCell
	schema Schema
}

// Open returns the cell's state, empty at first.
func (m *Memory) Open(_ context.Context, cell string, schema Schema) (DB, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.cells[cell]
	if c == nil {
		c = &memoryCell{level: feature.First, tables: map[string]*memoryTable{}, logs: map[string]*memoryLog{}}
		m.cells[cell] = c
	}
	for _, t := range schema.Tables {
		if c.tables[t.Name] == nil {
			c.tables[t.Name] = newMemoryTable()
		}
	}
	for _, l := range schema.Logs {
		if c.logs[l.Name] == nil {
			c.logs[l.Name] = &memoryLog{}
		}
	}
	return &memoryDB{Memory: m, cell: c, schema: schema}, nil
}

// Inspect is Open: nothing needs to be locked.
func (m *Memory) Inspect(ctx context.Context, cell string, schema Schema) (DB, error) {
	return m.Open(ctx, cell, schema)
}

func (db *memoryDB) table(i int) *memoryTable { return db.cell.tables[db.schema.Tables[i].Name] }
func (db *memoryDB) log(i int) *memoryLog     { return db.cell.logs[db.schema.Logs[i].Name] }

func (db *memoryDB) Take(_ context.Context, owner string) (Fence, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.cell.fence.Owner = owner
	db.cell.fence.Epoch++
	return db.cell.fence, nil
}

func (db *memoryDB) Level(context.Context) (feature.Level, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.cell.level, nil
}

func (db *memoryDB) Raise(_ context.Context, level feature.Level) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.cell.level = max(db.cell.level, level)
	return nil
}

func (db *memoryDB) Renew(_ context.Context, owner string) (Fence, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.cell.fence.Owner != owner {
		return Fence{}, ErrFenced
	}
	db.cell.fence.Epoch++
	return db.cell.fence, nil
}

func (db *memoryDB) Load(_ context.Context, row func(table int, key string, doc []byte) error) (State, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i := range db.schema.Tables {
		live := db.table(i).live
		for _, key := range slices.Sorted(maps.Keys(live)) {
			if err := row(i, key, live[key].Doc); err != nil {
				return State{}, err
			}
		}
	}
	return db.state(), nil
}

func (db *memoryDB) state() State {
	state := State{Fence: db.cell.fence, Now: db.cell.now}
	if n := len(db.cell.commits); n > 0 && db.cell.commits[n-1].seq == state.Fence.Seq {
		state.Mark = db.cell.commits[n-1].mark
	}
	for i := range db.schema.Logs {
		state.Last = append(state.Last, db.log(i).last)
	}
	return state
}

func (db *memoryDB) Commit(_ context.Context, b *Batch) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.cell.fence != b.Fence {
		return ErrFenced
	}
	var undo []func()
	for _, tb := range b.Tables {
		if err := db.apply(tb, &undo); err != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return err
		}
	}
	for _, tb := range b.Tables {
		for _, row := range tb.Archives {
			db.table(tb.Table).archive[row.Key] = row
		}
	}
	for _, lb := range b.Logs {
		l := db.log(lb.Log)
		l.entries = append(l.entries, lb.Entries...)
		l.last = lb.Last()
	}
	db.cell.fence.Seq, db.cell.now = b.Seq, b.Now
	db.keep(b)
	return nil
}

// apply changes one table and records how to undo that.
func (db *memoryDB) apply(tb TableBatch, undo *[]func()) error {
	t, schema := db.table(tb.Table), db.schema.Tables[tb.Table]
	for _, key := range tb.Deletes {
		if old, ok := t.live[key]; ok {
			t.drop(schema, old)
			*undo = append(*undo, func() { t.put(schema, old) })
		}
	}
	for _, row := range tb.Puts {
		old, replaced := t.live[row.Key]
		if replaced {
			t.drop(schema, old)
			*undo = append(*undo, func() { t.put(schema, old) })
		}
		if err := t.put(schema, row); err != nil {
			return err
		}
		*undo = append(*undo, func() { t.drop(schema, row) })
	}
	return nil
}

// put adds a row whose key is free, unless a unique value is taken.
func (t *memoryTable) put(schema TableSchema, row StoredRow) error {
	for _, c := range schema.Columns {
		value := valueOf(row.Key, row.Columns, schema.Columns, c.Name)
		if other, taken := t.holder[held{c.Name, value}]; taken {
			return fmt.Errorf("table %s: rows %q and %q share %s %q", schema.Name, row.Key, other, c.Name, value)
		}
	}
	for _, c := range schema.Columns {
		value := valueOf(row.Key, row.Columns, schema.Columns, c.Name)
		if c.Unique && value != "" {
			t.holder[held{c.Name, value}] = row.Key
		}
	}
	t.live[row.Key] = row
	return nil
}

func (t *memoryTable) drop(schema TableSchema, row StoredRow) {
	for _, c := range schema.Columns {
		value := held{c.Name, valueOf(row.Key, row.Columns, schema.Columns, c.Name)}
		if t.holder[value] == row.Key {
			delete(t.holder, value)
		}
	}
	delete(t.live, row.Key)
}

// Close keeps the state for the next Open.
func (db *memoryDB) Close() error { return nil }
