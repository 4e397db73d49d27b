package store

import (
	"context"
	"maps"
	"slices"
)

func (db *memoryDB) Dump(_ context.Context, item func(Item) error) (State, error) {
	db.mu.Lock()
	items := db.items()
	state := db.state()
	state.Level = db.cell.level
	db.mu.Unlock()
	for _, it := range items {
		if err := item(it); err != nil {
			return State{}, err
		}
	}
	return state, nil
}

func (db *memoryDB) items() []Item {
	var items []Item
	for i, t := range db.schema.Tables {
		for _, key := range slices.Sorted(maps.Keys(db.table(i).live)) {
			r := db.table(i).live[key]
			items = append(items, Item{Place: Live, Number: i, Key: key, Doc: r.Doc, Columns: r.Columns})
		}
		for _, key := range slices.Sorted(maps.Keys(db.table(i).archive)) {
			r := db.table(i).archive[key]
			items = append(items, Item{Place: Archive, Number: i, Key: key, Doc: r.Doc, Columns: r.Columns,
				Time: r.Time, Expires: r.Time.Add(t.Retention)})
		}
	}
	for i := range db.schema.Logs {
		for _, e := range db.log(i).entries {
			items = append(items, Item{Place: LogPart, Number: i, Seq: e.Seq, Doc: e.Doc, Columns: e.Columns, Time: e.Time})
		}
	}
	return items
}

// Fill stores a dump. If items fails, or the dump has a duplicate unique value, the
// cell stays empty.
func (db *memoryDB) Fill(_ context.Context, items func(add func(Item) error) (State, error)) error {
	var all []Item
	state, err := items(func(it Item) error { all = append(all, it); return nil })
	if err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if len(db.items()) > 0 {
		return ErrNotEmpty
	}
	for _, it := range all {
		if err := db.fillOne(it); err != nil {
			db.clear()
			return err
		}
	}
	db.cell.level = max(db.cell.level, state.Level)
	db.cell.fence, db.cell.now = state.Fence, state.Now
	for i := range db.schema.Logs {
		db.log(i).last = state.Last[i]
	}
	return nil
}

func (db *memoryDB) fillOne(it Item) error {
	row := StoredRow{Key: it.Key, Doc: it.Doc, Columns: it.Columns, Time: it.Time}
	switch it.Place {
	case Live:
		return db.table(it.Number).put(db.schema.Tables[it.Number], row)
	case Archive:
		db.table(it.Number).archive[it.Key] = row
	case LogPart:
		l := db.log(it.Number)
		l.entries = append(l.entries, StoredEntry{Seq: it.Seq, Time: it.Time, Doc: it.Doc, Columns: it.Columns})
	}
	return nil
}

func (db *memoryDB) clear() {
	for _, t := range db.schema.Tables {
		db.cell.tables[t.Name] = newMemoryTable()
	}
	for _, l := range db.schema.Logs {
		db.cell.logs[l.Name] = &memoryLog{}
	}
}

func (db *memoryDB) Grown(context.Context) (bool, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.cell.grown != db.schema.Signature(), nil
}

func (db *memoryDB) SetColumns(_ context.Context, items []Item) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, it := range items {
		if err := db.setColumns(it); err != nil {
			return err
		}
	}
	return nil
}

func (db *memoryDB) setColumns(it Item) error {
	switch it.Place {
	case Live:
		t, schema := db.table(it.Number), db.schema.Tables[it.Number]
		row := t.live[it.Key]
		t.drop(schema, row)
		row.Columns = it.Columns
		return t.put(schema, row)
	case Archive:
		row := db.table(it.Number).archive[it.Key]
		row.Columns = it.Columns
		db.table(it.Number).archive[it.Key] = row
	case LogPart:
		entries := db.log(it.Number).entries
		for i := range entries {
			if entries[i].Seq == it.Seq {
				entries[i].Columns = it.Columns
			}
		}
	}
	return nil
}

func (db *memoryDB) Settle(context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.cell.grown = db.schema.Signature()
	return nil
}
