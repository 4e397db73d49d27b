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

// derived is an Index or a Sum: data computed from the rows of a table and kept
// with them.
type derived[V any] interface {
	plan(old, row *V)    // computes the change; may panic
	move(primary string) // applies the plan to the head
	begin(sn *Snapshot)
	load(sn *Snapshot, primary string, row *V)
	adopt(sn *Snapshot)
	seal(sn *Snapshot)
	differs(sn, other *Snapshot) error
}

// Table is a typed table. Its rows live in memory. Rows returned are shared and must
// never be changed: copy, change the copy, Put.
type Table[V any] struct {
	documents[V]
	spec    TableSpec[V]
	slot    int // of its tree
	head    *rowTree
	dirty   bool
	derived []derived[V]
}

// NewTable registers a table. It panics if the name is taken or not an SQL name, and
// after Open.
func NewTable[V any](s *Store, spec TableSpec[V]) *Table[V] {
	t := &Table[V]{
		documents: documents[V]{store: s, label: spec.Name, number: len(s.catalog.tables), fields: spec.Columns},
		spec:      spec, head: newRowTree(),
	}
	t.register()
	if spec.Retention > 0 {
		s.catalog.register(spec.Name + "_archive")
	}
	t.slot = s.catalog.addSlot()
	s.catalog.tables = append(s.catalog.tables, t)
	return t
}

// Get returns the row with the key, or nil.
func (t *Table[V]) Get(r Reader, key string) *V {
	return rowIn[V](t.in(r), key)
}

// Put inserts the row or replaces the one with its key. The row belongs to the store
// from then on.
func (t *Table[V]) Put(tx *Tx, v *V) {
	tx.check(t.store)
	key := t.spec.Key(v)
	if key == "" || !utf8.ValidString(key) {
		panic(fmt.Sprintf("store: %q is no key for table %s: keys are UTF-8 and not empty", key, t.label))
	}
	old := t.set(key, v)
	tx.note(change{member: t, kind: changePut, key: key, row: v, old: old})
}

// Delete removes the row with the key and reports whether there was one.
func (t *Table[V]) Delete(tx *Tx, key string) bool { return t.remove(tx, key, changeDelete) }

// Archive moves the row with the key from memory into the archive, where Archived
// finds it until its retention ends. It reports whether there was a row.
func (t *Table[V]) Archive(tx *Tx, key string) bool {
	kind := changeArchive
	if t.spec.Retention <= 0 {
		kind = changeDelete
	}
	return t.remove(tx, key, kind)
}

func (t *Table[V]) remove(tx *Tx, key string, kind changeKind) bool {
	tx.check(t.store)
	old := t.set(key, nil)
	if old == nil {
		return false
	}
	tx.note(change{member: t, kind: kind, key: key, row: old, old: old})
	return true
}

// Len returns the number of rows.
func (t *Table[V]) Len(r Reader) int { return t.in(r).Len() }

// All yields the rows by ascending key.
func (t *Table[V]) All(r Reader) iter.Seq[*V] { return t.After(r, "") }

// After yields the rows whose keys come after key, ascending.
func (t *Table[V]) After(r Reader, key string) iter.Seq[*V] {
	return func(yield func(*V) bool) {
		pivot := entry{key: key}
		next := func(e entry) bool { return e.key == key || yield(e.row.(*V)) }
		if r.trees() != nil {
			t.in(r).Ascend(pivot, next)
			return
		}
		ahead, rest := readAhead(t.head, pivot, func(entry) bool { return true })
		for _, e := range ahead {
			if !next(e) {
				return
			}
		}
		goOn(rest, ahead, next)
	}
}

func (t *Table[V]) in(r Reader) *rowTree { return treeIn(r, t.slot, &t.head) }

// set stores row under key in the head and its indexes (nil removes it) and returns
// the previous row. The functions that compute index keys may panic: they all run
// before anything changes.
func (t *Table[V]) set(key string, row *V) *V {
	old := rowIn[V](t.head, key)
	for _, d := range t.derived {
		d.plan(old, row)
	}
	if !t.dirty {
		t.dirty = true
		t.store.head.dirty = append(t.store.head.dirty, t)
	}
	if row == nil {
		t.head.Delete(entry{key: key})
	} else {
		t.head.Set(entry{key, row})
	}
	for _, d := range t.derived {
		d.move(key)
	}
	return old
}

// undo restores what a failed transaction replaced.
func (t *Table[V]) undo(key string, old any) { t.set(key, old.(*V)) }

// compare compares the columns of a row to be written with those it has in sn. A row
// vacates if it gives up a unique value, which SQL must free before another row of
// the same batch may take it.
func (t *Table[V]) compare(sn *Snapshot, key string, columns []string) (same, vacates bool) {
	old := t.Get(sn, key)
	if old == nil {
		return false, false
	}
	same = true
	for i, c := range t.fields {
		was := c.Value(old)
		same = same && was == columns[i]
		vacates = vacates || c.Unique && was != "" && was != columns[i]
	}
	return same, vacates
}

func (t *Table[V]) schema() TableSchema {
	return TableSchema{Name: t.label, Columns: t.columnSchemas(), Retention: t.spec.Retention}
}

// digest adds the table's rows to h.
func (t *Table[V]) digest(sn *Snapshot, h hash.Hash) {
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
func (t *Table[V]) begin(sn *Snapshot) {
	sn.tree[t.slot] = newRowTree()
	for _, d := range t.derived {
		d.begin(sn)
	}
}

// load decodes a stored row into sn.
func (t *Table[V]) load(sn *Snapshot, key string, doc []byte) error {
	row, err := t.decode(doc)
	if err != nil {
		return fmt.Errorf("decode %s %q: %w", t.label, key, err)
	}
	if got := t.spec.Key(row); got != key {
		return fmt.Errorf("%s %q: its document says key %q", t.label, key, got)
	}
	t.in(sn).Load(entry{key, row})
	for _, d := range t.derived {
		d.load(sn, key, row)
	}
	return nil
}

// adopt makes sn the head.
func (t *Table[V]) adopt(sn *Snapshot) {
	t.head = t.in(sn).Copy()
	t.dirty = false
	for _, d := range t.derived {
		d.adopt(sn)
	}
}

// seal copies the head's trees into sn.
func (t *Table[V]) seal(sn *Snapshot) {
	t.dirty = false
	sn.tree[t.slot] = t.head.Copy()
	for _, d := range t.derived {
		d.seal(sn)
	}
}

func (t *Table[V]) count(sn *Snapshot) int { return t.in(sn).Len() }
