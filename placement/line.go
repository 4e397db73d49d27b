package placement

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// readAhead is how many waiting placements a line reads at a time.
const readAhead = 32

// line is a queue with its waiting placements, oldest first.
type line struct {
	p          *planner
	queue      *Queue
	rules      rules
	candidates []candidate

	ahead  []*Placement // read and not yet considered
	buffer []*Placement // memory of ahead
	from   string       // index key of the last one read
	id     string       // and its id
	last   *Placement   // the last one considered
	until  time.Time    // when the rules next change for one that was held back
}

func newLine(p *planner, q *Queue) *line {
	return &line{p: p, queue: q, rules: newRules(q)}
}

// fill reads ahead, starting after the last one read.
func (l *line) fill() {
	l.ahead = l.buffer[:0]
	for key, waiting := range l.p.t.waiting.PrefixAfter(l.p.r, store.Key(l.queue.Name), l.from, l.id) {
		l.ahead = append(l.ahead, waiting)
		l.buffer = l.ahead[:0]
		if l.from, l.id = key, waiting.ID; len(l.ahead) == readAhead {
			return
		}
	}
}

// next returns the next placement to consider, or nil.
func (l *line) next() *Placement {
	if len(l.ahead) == 0 {
		if l.fill(); len(l.ahead) == 0 {
			return nil
		}
	}
	first := l.ahead[0]
	l.ahead = l.ahead[1:]
	l.last = first
	return first
}

// heldBack records that the rules exclude a placement from every free place until a time.
func (l *line) heldBack(until time.Time) { l.until = wake.Earliest(l.until, until) }

// held is what a plan remembers for the next one, by queue. It reduces the work but never
// changes the result.
type held map[string]heldLine

// heldLine records that the placements of a line up to upTo can use none of the places
// that had room.
type heldLine struct {
	queue *Queue
	room  []Place
	upTo  *Placement // nil means none
	until time.Time
}

// hold returns the heldLine of the line, for the next plan.
func (l *line) hold(p *planner) heldLine {
	h := heldLine{queue: l.queue, upTo: l.last, until: l.until}
	for i := range l.candidates {
		if c := &l.candidates[i]; p.room(c) {
			h.room = append(h.room, c.Place)
		}
	}
	return h
}

// resume skips placements that are known to be held back, unless another place has room
// now, or the queue or the rules for one have changed.
func (l *line) resume(h heldLine, p *planner) {
	if h.queue != l.queue || h.upTo == nil || (!h.until.IsZero() && !p.now.Before(h.until)) {
		return
	}
	for i := range l.candidates {
		if c := &l.candidates[i]; p.room(c) && !slices.Contains(h.room, c.Place) {
			return
		}
	}
	l.ahead, l.from, l.id = nil, waitingKey(h.upTo), h.upTo.ID
	l.last, l.until = h.upTo, h.until
}

// waitingKey returns a key that orders the placements of a queue by arrival.
func waitingKey(p *Placement) string { return store.Key(p.Queue) + p.Arrival }
