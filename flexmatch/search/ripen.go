package search

import (
	"container/heap"
	"math"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// ripening is a heap of the times at which tickets reach their next wait time.
type ripening []ripe

// ripe is when an item's level changes.
type ripe struct {
	at int64 // nanoseconds
	it *item
}

func (r ripening) Len() int           { return len(r) }
func (r ripening) Less(i, j int) bool { return r[i].at < r[j].at }
func (r ripening) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ripening) Push(x any)        { *r = append(*r, x.(ripe)) }
func (r *ripening) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// next returns when the item's level next changes.
func (it *item) next(rs *ruleset.RuleSet) ripe {
	if it.level+1 >= len(rs.Levels()) {
		return ripe{at: math.MaxInt64, it: it}
	}
	return ripe{at: it.created + int64(rs.Levels()[it.level+1].From), it: it}
}

// ripen updates the level of items that have reached a wait time, and marks them to be
// searched around again.
func (p *Pool) ripen(now time.Time) {
	for len(p.ripening) > 0 && p.ripening[0].at <= now.UnixNano() {
		it := heap.Pop(&p.ripening).(ripe).it
		if it.gone {
			continue
		}
		it.level = p.rs.LevelAt(now.Sub(it.ticket.Created))
		it.cuts = 0
		p.dirty = append(p.dirty, it)
		if next := it.next(p.rs); next.at != math.MaxInt64 {
			heap.Push(&p.ripening, next)
		}
	}
}
