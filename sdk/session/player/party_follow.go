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

// PartyEventKind is the kind of a PartyEvent.
type PartyEventKind int

// The kinds of PartyEvent.
const (
	PartyChanged PartyEventKind = iota // Party is its new content
	PartyMatched                       // the leader requested a match: Track the Ticket
	PartyLeft                          // the last event: the player is no longer in the party
	PartyError                         // the party could not be read; following continues
)

// PartyEvent is a change of a party.
type PartyEvent struct {
	Kind   PartyEventKind
	Party  Party          // for PartyChanged
	Ticket session.Ticket // for PartyMatched, as first seen
	Err    error          // for PartyError
}

// FollowParty yields the party, each change of it, and each ticket that its leader
// starts. It ends after PartyLeft (the player left or was removed, or the party
// expired), or when ctx ends, then without an event. It uses push, and polls every
// two seconds while there is none. The push does not report that a member's Ready has
// expired after its minute.
func (c *Client) FollowParty(ctx context.Context, partyID string) iter.Seq[PartyEvent] {
	return func(yield func(PartyEvent) bool) {
		f := &partyFollower{c: c, id: partyID, tickets: map[string]bool{}, yield: yield}
		f.line = line{c: c, over: func() bool { return f.done }, take: f.take}
		f.run(ctx)
	}
}

type partyFollower struct {
	c       *Client
	id      string
	line    line
	last    Party           // last one reported
	looked  bool            // look has succeeded once
	tickets map[string]bool // reported, or not new
	yield   func(PartyEvent) bool
	done    bool // the party was left, or the caller stopped
}

// unhurried is the failures argument of rest between two polls: about two seconds.
const unhurried = 3

func (f *partyFollower) run(ctx context.Context) {
	live := func() bool { return !f.done && ctx.Err() == nil }
	for failures := 0; live(); {
		err := f.line.run(ctx)
		if err != nil && live() { // else the server is stopping, and another takes over
			err = f.look(ctx)
		}
		if !live() {
			return
		}
		if err == nil {
			failures = 0
		} else {
			failures++
			f.tell(PartyEvent{Kind: PartyError, Err: err})
		}
		rest(ctx, max(failures, unhurried))
	}
}

func (f *partyFollower) take(ctx context.Context, m *protocol.Message) error {
	switch m.Type {
	case protocol.MessageParty:
		var p Party
		if err := read(m, &p); err != nil {
			return err
		}
		f.see(p)
	case protocol.MessagePartyLeft:
		f.left()
	case protocol.MessageTicket:
		var t protocol.Ticket
		if err := read(m, &t); err != nil {
			return err
		}
		f.matched(&t)
	case protocol.MessagePong: // the push does not report a party that was left before it started
		return f.look(ctx)
	}
	return nil
}

// look reads the party and its tickets. Tickets that had ended by the first look are
// not new, unless the push reported them.
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
	if err := f.c.account.call(ctx, call{method: http.MethodGet, path: ticketsPath}, &all); err != nil {
		return err
	}
	for i := range all.Items {
		t := &all.Items[i]
		if !f.looked && ticketOf(t, f.c.PlayerID()).State.Terminal() {
			f.tickets[t.TicketID] = true
		}
		f.matched(t)
	}
	f.looked = true
	return nil
}

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

// matched reports a ticket of the party once, even if it arrives before the party's
// own change.
func (f *partyFollower) matched(t *protocol.Ticket) {
	if t.PartyID != f.id || f.tickets[t.TicketID] {
		return
	}
	f.tickets[t.TicketID] = true
	f.tell(PartyEvent{Kind: PartyMatched, Ticket: ticketOf(t, f.c.PlayerID())})
}

func (f *partyFollower) tell(e PartyEvent) {
	if !f.done && !f.yield(e) {
		f.done = true
	}
}
