package store

import (
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// Groups returns the distinct beginnings of the index keys that begin with prefix, ascending:
// prefix and the next n parts (Key). It visits one row of each.
func (ix *Index[V]) Groups(r Reader, prefix string, n int) []string {
	return ix.core.groups(r, prefix, n)
}

func (ix *index) groups(r Reader, prefix string, n int) []string {
	var groups []string
	for from := prefix; ; {
		group := ""
		marksIn(ix, r).Ascend(mark{key: from}, func(m mark) bool {
			if strings.HasPrefix(m.key, prefix) {
				group = m.key[:len(prefix)+lengthOf(m.key[len(prefix):], n)]
			}
			return false
		})
		if group == "" {
			return groups
		}
		groups = append(groups, group)
		from = group + "\xff"
	}
}

// lengthOf returns the length of the first n parts of an index key.
func lengthOf(key string, n int) int {
	length := 0
	for range n {
		length += strings.IndexByte(key[length:], 0) + 1
	}
	return length
}

// Across yields the rows whose index keys begin with one of the prefixes, ordered by what
// follows the prefix and then by primary key, starting strictly after (afterRest,
// afterPrimary). No prefix may begin with another one.
func (ix *Index[V]) Across(r Reader, prefixes []string, afterRest, afterPrimary string) iter.Seq[*V] {
	return func(yield func(*V) bool) {
		ix.core.across(r, prefixes, mark{afterRest, afterPrimary}, func(row any) bool { return yield(typed[V](row)) })
	}
}

func (ix *index) across(r Reader, prefixes []string, after mark, yield func(row any) bool) {
	marks, rows := marksIn(ix, r), rowsIn(ix.table, r)
	if r.trees() == nil { // the loop's body may write, and must not see that
		marks, rows = marks.Copy(), rows.Copy()
	}
	var open []lane
	for _, prefix := range prefixes {
		if l := (lane{prefix, marks.Iter()}); l.start(mark{prefix + after.key, after.primary}) {
			open = append(open, l)
		}
	}
	for len(open) > 0 {
		first := 0
		for i := range open {
			if open[i].before(&open[first]) {
				first = i
			}
		}
		if !yield(rowIn(rows, open[first].marks.Item().primary)) {
			return
		}
		if !open[first].next() {
			open = slices.Delete(open, first, first+1)
		}
	}
}

// lane iterates over the marks whose keys begin with a prefix.
type lane struct {
	prefix string
	marks  btree.IterG[mark]
}

// start moves to the first mark after another, and reports whether there is one.
func (l *lane) start(after mark) bool {
	if !l.marks.Seek(after) {
		return false
	}
	if l.marks.Item() == after {
		return l.next()
	}
	return l.inside()
}

func (l *lane) next() bool { return l.marks.Next() && l.inside() }

func (l *lane) inside() bool { return strings.HasPrefix(l.marks.Item().key, l.prefix) }

func (l *lane) before(other *lane) bool {
	a, b := l.marks.Item(), other.marks.Item()
	if c := strings.Compare(a.key[len(l.prefix):], b.key[len(other.prefix):]); c != 0 {
		return c < 0
	}
	return a.primary < b.primary
}
