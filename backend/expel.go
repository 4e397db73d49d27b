package backend

import (
	"context"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// expel removes a player who was banned or deleted from everything in progress. What
// other services must stop is marked, so that a crash does not lose it.
func (b *Backend) expel(tx *store.Tx, player string) {
	for old := range b.t.ticketsOf.Equal(tx, player) {
		if !over(old.Found.State) {
			t := *old
			t.Expelled = true
			b.t.tickets.Put(tx, &t)
		}
	}
	for old := range b.t.placingsOf.Equal(tx, player) {
		if !old.over() {
			p := *old
			p.Expelled = true
			b.t.placings.Put(tx, &p)
		}
	}
	for p := range b.t.partiesOf.Equal(tx, player) {
		if _, err := b.runParty(tx, partyArgs{Do: partyLeave, Party: p.ID, By: player, Target: player}); err != nil {
			b.log.Error("player not taken out of a party", "party_id", p.ID, "player_id", player, "error", err)
		}
	}
	tx.OnCommit(func() {
		b.hub.wake([]string{player}) // whose connections then find that the login has ended
		select {
		case b.expelled <- struct{}{}:
		default:
		}
	})
}

// stopExpelled stops what expel has marked. What can no longer be stopped goes on
// without the player, who is not told where.
func (b *Backend) stopExpelled(ctx context.Context) {
	view := b.st.View()
	for t := range b.t.expelledTickets.Equal(view, "") {
		if err := b.matching.Stop(ctx, t.ID); err != nil {
			b.notStopped(ctx, "ticket_id", t.ID, err)
		}
		b.look(ctx, t)
	}
	for p := range b.t.expelledPlacings.Equal(view, "") {
		if _, _, err := b.opts.Placements.Stop(ctx, p.ID); err != nil {
			b.notStopped(ctx, "placement_id", p.ID, err)
		}
		b.lookPlacing(ctx, p)
	}
}

func (b *Backend) notStopped(ctx context.Context, kind, id string, err error) {
	if ctx.Err() == nil && !fault.Is(err, fault.InvalidRequest) && !fault.Is(err, fault.NotFound) {
		b.log.Error("what a player was taken out of is not stopped; will try again", kind, id, "error", err)
	}
}
