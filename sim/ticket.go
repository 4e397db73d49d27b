package sim

import (
	"time"

	"github.com/musterhq/muster/flexmatch/search"
)

// state is the state of a ticket.
type state int

const (
	searching state = iota
	asking          // its match waits for acceptance
	placing         // its match waits for a game session
	matched
	timedOut
	cancelled
	declined // a player rejected a match or did not answer
)

// ticket is a player ticket or a backfill ticket in play.
type ticket struct {
	*search.Ticket
	come  *arrival // nil for backfill
	game  *game    // for backfill
	state state
	match *proposal // while it is in one
	until time.Duration
}

// size returns the number of the ticket's new players.
func (t *ticket) size() int {
	if t.Backfill {
		return 0
	}
	return len(t.Players)
}

func (r *run) arrive(a *arrival) {
	t := r.newTicket(a.id, a.players)
	t.come = a
	r.tally.arrived(a)
	if a.patience > 0 {
		r.at(r.now+a.patience, func() { r.giveUp(t) })
	}
	r.search(t)
}

func (r *run) newTicket(id string, players []search.Player) *ticket {
	r.arrivals++
	t := &ticket{Ticket: &search.Ticket{ID: id, Created: r.time(), Arrival: r.arrivals, Players: players}}
	t.until = r.now + seconds(r.Spec.Matchmaking.RequestTimeout)
	r.tickets[t.Ticket] = t
	r.at(t.until, func() { r.expire(t) })
	return t
}

// search puts a ticket into the pool. A ticket past its timeout ends instead, and the
// backfill request of a game session that has changed since is replaced.
func (r *run) search(t *ticket) {
	t.state, t.match = searching, nil
	switch {
	case r.expire(t):
	case t.game != nil && t.game.stale:
		r.refill(t.game)
	default:
		r.pool.Add(t.Ticket)
	}
}

// expire times out a searching ticket if its time is over, and reports whether it did.
func (r *run) expire(t *ticket) bool {
	if t.state != searching || t.until > r.now {
		return false
	}
	if t.game != nil {
		r.end(t, timedOut)
		r.refill(t.game)
		return true
	}
	r.tally.unmatched(r, t)
	r.end(t, timedOut)
	return true
}

// giveUp cancels a ticket whose players have lost patience.
func (r *run) giveUp(t *ticket) {
	switch t.state {
	case searching:
		r.tally.unmatched(r, t)
	case asking:
		r.tally.unmatched(r, t)
		r.dissolve(t.match, func(o *ticket) bool { return o != t })
	default:
		return
	}
	r.end(t, cancelled)
}

// end removes a ticket from play.
func (r *run) end(t *ticket, s state) {
	t.state, t.match = s, nil
	r.pool.Remove(t.ID)
	delete(r.tickets, t.Ticket)
	if t.come != nil {
		r.tally.ended(r, t, s)
	}
	if t.game != nil && t.game.backfill == t {
		t.game.backfill = nil
	}
}
