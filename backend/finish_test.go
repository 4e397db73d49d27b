package backend

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/session"
)

// telling is a database that calls a function before each commit.
type telling struct {
	store.Driver
	d *deaf
}

type tellingDB struct {
	store.DB
	d *deaf
}

// Open returns the database that makes these calls.
func (t telling) Open(ctx context.Context, cell string, schema store.Schema) (store.DB, error) {
	db, err := t.Driver.Open(ctx, cell, schema)
	return tellingDB{db, t.d}, err
}

// Commit calls the function, if it is set, before it commits.
func (t tellingDB) Commit(ctx context.Context, b *store.Batch) error {
	if t.d.committing != nil {
		t.d.committing()
	}
	return t.DB.Commit(ctx, b)
}

// hangsUpAt returns the context of a client that hangs up during the nth commit from now
// on; each commit takes a while.
func (d *deaf) hangsUpAt(n int, commit time.Duration) context.Context {
	ctx, hangUp := context.WithCancel(d.ctx)
	synctest.Wait()
	d.committing = func() {
		if n--; n == 0 {
			hangUp()
		}
		if n >= 0 {
			time.Sleep(commit)
		}
	}
	return ctx
}

// onlyTicket returns the one ticket that a player has.
func (d *deaf) onlyTicket(player string) string {
	d.Helper()
	all := slices.Collect(d.b.t.ticketsOf.Equal(d.b.st.View(), player))
	if len(all) != 1 {
		d.Fatalf("%s has %d tickets, want one", player, len(all))
	}
	return all[0].ID
}

// A client that hangs up while its request is written is matched as if it had not.
func TestStart_ClientHangsUp(t *testing.T) {
	t.Parallel()
	for n := range 2 {
		inDeaf(t, func(d *deaf) {
			ctx := d.hangsUpAt(n+1, time.Second)
			if _, err := d.b.start(ctx, "anna", "guest", &protocol.TicketRequest{Matchmaker: "alone"}); err != nil {
				t.Errorf("commit %d: %v", n+1, err)
			}
			d.ask("bert", "alone")
			time.Sleep(whole)
			d.wants(d.onlyTicket("anna"), protocol.TicketStateCompleted)
		})
	}
}

// If a matchmaker answers too late, the ticket may have been accepted and is not failed.
func TestStart_AnswerTooLate(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		if _, err := d.b.start(d.hangsUpAt(2, finishWithin-time.Second), "anna", "guest", &protocol.TicketRequest{Matchmaker: "alone"}); err == nil {
			t.Error("a ticket was taken in no time")
		}
		d.ask("bert", "alone")
		time.Sleep(whole)
		d.wants(d.onlyTicket("anna"), protocol.TicketStateCompleted)
	})
}

// The same for a game session: it is waited for until its queue gives up.
func TestPlace_ClientHangsUp(t *testing.T) {
	t.Parallel()
	for n := range 2 {
		inDeaf(t, func(d *deaf) {
			wish := placement.Request{MaxPlayers: 2, Players: []session.Joining{{PlayerID: "anna"}}}
			p, err := d.b.place(d.hangsUpAt(n+1, time.Second), &Pool{Name: "empty", Queue: "empty"}, "anna", wish)
			d.must(err)
			time.Sleep(patient + whole)
			if p = d.b.t.placings.Get(d.b.st.View(), p.ID); p.Seen.State != protocol.PlacementStateTimedOut {
				t.Errorf("commit %d: the game session is %q, want %q", n+1, p.Seen.State, protocol.PlacementStateTimedOut)
			}
		})
	}
}
