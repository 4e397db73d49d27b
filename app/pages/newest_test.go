package pages

import (
	"slices"
	"testing"
)

func TestNewest(t *testing.T) {
	t.Parallel()
	var n newest[int]
	for i := range kept + 5 {
		n.add(i)
	}
	if all := n.list(); len(all) != kept || all[0] != kept+4 || all[kept-1] != 5 {
		t.Errorf("%d are kept, from %d to %d", len(all), all[0], all[len(all)-1])
	}
	var late newest[int]
	late.add(9)
	late.before([]int{8, 7, 6})
	if all := late.list(); !slices.Equal(all, []int{9, 8, 7, 6}) {
		t.Errorf("with earlier ones: %v", all)
	}
	n.before([]int{1})
	if all := n.list(); len(all) != kept || all[kept-1] != 5 {
		t.Errorf("%d are kept, from %d", len(all), all[len(all)-1])
	}
}
