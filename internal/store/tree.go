package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// Rows of all types are in trees of one type: a type of tree for each row type would
// be compiled again in every package that passes tables on.

// rowTree holds the rows of a table by key.
type rowTree = btree.BTreeG[entry]

type entry struct {
	key string
	row any // *V of the table
}

func newRowTree() *rowTree { return newTree(func(a, b entry) bool { return a.key < b.key }) }

// rowIn returns the row with the key, or nil.
func rowIn[V any](rows *rowTree, key string) *V {
	e, _ := rows.Get(entry{key: key})
	row, _ := e.row.(*V)
	return row
}

// markTree holds the marks of an index.
type markTree = btree.BTreeG[mark]

// mark records that the row with the primary key has the index key.
type mark struct{ key, primary string }

func newMarkTree() *markTree {
	return newTree(func(a, b mark) bool {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c < 0
		}
		return a.primary < b.primary
	})
}

// totalTree holds the totals of a sum.
type totalTree = btree.BTreeG[total]

// total is the total of a sum under a key.
type total struct {
	key string
	n   int
}

func newTotalTree() *totalTree { return newTree(func(a, b total) bool { return a.key < b.key }) }

// derivedTree is the tree of an Index or a Sum.
type derivedTree[T comparable] struct {
	what  string // the index or sum, and its table, for errors
	slot  int
	fresh func() *btree.BTreeG[T]
	head  *btree.BTreeG[T]
	dirty bool // the head's differs from the last sealed one
}

// derive registers a tree that is derived from a table.
func derive[V any, T comparable](t *Table[V], kind, name string, fresh func() *btree.BTreeG[T]) derivedTree[T] {
	t.store.catalog.register(t.label + "." + name)
	return derivedTree[T]{what: kind + " " + name + " of " + t.label, slot: t.store.catalog.addSlot(), fresh: fresh, head: fresh()}
}

func (d *derivedTree[T]) in(r Reader) *btree.BTreeG[T] { return treeIn(r, d.slot, &d.head) }

func (d *derivedTree[T]) begin(sn *Snapshot) { sn.tree[d.slot] = d.fresh() }

func (d *derivedTree[T]) adopt(sn *Snapshot) {
	d.head = d.in(sn).Copy()
	d.dirty = false
}

func (d *derivedTree[T]) seal(sn *Snapshot) {
	if d.dirty {
		d.dirty = false
		sn.tree[d.slot] = d.head.Copy()
	}
}

// differs returns an error if two trees that were derived from the same rows are not
// equal.
func (d *derivedTree[T]) differs(sn, other *Snapshot) error {
	if slices.Equal(d.in(sn).Items(), d.in(other).Items()) {
		return nil
	}
	return fmt.Errorf("%s: in memory it is not what its rows say", d.what)
}

func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})
}
