// Package heap makes the garbage collector of a busy server run less often.
//
// By default a collection begins when the heap has doubled. A server whose heap is small
// and that allocates much collects many times per second then. Once it does, the heap may
// grow by more before a collection, until collections are far apart or little is
// allocated. Then the default applies again, and free memory is returned to the operating
// system. So is the garbage of a burst that was too short for a collection. GOMEMLIMIT stays
// in force; if GOGC is set, nothing is changed.
package heap

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	normal = 100      // GOGC's default
	most   = 300      // with more, rows that stay are scattered among garbage, and keep its memory
	idle   = 5        // looks in a row that find little allocated, after which a server is idle
	little = 1 << 20  // bytes
	least  = 4 << 20  // bytes of a heap for which the collector runs (see GOGC in package runtime)
	far    = 10       // times pace.every between collections, after which a server is not busy, and between looks at one that is not
	burst  = 16 << 20 // bytes allocated since a collection that are worth another once little is allocated
)

// Run adjusts the garbage collector until ctx ends.
func Run(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	c := collector{
		set: func(percent int) { debug.SetGCPercent(percent) }, release: debug.FreeOSMemory,
		pace: pace{every: time.Second, headroom: headroom(memory(os.DirFS("/"))), percent: normal},
	}
	c.run(ctx)
}

// collector adjusts the garbage collector to a pace.
type collector struct {
	pace
	set     func(percent int)
	release func() // returns free memory to the operating system
}

func (c *collector) run(ctx context.Context) {
	defer c.set(normal)
	collected := make(chan struct{}, 1)
	watch(ctx, collected)
	for {
		was := c.pace
		look := time.After(c.every)
		if !c.busy {
			look = time.After(far * c.every)
		}
		select {
		case <-ctx.Done():
			return
		case <-collected:
			rooted, allocated := figures()
			c.collected(time.Now(), rooted, allocated)
		case <-look:
			rooted, allocated := figures()
			if c.busy {
				c.look(allocated)
			} else if c.lull(rooted, allocated) {
				c.release()
			}
		}
		if c.percent != was.percent {
			c.set(c.percent)
		}
		if c.percent == normal && was.percent > normal && !c.busy {
			c.release()
		}
	}
}

// watch sends to collected after each collection until ctx ends.
func watch(ctx context.Context, collected chan<- struct{}) {
	type mark [64]byte // not so small that it shares its memory with others
	runtime.AddCleanup(new(mark), func(struct{}) {
		if ctx.Err() != nil {
			return
		}
		select {
		case collected <- struct{}{}:
		default:
		}
		watch(ctx, collected)
	}, struct{}{})
}

// figures returns the bytes to which the percentage applies, which are those that the last
// collection left, with stacks and globals, and the bytes allocated so far.
func figures() (rooted, allocated uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples[1:] {
		rooted += s.Value.Uint64()
	}
	return rooted, samples[0].Value.Uint64()
}

// pace decides on the percentage by which the heap may grow until the next collection.
type pace struct {
	// A server whose collections are less than this apart is busy. A busy one is looked at
	// this long after each collection or look, another one after far times as long.
	every time.Duration

	headroom  uint64 // bytes by which the heap of a busy server may grow
	percent   int
	busy      bool
	last      time.Time // of the last collection
	allocated uint64    // when last looked at
	base      uint64    // allocated at the last collection
	quiet     int       // looks in a row that found little allocated
}

// collected takes note of a collection.
func (p *pace) collected(now time.Time, rooted, allocated uint64) {
	apart := now.Sub(p.last)
	p.busy = p.busy && apart < far*p.every || apart < p.every
	p.last, p.allocated, p.base, p.quiet = now, allocated, allocated, 0
	if !p.busy {
		p.percent = normal
		return
	}
	percent := max(normal, min(int(p.headroom*100/max(rooted, least)), most))
	if change := percent - p.percent; 8*max(change, -change) > p.percent { // each change stops the world
		p.percent = percent
	}
}

// look takes note of what was allocated since the last look or collection.
func (p *pace) look(allocated uint64) {
	p.quiet++
	if allocated-p.allocated > little {
		p.quiet = 0
	}
	p.allocated = allocated
	if p.quiet == idle {
		p.busy, p.percent, p.quiet = false, normal, 0
	}
}

// lull takes note of what a server that is not busy has allocated since the last look or
// collection. It reports whether a burst that ended before a collection is worth one: the
// next could be minutes away.
func (p *pace) lull(rooted, allocated uint64) bool {
	over := allocated-p.allocated <= far*little
	p.allocated = allocated
	return over && allocated-p.base > max(burst, rooted/4)
}
