package store

// Sum adds up numbers of a table's rows by keys derived from them, such as the
// players of each fleet, so that no caller has to iterate over the rows. Like an
// Index it lives in memory only and is rebuilt when the store opens.
type Sum[V any] struct{ core *sum }

// sum is a Sum without the type of its rows.
type sum struct {
	derivedTree
	parts func(row any, add func(key string, n int))

	changes map[string]int // computed by plan, under the store's mutex

	plus, minus func(key string, n int) // change changes; made once
}

// NewSum registers a sum on a table, before Open. parts adds the numbers of a row
// under their keys. It must depend on the row only.
func NewSum[V any](t *Table[V], name string, parts func(v *V, add func(key string, n int))) *Sum[V] {
	return &Sum[V]{newSum(t.core, name, func(row any, add func(string, int)) { parts(row.(*V), add) })}
}

func newSum(t *table, name string, parts func(row any, add func(key string, n int))) *sum {
	s := &sum{derivedTree: derive(t, "sum", name, newTotalTree), parts: parts, changes: map[string]int{}}
	s.plus = func(key string, n int) { s.changes[key] += n }
	s.minus = func(key string, n int) { s.changes[key] -= n }
	t.derived = append(t.derived, s)
	return s
}

// Of returns the total under a key.
func (s *Sum[V]) Of(r Reader, key string) int { return s.core.of(r, key) }

func (s *sum) of(r Reader, key string) int {
	t, _ := treeIn[total](r, s.slot, &s.head).Get(total{key: key})
	return t.n
}

// plan computes the changes when row replaces old; either may be nil.
func (s *sum) plan(old, row any) {
	clear(s.changes)
	if old != nil {
		s.parts(old, s.minus)
	}
	if row != nil {
		s.parts(row, s.plus)
	}
}

// move applies the plan to the head.
func (s *sum) move(string) {
	for key, n := range s.changes {
		if n != 0 {
			s.dirty = true
			add(s.head.(*totalTree), key, n)
		}
	}
}

// add changes a total; a total of 0 is not kept.
func add(tree *totalTree, key string, n int) {
	t, _ := tree.Get(total{key: key})
	if t.key, t.n = key, t.n+n; t.n == 0 {
		tree.Delete(t)
	} else {
		tree.Set(t)
	}
}

func (s *sum) load(sn *Snapshot, _ string, row any) {
	tree := treeIn[total](sn, s.slot, nil)
	s.parts(row, func(key string, n int) { add(tree, key, n) })
}
