package session

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Poller is a Tracker that polls tickets at intervals, with one request per ten tickets
// however many goroutines track. The zero value with Matchmaking set is ready to use; it
// must not be copied. It sends nothing while nobody tracks.
//
// The FlexMatch guide says to poll no more often than every ten seconds and to prefer
// events; a self-hosted service may take more.
type Poller struct {
	Matchmaking Matchmaking
	Every       time.Duration // interval of requests; default 10 s, at least 1 s
	// Backoff is the longest pause between requests while they fail; default 2 minutes.
	// Each failure doubles the pause.
	Backoff time.Duration

	mu      sync.Mutex
	watches map[*watch]struct{}
	wake    chan struct{} // of the running loop; nil while there is none
}

const (
	defaultEvery   = 10 * time.Second
	leastEvery     = time.Second
	defaultBackoff = 2 * time.Minute
	callTimeout    = 30 * time.Second
	missesUntilEnd = 3 // in a row, until a ticket counts as unknown
)

// watch is one tracker's interest in one ticket.
type watch struct {
	ticket string
	due    time.Time
	seen   TicketState
	missed int
	filled chan<- struct{} // of the tracker, of capacity 1

	pending *TicketEvent // not taken yet; guarded by the Poller's mu
}

// Track implements Tracker. A tracker that consumes events slowly gets only the newest
// event of each ticket.
func (p *Poller) Track(ctx context.Context, ticketIDs ...string) iter.Seq[TicketEvent] {
	return func(yield func(TicketEvent) bool) {
		filled := make(chan struct{}, 1)
		watches := p.add(ticketIDs, filled)
		defer p.remove(watches)
		for remaining := len(watches); remaining > 0; {
			select {
			case <-ctx.Done():
				return
			case <-filled:
			}
			for _, event := range p.pending(watches) {
				if !yield(event) {
					return
				}
				if event.Last() {
					remaining--
				}
			}
		}
	}
}

// pending removes and returns the events that a tracker has not taken yet: at most one of
// each ticket, so that a slow tracker blocks nobody and sees the latest state.
func (p *Poller) pending(watches []*watch) (events []TicketEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range watches {
		if w.pending != nil {
			events = append(events, *w.pending)
			w.pending = nil
		}
	}
	return events
}

func (p *Poller) add(ids []string, filled chan<- struct{}) []*watch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = map[*watch]struct{}{}
	}
	var watches []*watch
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		w := &watch{ticket: id, due: time.Now(), filled: filled}
		p.watches[w] = struct{}{}
		watches = append(watches, w)
	}
	p.start()
	return watches
}

// start starts or wakes the loop. It must be called with mu held.
func (p *Poller) start() {
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
		go p.loop(p.wake)
	}
	nudge(p.wake)
}

func (p *Poller) remove(watches []*watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range watches {
		delete(p.watches, w)
	}
	if p.wake != nil {
		nudge(p.wake) // it ends when nobody is left
	}
}

func nudge(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// loop polls the tickets that are due until nobody tracks any more.
func (p *Poller) loop(wake <-chan struct{}) {
	failures := 0
	for {
		due, next := p.take(time.Now())
		if next.IsZero() {
			return
		}
		if len(due) > 0 {
			failures = p.ask(due, failures)
			continue
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-wake:
			timer.Stop()
		}
	}
}

// take returns the watches that are due, along with those that will be soon so that
// requests are full; if none is due, it returns when the next one is. If nobody tracks,
// it records that the loop ends and returns the zero time.
func (p *Poller) take(now time.Time) (due []*watch, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.watches {
		if next.IsZero() || w.due.Before(next) {
			next = w.due
		}
	}
	if next.IsZero() {
		p.wake = nil
		return nil, next
	}
	if next.After(now) {
		return nil, next
	}
	for w := range p.watches {
		if w.due.Before(now.Add(p.every() / 4)) {
			due = append(due, w)
		}
	}
	return due, next
}

func (p *Poller) every() time.Duration {
	return max(cmp.Or(p.Every, defaultEvery), leastEvery)
}

// ask requests tickets once and notifies their watchers. It returns the number of
// consecutive failures.
func (p *Poller) ask(due []*watch, failures int) int {
	ids := make([]string, 0, len(due))
	for _, w := range due {
		if !slices.Contains(ids, w.ticket) {
			ids = append(ids, w.ticket)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	tickets, err := p.Matchmaking.DescribeTickets(ctx, ids...)
	cancel()
	failures++
	if err == nil {
		failures = 0
	}
	p.postpone(due, failures)
	found := make(map[string]Ticket, len(tickets))
	for _, t := range tickets {
		found[t.ID] = t
	}
	for _, w := range due {
		p.tell(w, found, err)
	}
	return failures
}

func (p *Poller) postpone(due []*watch, failures int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := p.every() << min(failures, 16)
	if failures > 0 {
		pause = min(pause, max(cmp.Or(p.Backoff, defaultBackoff), p.every()))
	}
	pause += time.Duration((rand.Float64() - 0.5) * 0.2 * float64(pause)) // ±10 %
	for _, w := range due {
		w.due = time.Now().Add(pause)
	}
}

// tell notifies a watcher of what the answer means for it. Only the loop accesses seen
// and missed.
func (p *Poller) tell(w *watch, found map[string]Ticket, err error) {
	event, tell := w.observe(found, err)
	if !tell {
		return
	}
	if event.Last() {
		p.remove([]*watch{w})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.pending == nil || event.Kind != TrackError || event.Last() { // a temporary error replaces no change of state
		w.pending = &event
	}
	nudge(w.filled)
}

func (w *watch) observe(found map[string]Ticket, err error) (TicketEvent, bool) {
	if err != nil && !errors.Is(err, ErrNotFound) {
		return TicketEvent{Kind: TrackError, Ticket: Ticket{ID: w.ticket}, Err: err}, true
	}
	t, ok := found[w.ticket]
	if !ok {
		w.missed++
		return TicketEvent{Kind: TrackError, Ticket: Ticket{ID: w.ticket}, Err: ErrNotFound}, w.missed == missesUntilEnd
	}
	w.missed = 0
	if t.State == w.seen {
		return TicketEvent{}, false
	}
	w.seen = t.State
	return Observed(t), true
}
