package store

import (
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

func newTree[T any](less func(a, b T) bool) *btree.BTreeG[T] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: 16})
}
