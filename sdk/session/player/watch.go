package player

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"reflect"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// PushState says how Watch receives changes.
type PushState string

// The values of PushState.
const (
	PushConnected    PushState = "connected"    // over the WebSocket
	PushReconnecting PushState = "reconnecting" // the WebSocket was interrupted; changes will be reported late
	PushPolling      PushState = "polling"      // by polling every two seconds, until there is a WebSocket again
)

// Change is what Watch reports. Exactly one field is set.
type Change struct {
	Push      PushState          // how changes are received from now on
	Ticket    *session.Ticket    // as it is now
	Party     *Party             // the player's party, as it is now
	PartyLeft bool               // the player is no longer in a party
	Placement *session.Placement // of a game session that the player created
}

// Watch yields what the player has under way, and then each change of the player's
// tickets, party and placements, until ctx ends or newer connections of the player have
// replaced this one (a player has at most three). It uses push. If that fails three times in
// a row, it polls the tickets, and the party and placements that it has seen, and continues
// to try push. After an interruption it reports the present state of what has changed.
func (c *Client) Watch(ctx context.Context) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		w := &watcher{c: c, yield: yield, tickets: map[string]int64{}, placements: map[string]int64{}}
		w.line = line{c: c, over: func() bool { return w.gone }, take: w.take}
		w.run(ctx)
	}
}

type watcher struct {
	c     *Client
	line  line
	yield func(Change) bool
	gone  bool // the caller stopped

	state      PushState
	tickets    map[string]int64 // the seq last seen, by id
	placements map[string]int64 // the same, of those that have not ended
	party      Party            // the last one seen; without an id there is none
	looked     bool             // the tickets have been polled once
}

// pushMisses is how many attempts in a row fail until Watch polls.
const pushMisses = 3

func (w *watcher) run(ctx context.Context) {
	live := func() bool { return !w.gone && ctx.Err() == nil }
	for failures := 0; live(); {
		err := w.line.run(ctx)
		if !live() || w.line.replaced {
			return
		}
		if w.state == PushConnected {
			failures = 0
		}
		failures++
		if !errors.Is(err, errNoSocket) && failures < pushMisses {
			w.now(PushReconnecting)
			rest(ctx, failures)
			continue
		}
		w.now(PushPolling)
		w.poll(ctx)
		rest(ctx, unhurried)
	}
}

func (w *watcher) tell(c Change) {
	if !w.gone && !w.yield(c) {
		w.gone = true
	}
}

func (w *watcher) now(s PushState) {
	if w.state != s {
		w.state = s
		w.tell(Change{Push: s})
	}
}

func (w *watcher) take(_ context.Context, m *protocol.Message) error {
	switch m.Type {
	case protocol.MessageReady:
		w.now(PushConnected)
	case protocol.MessageTicket:
		var t protocol.Ticket
		if err := read(m, &t); err != nil {
			return err
		}
		w.seeTicket(&t)
	case protocol.MessageParty:
		var p Party
		if err := read(m, &p); err != nil {
			return err
		}
		w.seeParty(p)
	case protocol.MessagePartyLeft:
		w.seeParty(Party{})
	case protocol.MessagePlacement:
		var p protocol.Placement
		if err := read(m, &p); err != nil {
			return err
		}
		w.seePlacement(&p)
	}
	return nil
}

// mostTickets is how many tickets are remembered; a player has one at a time, and Muster
// forgets them after an hour.
const mostTickets = 1000

func (w *watcher) seeTicket(t *protocol.Ticket) {
	if t.Seq <= w.tickets[t.TicketID] {
		return
	}
	if len(w.tickets) >= mostTickets {
		clear(w.tickets)
	}
	w.tickets[t.TicketID] = t.Seq
	ticket := ticketOf(t, w.c.PlayerID())
	w.tell(Change{Ticket: &ticket})
}

func (w *watcher) seeParty(p Party) {
	if reflect.DeepEqual(p, w.party) {
		return
	}
	if w.party = p; p.PartyID == "" {
		w.tell(Change{PartyLeft: true})
		return
	}
	w.tell(Change{Party: &p})
}

func (w *watcher) seePlacement(p *protocol.Placement) {
	if p.Seq <= w.placements[p.PlacementID] {
		return
	}
	out, _ := ended(p, w.c.PlayerID()) // the error repeats the status
	if w.placements[p.PlacementID] = p.Seq; out.Status.Ended() {
		delete(w.placements, p.PlacementID)
	}
	w.tell(Change{Placement: &out})
}

// poll reads what may have changed. Tickets that had ended by the first look are not new.
// Errors are those of the next attempt, too.
func (w *watcher) poll(ctx context.Context) {
	var all protocol.Tickets
	if err := w.c.account.call(ctx, call{method: http.MethodGet, path: ticketsPath}, &all); err == nil {
		for i := range all.Items {
			t := &all.Items[i]
			if !w.looked && w.tickets[t.TicketID] == 0 && ticketOf(t, "").State.Terminal() {
				w.tickets[t.TicketID] = t.Seq
			}
			w.seeTicket(t)
		}
		w.looked = true
	}
	if w.party.PartyID != "" {
		switch p, err := w.c.Party(ctx, w.party.PartyID); {
		case err == nil:
			w.seeParty(p)
		case errors.Is(err, session.ErrNotFound):
			w.seeParty(Party{})
		}
	}
	for id := range w.placements {
		var p protocol.Placement
		if _, err := pollPlacement(ctx, &w.c.account, id, &p); err == nil {
			w.seePlacement(&p)
		}
	}
}
