package sim

import (
	"strconv"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/search"
)

// ticket is a player ticket or a backfill ticket in play. Its id is that of arrival,
// since those of a trace may repeat.
type ticket struct {
	search.Ticket
	row  life.Ticket
	come *arrival // nil for backfill
	game *game    // for backfill
}

func (r *run) arrive(a *arrival) {
	t := r.newTicket(a.players, a, nil)
	r.tally.arrived(a)
	if a.patience > 0 {
		r.at(r.now+a.patience, func() { r.giveUp(t) })
	}
	r.change().Search(&t.row)
}

// newTicket returns a QUEUED ticket of players or, with a game session, its backfill.
func (r *run) newTicket(players []search.Player, come *arrival, g *game) *ticket {
	r.arrivals++
	id := strconv.FormatUint(1e12+r.arrivals, 10) // all have 13 digits, so they sort by arrival
	t := &ticket{
		Ticket: search.Ticket{ID: id, Created: r.time(), Arrival: r.arrivals, Players: players, Backfill: g != nil}, come: come, game: g,
		row: life.Ticket{ID: id, Arrival: id, Deadline: r.time().Add(r.timeout), Backfill: g != nil, Members: make([]life.Member, len(players))},
	}
	for i := range players {
		t.row.Members[i].PlayerID = strconv.Itoa(i)
	}
	if g != nil {
		t.row.GameSessionID = g.id
	}
	t.row.Start()
	r.tickets[id] = t
	r.at(r.now+r.timeout, func() { r.expire(t) })
	return t
}

// Write adds a ticket to the pool if it is SEARCHING, and removes it if it has ended. A
// backfill ticket whose game session has changed since is replaced instead of added.
func (r *run) Write(row *life.Ticket, why life.Cause) {
	t := r.tickets[row.ID]
	if why == life.Overdue {
		r.tally.unmatched(r, t)
	}
	switch {
	case row.Status.Over():
		r.end(t, why)
	case row.Status != life.Searching:
	case t.game != nil && t.game.stale:
		r.refill(t.game)
	default:
		r.pool.Add(&t.Ticket)
	}
}

// expire times out a ticket that still waits.
func (r *run) expire(t *ticket) {
	if t.row.Status.Waits() {
		r.change().End(&t.row, life.Overdue)
	}
}

// giveUp cancels a ticket whose players have lost patience.
func (r *run) giveUp(t *ticket) {
	if t.row.CannotStop() == nil {
		r.tally.unmatched(r, t)
		r.change().End(&t.row, life.Stopped)
	}
}

func (r *run) end(t *ticket, why life.Cause) {
	r.pool.Remove(t.ID)
	delete(r.tickets, t.ID)
	if t.come != nil {
		r.tally.ended(r, t, why)
	}
	if t.game != nil && t.game.backfill == t {
		t.game.backfill = nil
	}
}
