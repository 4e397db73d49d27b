package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

func (db *memoryDB) Archived(_ context.Context, table int, q Query) ([][]byte, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	columns := db.schema.Tables[table].Columns
	order := func(r StoredRow) string { return valueOf(r.Key, r.Columns, columns, q.OrderBy) }
	asked := map[string]bool{}
	for _, key := range q.Keys {
		asked[key] = true
	}
	var rows []StoredRow
	for _, r := range db.table(table).archive {
		if (q.Keys == nil || asked[r.Key]) && matches(r.Key, r.Columns, columns, q.Where) && q.holds(order(r), r.Key) {
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

func (db *memoryDB) ArchivedKeys(_ context.Context, table int, after string, limit int) ([]string, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	var keys []string
	for key := range db.table(table).archive {
		if key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), limit)], nil
}

// holds reports whether a position in the order is within the query's bounds and
// after its cursor.
func (q Query) holds(order, key string) bool {
	if order < q.From || (q.To != "" && order >= q.To) {
		return false
	}
	if q.AfterKey == "" {
		return true
	}
	c := cmp.Compare(key, q.AfterKey)
	if q.OrderBy != "key" {
		c = cmp.Or(cmp.Compare(order, q.AfterOrder), c)
	}
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

// valueOf returns a column by name; "" if the row was stored without it.
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
	entries := slices.All(db.log(log).entries)
	if q.Desc {
		entries = slices.Backward(db.log(log).entries)
	}
	var found []StoredEntry
	for _, e := range entries {
		if len(found) == q.Limit {
			break
		}
		if q.holds(e) && matches("", e.Columns, columns, q.Where) {
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

func (db *memoryDB) Prune(_ context.Context, p Pruning) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	n := 0
	for i, t := range db.schema.Tables {
		for key, row := range db.table(i).archive {
			if n < p.Rows && !row.Time.Add(t.Retention).After(p.Now) {
				delete(db.table(i).archive, key)
				n++
			}
		}
	}
	for i := range db.schema.Logs {
		entries := db.log(i).entries
		for n < p.Rows && !p.Before[i].IsZero() && len(entries) > 0 && !entries[0].Time.After(p.Before[i]) {
			entries = entries[1:]
			n++
		}
		db.log(i).entries = entries
	}
	return n, nil
}

func (db *memoryDB) SetBack(_ context.Context, now time.Time) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	now = now.UTC().Truncate(time.Millisecond)
	for i := range db.schema.Logs {
		entries := db.log(i).entries
		for n := range entries {
			if entries[n].Time.After(now) {
				entries[n].Time = now
			}
		}
	}
	return nil
}
