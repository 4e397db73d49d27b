package store

import (
	"fmt"
	"hash"
	"iter"
	"time"
	"unicode/utf8"
)

// TableSpec describes how rows of type V are stored.
type TableSpec[V any] struct {
	Name    string          // name in SQL: lower case letters, digits and _, such as game_session
	Key     func(*V) string // primary key; keys ordered by time are fastest
	Columns []Column[V]     // additional SQL columns, for uniqueness and for look-ups in the archive

	// Retention is how long archived rows are kept. Zero means no archive: Archive
	// then deletes.
	Retention time.Duration
}

// Table is a typed table. Its rows live in memory. Rows returned are shared and must
// never be changed: copy, change the copy, Put.
type Table[V any] struct{ core *table }

// NewTable registers a table. It panics if the name is taken or not an SQL name, and
// after Open.
func NewTable[V any](s *Store, spec TableSpec[V]) *Table[V] {
	t := &table{
		documents: newDocuments(s, spec.Name, len(s.catalog.tables), spec.Columns),
		key:       func(row any) string { return spec.Key(row.(*V)) }, retention: spec.Retention,
	}
	t.add()
	return &Table[V]{t}
}

// Get returns the row with the key, or nil.
func (t *Table[V]) Get(r Reader, key string) *V { return typed[V](t.core.get(r, key)) }

// typed returns a row of type V, which may be nil.
func typed[V any](row any) *V {
	v, _ := row.(*V)
	return v
}

// Put inserts the row or replaces the one with its key. The row belongs to the store
// from then on.
func (t *Table[V]) Put(tx *Tx, v *V) { t.core.put(tx, v) }

// Delete removes the row with the key and reports whether there was one.
func (t *Table[V]) Delete(tx *Tx, key string) bool { return t.core.remove(tx, key, changeDelete) }

// Archive moves the row with the key from memory into the archive, where Archived
// finds it until its retention ends. It reports whether there was a row.
func (t *Table[V]) Archive(tx *Tx, key string) bool { return t.core.archive(tx, key) }

// Len returns the number of rows.
func (t *Table[V]) Len(r Reader) int { return t.core.len(r) }

// Same reports whether no commit between two snapshots changed the table. It may be false
// although all rows are equal.
func (t *Table[V]) Same(a, b *Snapshot) bool { return rowsIn(t.core, a) == rowsIn(t.core, b) }

// All yields the rows by ascending key.
func (t *Table[V]) All(r Reader) iter.Seq[*V] { return t.After(r, "") }

// After yields the rows whose keys come after key, ascending.
func (t *Table[V]) After(r Reader, key string) iter.Seq[*V] {
	return func(yield func(*V) bool) {
		t.core.after(r, key, func(row any) bool { return yield(typed[V](row)) })
	}
}

// table is a Table without the type of its rows, which are pointers.
type table struct {
	documents
	key       func(row any) string
	retention time.Duration
	slot      int // of its tree
	head      any
	dirty     bool
	derived   []derived
	ended     ended
}

// derived is an Index or a Sum: data computed from the rows of a table and kept
// with them.
type derived interface {
	plan(old, row any)   // computes the change; may panic
	move(primary string) // applies the plan to the head
	begin(sn *Snapshot)
	load(sn *Snapshot, primary string, row any)
	adopt(sn *Snapshot)
	seal(sn *Snapshot)
	differs(sn, other *Snapshot) error
}

// add registers the table.
func (t *table) add() {
	t.register()
	if t.retention > 0 {
		t.store.catalog.register(t.label + "_archive")
	}
	t.slot, t.head = t.store.catalog.addSlot(), newRowTree()
	t.store.catalog.tables = append(t.store.catalog.tables, t)
}

func (t *table) get(r Reader, key string) any { return rowIn(rowsIn(t, r), key) }

func (t *table) put(tx *Tx, row any) {
	tx.check(t.store)
	key := t.key(row)
	if key == "" || !utf8.ValidString(key) {
		panic(fmt.Sprintf("store: %q is no key for table %s: keys are UTF-8 and not empty", key, t.label))
	}
	old := t.set(key, row)
	tx.note(change{member: t, kind: changePut, key: key, row: row, old: old})
}

func (t *table) archive(tx *Tx, key string) bool {
	kind := changeArchive
	if t.retention <= 0 {
		kind = changeDelete
	}
	return t.remove(tx, key, kind)
}

func (t *table) remove(tx *Tx, key string, kind changeKind) bool {
	tx.check(t.store)
	old := t.set(key, nil)
	if old == nil {
		return false
	}
	tx.note(change{member: t, kind: kind, key: key, row: old, old: old})
	return true
}

// len is not inlined, since the type of the tree would be compiled again with it.
//
//go:noinline
func (t *table) len(r Reader) int { return rowsIn(t, r).Len() }

func (t *table) after(r Reader, key string, yield func(row any) bool) {
	pivot := entry{key: key}
	next := func(e entry) bool { return e.key == key || yield(e.row) }
	if r.trees() != nil {
		rowsIn(t, r).Ascend(pivot, next)
		return
	}
	ahead, rest := readAhead(rowsIn(t, r), pivot, func(entry) bool { return true })
	for _, e := range ahead {
		if !next(e) {
			return
		}
	}
	goOn(rest, ahead, next)
}

// set stores row under key in the head and its indexes (nil removes it) and returns
// the previous row. The functions that compute index keys may panic: they all run
// before anything changes.
func (t *table) set(key string, row any) any {
	head := t.head.(*rowTree)
	old := rowIn(head, key)
	for _, d := range t.derived {
		d.plan(old, row)
	}
	if !t.dirty {
		t.dirty = true
		t.store.head.dirty = append(t.store.head.dirty, t)
	}
	if row == nil {
		head.Delete(entry{key: key})
	} else {
		head.Set(entry{key, row})
	}
	for _, d := range t.derived {
		d.move(key)
	}
	return old
}

// undo restores what a failed transaction replaced.
func (t *table) undo(key string, old any) { t.set(key, old) }

// compare compares the columns of a row to be written with those it has in sn, if it is
// found there. A row vacates if it gives up a unique value, which SQL must free before
// another row of the same batch may take it.
func (t *table) compare(sn *Snapshot, key string, columns []string) (found, same, vacates bool) {
	old := t.get(sn, key)
	if old == nil {
		return false, false, false
	}
	same = true
	for i, c := range t.fields {
		was := t.value(old, i)
		same = same && was == columns[i]
		vacates = vacates || c.Unique && was != "" && was != columns[i]
	}
	return true, same, vacates
}

func (t *table) schema() TableSchema {
	return TableSchema{Name: t.label, Columns: t.fields, Retention: t.retention}
}

// digest adds the table's rows to h.
func (t *table) digest(sn *Snapshot, h hash.Hash) {
	hashPart(h, []byte(t.label))
	err := t.each(sn, func(key string, doc []byte) error {
		hashPart(h, []byte(key))
		hashPart(h, doc)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("store: a committed row of %s does not encode: %v", t.label, err))
	}
	hashPart(h, nil)
}

// begin creates the table's empty trees in sn; load fills them.
func (t *table) begin(sn *Snapshot) {
	sn.tree[t.slot] = newRowTree()
	for _, d := range t.derived {
		d.begin(sn)
	}
}

// load decodes a stored row into sn.
func (t *table) load(sn *Snapshot, key string, doc []byte) error {
	row, err := t.read(key, doc)
	if err != nil {
		return err
	}
	rowsIn(t, sn).Load(entry{key, row})
	for _, d := range t.derived {
		d.load(sn, key, row)
	}
	return nil
}

// replace decodes a stored row into the head; without a document, it removes the row.
func (t *table) replace(key string, doc []byte) error {
	if doc == nil {
		t.set(key, nil)
		return nil
	}
	row, err := t.read(key, doc)
	if err != nil {
		return err
	}
	t.set(key, row)
	return nil
}

// read decodes the row with a key.
func (t *table) read(key string, doc []byte) (any, error) {
	row, err := t.decode(doc)
	if err != nil {
		return nil, fmt.Errorf("decode %s %q: %w", t.label, key, err)
	}
	if got := t.key(row); got != key {
		return nil, fmt.Errorf("%s %q: its document says key %q", t.label, key, got)
	}
	return row, nil
}

// adopt makes sn the head.
func (t *table) adopt(sn *Snapshot) {
	t.head = rowsIn(t, sn).Copy()
	t.dirty = false
	for _, d := range t.derived {
		d.adopt(sn)
	}
}

// seal copies the head's trees into sn.
func (t *table) seal(sn *Snapshot) {
	t.dirty = false
	sn.tree[t.slot] = t.head.(*rowTree).Copy()
	for _, d := range t.derived {
		d.seal(sn)
	}
}

func (t *table) count(sn *Snapshot) int { return t.len(sn) }
