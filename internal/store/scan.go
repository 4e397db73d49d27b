package store

import "github.com/tidwall/btree"

// scanAhead is how many items a loop over the head reads before it yields any.
const scanAhead = 32

// readAhead begins a loop over a head. The loop's body may write to the same tree but
// must not see those writes: short loops are read ahead completely; for longer ones
// rest is a copy of the tree to continue with.
func readAhead[T any](head *btree.BTreeG[T], pivot T, wanted func(T) bool) (ahead []T, rest *btree.BTreeG[T]) {
	head.Ascend(pivot, func(item T) bool {
		if !wanted(item) {
			return false
		}
		ahead = append(ahead, item)
		return len(ahead) < scanAhead
	})
	if len(ahead) < scanAhead {
		return ahead, nil
	}
	return ahead, head.Copy()
}

// goOn continues a loop after the items read ahead; if rest is nil, there are no
// more.
func goOn[T any](rest *btree.BTreeG[T], ahead []T, next func(T) bool) {
	if rest == nil {
		return
	}
	last := ahead[len(ahead)-1]
	rest.Ascend(last, func(item T) bool { return !rest.Less(last, item) || next(item) })
}
