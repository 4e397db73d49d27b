package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// Rows of all types are in trees of one type, and tables and indexes hold their trees as
// any: types that they refer to are compiled again in every package that passes them on.

// rowTree holds the rows of a table by key.
type rowTree = btree.BTreeG[entry]

type entry struct {
	key string
	row any // *V of the table
}

func newRowTree() *rowTree { return newTree(func(a, b entry) bool { return a.key < b.key }) }

// rowIn returns the row with the key, or nil.
func rowIn(rows *rowTree, key string) any {
	e, _ := rows.Get(entry{key: key})
	return e.row
}

// rowsIn returns the rows of a table through a reader.
func rowsIn(t *table, r Reader) *rowTree { return treeIn[entry](r, t.slot, &t.head) }

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
type derivedTree struct {
	what  string // the index or sum, and its table, for errors
	slot  int
	head  any
	dirty bool // the head's differs from the last sealed one

	// The functions know the type of the tree.
	fresh func() any
	copy  func(tree any) any
	equal func(a, b any) bool
}

// derive registers a tree that is derived from a table.
func derive[T comparable](t *table, kind, name string, fresh func() *btree.BTreeG[T]) derivedTree {
	t.store.catalog.register(t.label + "." + name)
	return derivedTree{
		what: kind + " " + name + " of " + t.label, slot: t.store.catalog.addSlot(), head: fresh(),
		fresh: func() any { return fresh() },
		copy:  func(tree any) any { return tree.(*btree.BTreeG[T]).Copy() },
		equal: func(a, b any) bool { return slices.Equal(a.(*btree.BTreeG[T]).Items(), b.(*btree.BTreeG[T]).Items()) },
	}
}

func (d *derivedTree) begin(sn *Snapshot) { sn.tree[d.slot] = d.fresh() }

func (d *derivedTree) adopt(sn *Snapshot) {
	d.head = d.copy(sn.tree[d.slot])
	d.dirty = false
}

func (d *derivedTree) seal(sn *Snapshot) {
	if d.dirty {
		d.dirty = false
		sn.tree[d.slot] = d.copy(d.head)
	}
}

// differs returns an error if two trees that were derived from the same rows are not
// equal.
func (d *derivedTree) differs(sn, other *Snapshot) error {
	if d.equal(sn.tree[d.slot], other.tree[d.slot]) {
		return nil
	}
	return fmt.Errorf("%s: in memory it is not what its rows say", d.what)
}

func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})
}
