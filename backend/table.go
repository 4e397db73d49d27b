package backend

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables holds the package's tables and indexes. Rows live for hours at most, so none is
// archived.
type tables struct {
	tickets          *store.Table[Ticket]
	openTickets      *store.Index[Ticket] // not ended
	expelledTickets  *store.Index[Ticket] // not ended
	ticketsOf        *store.Index[Ticket] // by player
	ticketExpires    *store.Index[Ticket] // ended
	parties          *store.Table[Party]
	partyByCode      *store.Index[Party]
	partiesOf        *store.Index[Party] // by member
	partyExpires     *store.Index[Party]
	placings         *store.Table[Placing]
	openPlacings     *store.Index[Placing]
	expelledPlacings *store.Index[Placing]
	placingsOf       *store.Index[Placing] // by player
	placingExpires   *store.Index[Placing] // ended
}

func newTables(st *store.Store) tables {
	var t tables
	newTicketTable(st, &t)
	newPartyTable(st, &t)
	newPlacingTable(st, &t)
	return t
}

func newTicketTable(st *store.Store, t *tables) {
	t.tickets = store.NewTable(st, store.TableSpec[Ticket]{Name: "play_ticket", Key: func(t *Ticket) string { return t.ID }})
	t.openTickets = store.NewIndex(t.tickets, "open", func(t *Ticket, emit func(string)) {
		if !over(t.Found.State) {
			emit("")
		}
	})
	t.expelledTickets = store.NewIndex(t.tickets, "expelled", func(t *Ticket, emit func(string)) {
		if t.Expelled && !over(t.Found.State) {
			emit("")
		}
	})
	t.ticketsOf = store.NewIndex(t.tickets, "player", func(t *Ticket, emit func(string)) {
		for _, p := range t.Players {
			emit(p)
		}
	})
	t.ticketExpires = store.NewIndex(t.tickets, "expires", func(t *Ticket, emit func(string)) {
		if over(t.Found.State) {
			emit(store.TimeKey(t.Expires))
		}
	})
}

func newPartyTable(st *store.Store, t *tables) {
	t.parties = store.NewTable(st, store.TableSpec[Party]{Name: "play_party", Key: func(p *Party) string { return p.ID }})
	t.partyByCode = store.NewIndex(t.parties, "code", func(p *Party, emit func(string)) { emit(p.Code) })
	t.partiesOf = store.NewIndex(t.parties, "player", func(p *Party, emit func(string)) {
		for _, m := range p.Members {
			emit(m.PlayerID)
		}
	})
	t.partyExpires = store.NewIndex(t.parties, "expires", func(p *Party, emit func(string)) { emit(store.TimeKey(p.Expires)) })
}

func newPlacingTable(st *store.Store, t *tables) {
	t.placings = store.NewTable(st, store.TableSpec[Placing]{Name: "play_placement", Key: func(p *Placing) string { return p.ID }})
	t.openPlacings = store.NewIndex(t.placings, "open", func(p *Placing, emit func(string)) {
		if !p.over() {
			emit("")
		}
	})
	t.expelledPlacings = store.NewIndex(t.placings, "expelled", func(p *Placing, emit func(string)) {
		if p.Expelled && !p.over() {
			emit("")
		}
	})
	t.placingsOf = store.NewIndex(t.placings, "player", func(p *Placing, emit func(string)) { emit(p.PlayerID) })
	t.placingExpires = store.NewIndex(t.placings, "expires", func(p *Placing, emit func(string)) {
		if p.over() {
			emit(store.TimeKey(p.Expires))
		}
	})
}

// runSweep deletes expired rows, and reports whether there are more. An open row stays,
// however long its matchmaker takes; the reconciler ends those that were lost.
func (b *Backend) runSweep(tx *store.Tx, _ struct{}) (more bool, err error) {
	now := tx.Now()
	for t := range b.t.ticketExpires.Due(tx, now) {
		b.t.tickets.Delete(tx, t.ID)
	}
	for p := range b.t.partyExpires.Due(tx, now) {
		b.t.parties.Delete(tx, p.ID)
		tx.OnCommit(func() { b.hub.wake(p.players()) })
	}
	for p := range b.t.placingExpires.Due(tx, now) {
		b.t.placings.Delete(tx, p.ID)
	}
	return b.anyExpired(tx, now), nil
}

// anyExpired reports whether a sweep would delete anything.
func (b *Backend) anyExpired(r store.Reader, now time.Time) bool {
	return b.t.ticketExpires.AnyDue(r, now) || b.t.partyExpires.AnyDue(r, now) || b.t.placingExpires.AnyDue(r, now)
}
