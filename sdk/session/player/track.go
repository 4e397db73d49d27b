package player

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Constants of following tickets.
const (
	pollWait     = 20 * time.Second // the API allows 25 s
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	missesToEnd  = 3 // in a row, until a ticket counts as unknown
)

// Track implements session.Tracker: by push over its own WebSocket, and with long
// polls if there is none. After an interruption, what happened in the meantime is
// reported. A player has at most three WebSockets; a new one closes the oldest, and what
// that followed is polled from then on.
func (c *Client) Track(ctx context.Context, ticketIDs ...string) iter.Seq[session.TicketEvent] {
	return func(yield func(session.TicketEvent) bool) {
		f := &follower{c: c, open: map[string]*followed{}, yield: yield}
		f.line = line{c: c, cursor: "0", over: f.over, take: f.take}
		for _, id := range ticketIDs {
			f.open[id] = &followed{}
		}
		f.run(ctx)
	}
}

type follower struct {
	c     *Client
	line  line
	open  map[string]*followed
	yield func(session.TicketEvent) bool
	gone  bool // the caller stopped
}

type followed struct {
	state  session.TicketState
	seq    int64
	missed int
}

func (f *follower) run(ctx context.Context) {
	for failures := 0; !f.over() && ctx.Err() == nil; {
		err := f.line.run(ctx)
		if err == nil { // the server is stopping; another takes over, or it comes back
			failures = 0
			rest(ctx, failures)
			continue
		}
		if f.over() || ctx.Err() != nil {
			return
		}
		if f.pollAll(ctx, err) {
			failures = 0
			continue
		}
		failures++
		rest(ctx, failures)
	}
}

func (f *follower) take(ctx context.Context, m *protocol.Message) error {
	switch m.Type {
	case protocol.MessageTicket:
		var t protocol.Ticket
		if err := read(m, &t); err != nil {
			return err
		}
		f.see(&t)
	case protocol.MessagePong:
		return f.unseen(ctx)
	}
	return nil
}

// unseen polls the tickets that the push did not report: they were deleted or never
// existed.
func (f *follower) unseen(ctx context.Context) error {
	for id, k := range f.open {
		for k.seq == 0 && f.open[id] != nil && ctx.Err() == nil {
			if err := f.poll(ctx, id, 0); err != nil {
				f.trouble(id, err)
				if f.open[id] != nil {
					return err
				}
			}
			if k.missed > 0 && f.open[id] != nil {
				rest(ctx, k.missed)
			}
		}
	}
	return nil
}

func (f *follower) over() bool { return f.gone || len(f.open) == 0 }

// rest waits before another attempt: longer each time, with jitter.
func rest(ctx context.Context, failures int) {
	d := min(firstPause<<min(failures, 10), longestPause)
	timer := time.NewTimer(time.Duration(float64(d) * (0.5 + rand.Float64())))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (f *follower) tell(e session.TicketEvent) {
	if !f.gone && !f.yield(e) {
		f.gone = true
	}
}

// see handles a ticket's state and yields an event if it changed. States older than
// the last one are ignored.
func (f *follower) see(t *protocol.Ticket) {
	k := f.open[t.TicketID]
	if k == nil || t.Seq < k.seq {
		return
	}
	now := ticketOf(t, f.c.PlayerID())
	k.seq, k.missed = t.Seq, 0
	if now.State == k.state {
		return
	}
	k.state = now.State
	if now.State.Terminal() {
		delete(f.open, t.TicketID)
	}
	f.tell(session.Observed(now))
}

func (f *follower) trouble(id string, err error) {
	f.tell(session.TicketEvent{Kind: session.TrackError, Ticket: session.Ticket{ID: id}, Err: err})
}

// pollAll polls each ticket; if only one is left and there is no push, it waits for a
// change. It reports whether the server made it wait or had news: otherwise polling
// again immediately would flood the server. why is the reason there is no push.
func (f *follower) pollAll(ctx context.Context, why error) (answered bool) {
	ids := slices.Sorted(maps.Keys(f.open))
	for _, id := range ids {
		wait := time.Duration(0)
		if len(ids) == 1 && errors.Is(why, errNoSocket) {
			wait = pollWait
		}
		begun, seq := time.Now(), f.open[id].seq
		err := f.poll(ctx, id, wait)
		switch {
		case f.over() || ctx.Err() != nil:
			return true
		case err == nil:
			news := f.open[id] == nil || f.open[id].seq != seq
			answered = answered || wait > 0 && (news || time.Since(begun) >= firstPause)
		default:
			f.trouble(id, err)
		}
	}
	return answered
}

// poll reads one ticket. A ticket that is not found is tried again later, and given
// up after missesToEnd attempts.
func (f *follower) poll(ctx context.Context, id string, wait time.Duration) error {
	k := f.open[id]
	var t protocol.Ticket
	err := f.c.account.poll(ctx, ticketPath(id), k.seq, wait, &t)
	if err == nil && t.TicketID != "" {
		f.see(&t)
	}
	if !errors.Is(err, session.ErrNotFound) {
		return err
	}
	if k.missed++; k.missed < missesToEnd {
		return nil
	}
	delete(f.open, id)
	return err
}
