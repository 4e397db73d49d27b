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

// PartyEventKind is what a PartyEvent is about.
type PartyEventKind int

// The kinds of PartyEvent.
const (
	PartyChanged PartyEventKind = iota // Party is what it is now
	PartyMatched                       // the leader has asked for a match: Track the Ticket
	PartyLeft                          // the last event: the player is not in the party any more
	PartyError                         // the party could not be read; reading goes on
)

// PartyEvent is a change of a party.
type PartyEvent struct {
	Kind   PartyEventKind
	Party  Party          // of PartyChanged
	Ticket session.Ticket // of PartyMatched, as it was seen first
	Err    error          // of PartyError
}

// FollowParty tells what a party is, each change of it, and each ticket that its
// leader starts. It ends after PartyLeft: the player has left, was put out, or the
// party expired; or with ctx, then without an event. It is told by push, and asks
// every two seconds while there is none. That a consent runs out after its minute, the
// push does not tell.
func (c *Client) FollowParty(ctx context.Context, partyID string) iter.Seq[PartyEvent] {
	return func(yield func(PartyEvent) bool) {
		f := &partyFollower{c: c, id: partyID, tickets: map[string]bool{}, yield: yield}
		f.line = line{c: c, over: func() bool { return f.done }, take: f.take}
		f.run(ctx)
	}
}

// partyFollower follows one party.
type partyFollower struct {
	c       *Client
	id      string
	line    line
	last    Party           // that was told
	looked  bool            // look has seen it all once
	tickets map[string]bool // that were told, or are no news
	yield   func(PartyEvent) bool
	done    bool // the party is left, or nobody listens
}

// unhurried is the rest, as rest takes it, between two looks: about two seconds.
const unhurried = 3

func (f *partyFollower) run(ctx context.Context) {
	failures := 0
	for !f.done && ctx.Err() == nil {
		err := f.line.run(ctx)
		if f.done || ctx.Err() != nil {
			return
		}
		if err != nil { // else the server stops, and another takes over
			err = f.look(ctx)
		}
		switch {
		case f.done || ctx.Err() != nil:
			return
		case err != nil:
			f.tell(PartyEvent{Kind: PartyError, Err: err})
			failures++
			rest(ctx, max(failures, unhurried))
		default:
			failures = 0
			rest(ctx, unhurried)
		}
	}
}

// take acts on what the push tells.
func (f *partyFollower) take(ctx context.Context, m *protocol.Message) error {
	switch m.Type {
	case typeParty:
		var p Party
		if err := read(m, &p); err != nil {
			return err
		}
		f.see(p)
	case typeNoParty:
		f.left()
	case typeTicket:
		var t protocol.Ticket
		if err := read(m, &t); err != nil {
			return err
		}
		f.matched(&t)
	case typePong: // a party that was left before the push knew of it, it does not tell
		return f.look(ctx)
	}
	return nil
}

// look asks for the party and its tickets. Those that were over by the first look are
// no news, unless the push told of them.
func (f *partyFollower) look(ctx context.Context) error {
	p, err := f.c.Party(ctx, f.id)
	switch {
	case errors.Is(err, session.ErrNotFound):
		f.left()
		return nil
	case err != nil:
		return err
	}
	f.see(p)
	var all protocol.Tickets
	if err := f.c.call(ctx, call{method: http.MethodGet, path: ticketsPath}, &all); err != nil {
		return err
	}
	for i := range all.Items {
		t := &all.Items[i]
		if !f.looked && f.c.ticket(t).State.Terminal() {
			f.tickets[t.TicketID] = true
		}
		f.matched(t)
	}
	f.looked = true
	return nil
}

// see takes the party that the player is in.
func (f *partyFollower) see(p Party) {
	switch {
	case p.PartyID != f.id: // a player is in one at a time
		f.left()
	case !reflect.DeepEqual(p, f.last):
		f.last = p
		f.tell(PartyEvent{Kind: PartyChanged, Party: p})
	}
}

func (f *partyFollower) left() {
	f.tell(PartyEvent{Kind: PartyLeft})
	f.done = true
}

// matched takes a ticket: one of the party is told of once, also where it was
// quicker than the news of it.
func (f *partyFollower) matched(t *protocol.Ticket) {
	if t.PartyID != f.id || f.tickets[t.TicketID] {
		return
	}
	f.tickets[t.TicketID] = true
	f.tell(PartyEvent{Kind: PartyMatched, Ticket: f.c.ticket(t)})
}

// tell gives an event, unless the listener has gone.
func (f *partyFollower) tell(e PartyEvent) {
	if !f.done && !f.yield(e) {
		f.done = true
	}
}
