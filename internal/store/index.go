package store

import (
	"iter"
	"slices"
	"strings"
)

// Index finds the rows of a table by keys derived from them. It lives in memory only
// and is rebuilt when the store opens.
type Index[V any] struct {
	derivedTree[mark]
	table *Table[V]
	keys  func(v *V, emit func(string))

	before, after []string // computed by plan, under the store's mutex

	emit    func(key string) // appends to emitted; made once
	emitted []string
}

// NewIndex registers an index on a table, before Open. keys emits the index keys of a
// row: if none, the row is left out; if several, it is entered under each. It must
// depend on the row only.
func NewIndex[V any](t *Table[V], name string, keys func(v *V, emit func(string))) *Index[V] {
	ix := &Index[V]{derivedTree: derive(t, "index", name, newMarkTree), table: t, keys: keys}
	ix.emit = func(key string) { ix.emitted = append(ix.emitted, key) }
	t.derived = append(t.derived, ix)
	return ix
}

// Equal yields the rows that have exactly this index key, by primary key. In a
// transaction the loop sees the rows as they were when it began.
func (ix *Index[V]) Equal(r Reader, key string) iter.Seq[*V] {
	return func(yield func(*V) bool) {
		ix.scan(r, mark{key: key},
			func(m mark) bool { return m.key == key },
			func(_ mark, row *V) bool { return yield(row) })
	}
}

// First returns the first row, by primary key, that has exactly this index key, or
// nil.
func (ix *Index[V]) First(r Reader, key string) *V {
	var first *V
	ix.in(r).Ascend(mark{key: key}, func(m mark) bool {
		if m.key == key {
			first = ix.table.Get(r, m.primary)
		}
		return false
	})
	return first
}

// FirstPrefix returns the row with the lowest index key that begins with prefix, or
// nil.
func (ix *Index[V]) FirstPrefix(r Reader, prefix string) *V {
	var first *V
	ix.in(r).Ascend(mark{key: prefix}, func(m mark) bool {
		if strings.HasPrefix(m.key, prefix) {
			first = ix.table.Get(r, m.primary)
		}
		return false
	})
	return first
}

// Count returns the number of rows that have exactly this index key. It visits each
// of them.
func (ix *Index[V]) Count(r Reader, key string) int {
	n := 0
	ix.in(r).Ascend(mark{key: key}, func(m mark) bool {
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
		after := mark{afterKey, afterPrimary}
		pivot := after
		if afterKey < prefix {
			pivot = mark{key: prefix}
		}
		ix.scan(r, pivot,
			func(m mark) bool { return strings.HasPrefix(m.key, prefix) },
			func(m mark, row *V) bool { return m == after || yield(m.key, row) })
	}
}

// scan yields the wanted marks from pivot on, with their rows.
func (ix *Index[V]) scan(r Reader, pivot mark, wanted func(mark) bool, yield func(mark, *V) bool) {
	if r.trees() != nil {
		rows := ix.table.in(r)
		ix.in(r).Ascend(pivot, func(m mark) bool { return wanted(m) && yield(m, rowIn[V](rows, m.primary)) })
		return
	}
	ahead, rest := readAhead(ix.head, pivot, wanted)
	rows := ix.table.head
	found := make([]*V, len(ahead))
	for i, m := range ahead {
		found[i] = rowIn[V](rows, m.primary)
	}
	if rest != nil {
		rows = rows.Copy()
	}
	for i, m := range ahead {
		if !yield(m, found[i]) {
			return
		}
	}
	goOn(rest, ahead, func(m mark) bool { return wanted(m) && yield(m, rowIn[V](rows, m.primary)) })
}

// plan computes the index keys of an old row and the new one; either may be nil.
func (ix *Index[V]) plan(old, row *V) {
	ix.before = ix.collect(ix.before, old)
	ix.after = ix.collect(ix.after, row)
}

// move updates the head from the planned old keys to the new ones.
func (ix *Index[V]) move(primary string) {
	for _, key := range ix.before {
		if !slices.Contains(ix.after, key) {
			ix.head.Delete(mark{key, primary})
			ix.dirty = true
		}
	}
	for _, key := range ix.after {
		if !slices.Contains(ix.before, key) {
			ix.head.Set(mark{key, primary})
			ix.dirty = true
		}
	}
}

// collect returns the index keys of a row in the memory of keys.
func (ix *Index[V]) collect(keys []string, row *V) []string {
	ix.emitted = keys[:0]
	if row != nil {
		ix.keys(row, ix.emit)
	}
	return ix.emitted
}

func (ix *Index[V]) load(sn *Snapshot, primary string, row *V) {
	tree := ix.in(sn)
	ix.keys(row, func(key string) { tree.Set(mark{key, primary}) })
}
