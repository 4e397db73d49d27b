package store

import (
	"iter"
	"slices"
	"strings"
)

// Index finds the rows of a table by keys derived from them. It lives in memory only
// and is rebuilt when the store opens.
type Index[V any] struct{ core *index }

// index is an Index without the type of its rows.
type index struct {
	derivedTree
	table *table
	keys  func(row any, emit func(string))

	before, after []string // computed by plan, under the store's mutex

	emit    func(key string) // appends to emitted; made once
	emitted []string
}

// NewIndex registers an index on a table, before Open. keys emits the index keys of a
// row: if none, the row is left out; if several, it is entered under each. It must
// depend on the row only.
func NewIndex[V any](t *Table[V], name string, keys func(v *V, emit func(string))) *Index[V] {
	return &Index[V]{newIndex(t.core, name, func(row any, emit func(string)) { keys(row.(*V), emit) })}
}

func newIndex(t *table, name string, keys func(row any, emit func(string))) *index {
	ix := &index{derivedTree: derive(t, "index", name, newMarkTree), table: t, keys: keys}
	ix.emit = func(key string) { ix.emitted = append(ix.emitted, key) }
	t.derived = append(t.derived, ix)
	return ix
}

// Equal yields the rows that have exactly this index key, by primary key. In a
// transaction the loop sees the rows as they were when it began.
func (ix *Index[V]) Equal(r Reader, key string) iter.Seq[*V] {
	return func(yield func(*V) bool) {
		ix.core.equal(r, key, func(row any) bool { return yield(typed[V](row)) })
	}
}

func (ix *index) equal(r Reader, key string, yield func(row any) bool) {
	ix.scan(r, mark{key: key},
		func(m mark) bool { return m.key == key },
		func(_ mark, row any) bool { return yield(row) })
}

// First returns the first row, by primary key, that has exactly this index key, or
// nil.
func (ix *Index[V]) First(r Reader, key string) *V {
	return typed[V](ix.core.first(r, key, func(found string) bool { return found == key }))
}

// FirstPrefix returns the row with the lowest index key that begins with prefix, or
// nil.
func (ix *Index[V]) FirstPrefix(r Reader, prefix string) *V {
	return typed[V](ix.core.first(r, prefix, func(found string) bool { return strings.HasPrefix(found, prefix) }))
}

// first returns the row with the lowest index key from a key on, if it is wanted.
func (ix *index) first(r Reader, from string, wanted func(key string) bool) (first any) {
	marksIn(ix, r).Ascend(mark{key: from}, func(m mark) bool {
		if wanted(m.key) {
			first = ix.table.get(r, m.primary)
		}
		return false
	})
	return first
}

// Count returns the number of rows that have exactly this index key. It visits each
// of them.
func (ix *Index[V]) Count(r Reader, key string) int { return ix.core.count(r, key) }

func (ix *index) count(r Reader, key string) int {
	n := 0
	marksIn(ix, r).Ascend(mark{key: key}, func(m mark) bool {
		if m.key == key {
			n++
		}
		return m.key == key
	})
	return n
}

// Prefix yields the index keys that begin with prefix, and their rows, ascending by
// index key and then primary key.
func (ix *Index[V]) Prefix(r Reader, prefix string) iter.Seq2[string, *V] {
	return ix.PrefixAfter(r, prefix, "", "")
}

// PrefixAfter is Prefix starting strictly after (afterKey, afterPrimary).
func (ix *Index[V]) PrefixAfter(r Reader, prefix, afterKey, afterPrimary string) iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		ix.core.prefixAfter(r, prefix, afterKey, afterPrimary, func(key string, row any) bool { return yield(key, typed[V](row)) })
	}
}

func (ix *index) prefixAfter(r Reader, prefix, afterKey, afterPrimary string, yield func(key string, row any) bool) {
	after := mark{afterKey, afterPrimary}
	pivot := after
	if afterKey < prefix {
		pivot = mark{key: prefix}
	}
	ix.scan(r, pivot,
		func(m mark) bool { return strings.HasPrefix(m.key, prefix) },
		func(m mark, row any) bool { return m == after || yield(m.key, row) })
}

// lowest returns the lowest index key, or "".
func (ix *index) lowest(r Reader) string {
	m, _ := marksIn(ix, r).Min()
	return m.key
}

// marksIn returns the marks of an index through a reader.
func marksIn(ix *index, r Reader) *markTree { return treeIn[mark](r, ix.slot, &ix.head) }

// scan yields the wanted marks from pivot on, with their rows.
func (ix *index) scan(r Reader, pivot mark, wanted func(mark) bool, yield func(mark, any) bool) {
	if r.trees() != nil {
		rows := rowsIn(ix.table, r)
		marksIn(ix, r).Ascend(pivot, func(m mark) bool { return wanted(m) && yield(m, rowIn(rows, m.primary)) })
		return
	}
	ahead, rest := readAhead(marksIn(ix, r), pivot, wanted)
	rows := rowsIn(ix.table, r)
	found := make([]any, len(ahead))
	for i, m := range ahead {
		found[i] = rowIn(rows, m.primary)
	}
	if rest != nil {
		rows = rows.Copy()
	}
	for i, m := range ahead {
		if !yield(m, found[i]) {
			return
		}
	}
	goOn(rest, ahead, func(m mark) bool { return wanted(m) && yield(m, rowIn(rows, m.primary)) })
}

// plan computes the index keys of an old row and the new one; either may be nil.
func (ix *index) plan(old, row any) {
	ix.before = ix.collect(ix.before, old)
	ix.after = ix.collect(ix.after, row)
}

// move updates the head from the planned old keys to the new ones.
func (ix *index) move(primary string) {
	marks := ix.head.(*markTree)
	for _, key := range ix.before {
		if !slices.Contains(ix.after, key) {
			marks.Delete(mark{key, primary})
			ix.dirty = true
		}
	}
	for _, key := range ix.after {
		if !slices.Contains(ix.before, key) {
			marks.Set(mark{key, primary})
			ix.dirty = true
		}
	}
}

// collect returns the index keys of a row in the memory of keys.
func (ix *index) collect(keys []string, row any) []string {
	ix.emitted = keys[:0]
	if row != nil {
		ix.keys(row, ix.emit)
	}
	return ix.emitted
}

func (ix *index) load(sn *Snapshot, primary string, row any) {
	tree := marksIn(ix, sn)
	ix.keys(row, func(key string) { tree.Set(mark{key, primary}) })
}
