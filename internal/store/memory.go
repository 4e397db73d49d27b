package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a driver without a disk: its state lasts as long as the value. A
// second store opened on it finds what the first one committed, which is how
// tests play a crash.
type Memory struct {
	mu    sync.Mutex
	cells map[string]*memoryCell
}

// NewMemory makes an empty one.
func NewMemory() *Memory { return &Memory{cells: map[string]*memoryCell{}} }

type memoryCell struct {
	fence  Fence
	now    time.Time
	tables map[string]*memoryTable
	logs   map[string]*memoryLog
}

type memoryTable struct {
	live    map[string]StoredRow
	archive map[string]StoredRow // Time is when it was archived
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

// Open gives the cell's state, empty at first.
func (m *Memory) Open(_ context.Context, cell string, schema Schema) (DB, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.cells[cell]
	if c == nil {
		c = &memoryCell{tables: map[string]*memoryTable{}, logs: map[string]*memoryLog{}}
		m.cells[cell] = c
	}
	for _, t := range schema.Tables {
		if c.tables[t.Name] == nil {
			c.tables[t.Name] = &memoryTable{live: map[string]StoredRow{}, archive: map[string]StoredRow{}}
		}
	}
	for _, l := range schema.Logs {
		if c.logs[l.Name] == nil {
			c.logs[l.Name] = &memoryLog{}
		}
	}
	return &memoryDB{Memory: m, cell: c, schema: schema}, nil
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
	state := State{Fence: db.cell.fence, Now: db.cell.now}
	for i := range db.schema.Logs {
		state.Last = append(state.Last, db.log(i).last)
	}
	return state, nil
}

func (db *memoryDB) Commit(_ context.Context, b *Batch) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.cell.fence != b.Fence {
		return ErrFenced
	}
	live := make([]map[string]StoredRow, len(b.Tables))
	for i, tb := range b.Tables {
		live[i] = db.table(tb.Table).live
		if hasUnique(db.schema.Tables[tb.Table]) {
			live[i] = maps.Clone(live[i]) // a refused batch must change nothing
		}
		if err := db.apply(tb, live[i]); err != nil {
			return err
		}
	}
	for i, tb := range b.Tables {
		t := db.table(tb.Table)
		t.live = live[i]
		for _, row := range tb.Archives {
			t.archive[row.Key] = row
		}
	}
	for _, lb := range b.Logs {
		l := db.log(lb.Log)
		l.entries = append(l.entries, lb.Entries...)
		l.last = lb.Entries[len(lb.Entries)-1].Seq
	}
	db.cell.fence.Seq, db.cell.now = b.Seq, b.Now
	return nil
}

func hasUnique(t TableSchema) bool {
	return slices.ContainsFunc(t.Columns, func(c ColumnSchema) bool { return c.Unique })
}

func (db *memoryDB) apply(tb TableBatch, live map[string]StoredRow) error {
	for _, key := range tb.Deletes {
		delete(live, key)
	}
	for _, row := range tb.Puts {
		live[row.Key] = row
	}
	for i, c := range db.schema.Tables[tb.Table].Columns {
		if c.Unique {
			if err := checkUnique(db.schema.Tables[tb.Table].Name, c.Name, i, live); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkUnique(table, column string, i int, live map[string]StoredRow) error {
	holder := make(map[string]string, len(live))
	for key, row := range live {
		value := row.Columns[i]
		if other, taken := holder[value]; taken && value != "" {
			return fmt.Errorf("table %s: rows %q and %q share %s %q", table, key, other, column, value)
		}
		holder[value] = key
	}
	return nil
}

func (db *memoryDB) Archived(_ context.Context, table int, q Query) ([][]byte, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	columns := db.schema.Tables[table].Columns
	order := func(r StoredRow) string { return valueOf(r.Key, r.Columns, columns, q.OrderBy) }
	var rows []StoredRow
	for _, r := range db.table(table).archive {
		if matches(r.Key, r.Columns, columns, q.Where) && q.holds(order(r), r.Key) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b StoredRow) int {
		c := cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Key, b.Key))
		if q.Desc {
			return -c
		}
		return c
	})
	var docs [][]byte
	for _, r := range rows[:min(len(rows), q.Limit)] {
		docs = append(docs, r.Doc)
	}
	return docs, nil
}

// holds tells whether a place in the order is within the query's bounds and
// after its cursor.
func (q Query) holds(order, key string) bool {
	if order < q.From || (q.To != "" && order >= q.To) {
		return false
	}
	if q.AfterKey == "" {
		return true
	}
	c := cmp.Or(cmp.Compare(order, q.AfterOrder), cmp.Compare(key, q.AfterKey))
	if q.Desc {
		return c < 0
	}
	return c > 0
}

func matches(key string, values []string, columns []ColumnSchema, where []Eq) bool {
	for _, eq := range where {
		if valueOf(key, values, columns, eq.Column) != eq.Value {
			return false
		}
	}
	return true
}

// valueOf reads a column by name; one that the row was stored without is empty.
func valueOf(key string, values []string, columns []ColumnSchema, name string) string {
	if name == "key" {
		return key
	}
	i := slices.IndexFunc(columns, func(c ColumnSchema) bool { return c.Name == name })
	if i >= len(values) {
		return ""
	}
	return values[i]
}

func (db *memoryDB) Entries(_ context.Context, log int, q LogQuery) ([]StoredEntry, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	columns := db.schema.Logs[log].Columns
	entries := slices.Clone(db.log(log).entries)
	if q.Desc {
		slices.Reverse(entries)
	}
	var found []StoredEntry
	for _, e := range entries {
		if len(found) < q.Limit && q.holds(e) && matches("", e.Columns, columns, q.Where) {
			found = append(found, e)
		}
	}
	return found, nil
}

func (q LogQuery) holds(e StoredEntry) bool {
	if e.Time.Before(q.From) || (!q.To.IsZero() && !e.Time.Before(q.To)) {
		return false
	}
	if q.AfterSeq == 0 {
		return true
	}
	if q.Desc {
		return e.Seq < q.AfterSeq
	}
	return e.Seq > q.AfterSeq
}

func (db *memoryDB) Prune(_ context.Context, now time.Time, limit int) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	n := 0
	for i, t := range db.schema.Tables {
		for key, row := range db.table(i).archive {
			if n < limit && !row.Time.Add(t.Retention).After(now) {
				delete(db.table(i).archive, key)
				n++
			}
		}
	}
	for i, l := range db.schema.Logs {
		entries := db.log(i).entries
		for n < limit && l.Retention > 0 && len(entries) > 0 && !entries[0].Time.Add(l.Retention).After(now) {
			entries = entries[1:]
			n++
		}
		db.log(i).entries = entries
	}
	return n, nil
}

// Close keeps the state for the next one who opens it.
func (db *memoryDB) Close() error { return nil }
