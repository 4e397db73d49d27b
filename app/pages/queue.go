package pages

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/placement"
)

// Held says what a placement waits for.
type Held string

// What holds placements.
const (
	NoProcess  Held = "no process"  // every candidate that the rules allow is full
	OverCap    Held = "latency cap" // a player is too far from every candidate with a free process
	NotAllowed Held = "not allowed" // the queue's filter or the request's locations exclude every other
	Activating Held = "activating"  // its game session is being started
	NoFleet    Held = "no fleet"    // no destination can host
	Placed     Held = "placed"
)

// Span is a part of a placement's time.
type Span struct {
	From int64 `json:"from_ms"` // since it was started
	Held Held  `json:"held"`
	Cap  int   `json:"cap,omitempty"` // the latency cap in force
}

// Bar is a placement in the waterfall of its queue.
type Bar struct {
	ID       string           `json:"id"`
	Status   placement.Status `json:"status"`
	Started  time.Time        `json:"started"`
	Ended    time.Time        `json:"ended,omitzero"`
	Deadline time.Time        `json:"deadline"`
	Players  int              `json:"players,omitempty"`
	Location string           `json:"location,omitempty"`
	Session  string           `json:"session,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Attempts int              `json:"attempts,omitempty"`
	Spans    []Span           `json:"spans"`
}

// Queue is a queue's page.
type Queue struct {
	placement.QueueState
	Held      map[Held]int        `json:"held"`    // pending placements by what holds them
	Waiting   []Bar               `json:"waiting"` // the longest waiting, at most 200
	Ended     []Bar               `json:"ended"`   // newest first
	Counts    map[string]int      `json:"counts"`  // of the range
	Quantiles map[string]*float64 `json:"quantiles"`
	Series    Series              `json:"series"`
	Waits     Series              `json:"waits"`
}

// barsMost is how many waiting placements a page shows one by one.
const barsMost = 200

// QueueList is the page of all queues.
type QueueList struct {
	Queues []QueueRow `json:"queues"`
}

// QueueRow is a queue in the list.
type QueueRow struct {
	placement.QueueState
	Placed int      `json:"placed"` // in the range
	Failed int      `json:"failed"`
	P90    *float64 `json:"p90"`
	Spark  Series   `json:"spark"`
}

// Queues returns the page of all queues.
func (p *Pages) Queues(s Range) *QueueList {
	out, now := &QueueList{Queues: []QueueRow{}}, time.Now()
	for _, q := range p.Placements.Overview() {
		h := p.queue(q.Name)
		row := QueueRow{QueueState: q}
		if h != nil {
			counts, took := h.in(now, s)
			row.Placed = counts[placed]
			row.Failed = counts["placement "+string(placement.Failed)] + counts["placement "+string(placement.TimedOut)]
			row.P90 = pointer(took[placed].quantile(.9))
			row.Spark = p.series(&h.history, now, s, []string{placed}, nil)
		}
		out.Queues = append(out.Queues, row)
	}
	return out
}

func pointer(v float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &v
}

// Queue returns a queue's page. Errors: NotFound.
func (p *Pages) Queue(name string, s Range) (*Queue, error) {
	view, now := p.Store.View(), time.Now()
	out := &Queue{Held: map[Held]int{}, Waiting: []Bar{}, Ended: []Bar{}, Counts: map[string]int{}, Quantiles: map[string]*float64{}}
	all := p.Placements.Overview()
	at := slices.IndexFunc(all, func(q placement.QueueState) bool { return q.Name == name })
	if at < 0 {
		return nil, fault.Missing("Name: game session queue %.128q does not exist", name)
	}
	out.QueueState = all[at]
	var pending []*placement.Placement
	for w := range p.Placements.Pending(view, name) {
		pending = append(pending, w)
	}
	slices.SortFunc(pending, func(a, b *placement.Placement) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	for i, w := range pending {
		b := bar(w)
		out.Held[b.Spans[len(b.Spans)-1].Held]++
		if i < barsMost {
			out.Waiting = append(out.Waiting, b)
		}
	}
	if h := p.queue(name); h != nil {
		for _, e := range h.ended.list() {
			out.Ended = append(out.Ended, bar(e))
		}
		counts, took := h.in(now, s)
		out.Counts, out.Quantiles = counts, took[placed].quantiles()
		out.Series = p.series(&h.history, now, s, []string{placed, "placement " + string(placement.Failed), "placement " + string(placement.TimedOut)}, nil)
		out.Waits = p.waits(&h.history, now, s, placed)
	}
	return out, nil
}

// bar returns a placement as it is drawn.
func bar(w *placement.Placement) Bar {
	b := Bar{
		ID: w.ID, Status: w.Status, Started: w.Started, Ended: w.Ended, Deadline: w.Deadline,
		Location: w.Location, Session: w.GameSessionID, Reason: w.Reason, Attempts: w.Attempts, Players: len(w.Placed),
	}
	for i := range w.Rounds {
		r := &w.Rounds[i]
		b.Spans = append(b.Spans, Span{From: max(0, r.At.Sub(w.Started).Milliseconds()), Held: heldBy(r), Cap: r.Cap})
	}
	switch {
	case len(b.Spans) == 0:
		b.Spans = append(b.Spans, Span{Held: Activating})
	case b.Spans[0].From > 0:
		b.Spans = append([]Span{{Held: b.Spans[0].Held, Cap: b.Spans[0].Cap}}, b.Spans...)
	}
	if (w.Trying() || w.Away()) && b.Spans[len(b.Spans)-1].Held != Activating {
		b.Spans = append(b.Spans, Span{From: b.Spans[len(b.Spans)-1].From, Held: Activating})
	}
	return b
}

// heldBy returns what holds a placement after a round.
func heldBy(r *placement.Round) Held {
	outcomes := map[placement.Outcome]bool{}
	for _, c := range r.Candidates {
		outcomes[c.Outcome] = true
	}
	switch {
	case outcomes[placement.Chosen]:
		return Activating
	case outcomes[placement.NoFreeProcess]:
		return NoProcess
	case outcomes[placement.OverLatencyCap]:
		return OverCap
	case outcomes[placement.NotAllowed], outcomes[placement.NotInOverride]:
		return NotAllowed
	}
	return NoFleet
}
