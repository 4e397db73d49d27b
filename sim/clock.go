package sim

import (
	"container/heap"
	"time"
)

// clock holds scheduled events in order of time. Events at the same time run in the order
// of scheduling.
type clock struct {
	events events
	count  uint64
}

type happening struct {
	at    time.Duration
	order uint64
	do    func()
}

type events []*happening

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*happening)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = nil
	*e = (*e)[:len(*e)-1]
	return last
}

func (c *clock) at(when time.Duration, do func()) {
	c.count++
	heap.Push(&c.events, &happening{when, c.count, do})
}

// next returns the time of the next event, or never.
func (c *clock) next() time.Duration {
	if len(c.events) == 0 {
		return never
	}
	return c.events[0].at
}

func (c *clock) happen() { heap.Pop(&c.events).(*happening).do() }
