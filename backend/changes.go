package backend

import (
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// changed is a changed row that a player is to be sent.
type changed struct {
	at   string // its Change
	kind string
	data any
}

// changes sends the player what has changed since the cursor.
func (c *socket) changes(player string, cursor *string) error {
	for _, m := range c.news(player, cursor) {
		if err := c.send(m); err != nil {
			return err
		}
	}
	return nil
}

// news returns the rows of the player that changed since the cursor, in the order of
// their changes; without a cursor, those that have not ended. It moves the cursor.
func (c *socket) news(player string, cursor *string) (all []protocol.Message) {
	rows, newest, inParty := c.of.changedSince(player, *cursor)
	for _, row := range rows {
		c.inParty = c.inParty || row.kind == protocol.MessageParty
		m := message(row.kind, "", row.data)
		m.Cursor = c.cursorAt(row.at)
		all = append(all, m)
	}
	*cursor = max(*cursor, newest, "0") // so that rows that ended before are not sent later
	if c.inParty && !inParty {
		c.inParty = false // the row that would report it no longer exists
		all = append(all, protocol.Message{Type: protocol.MessagePartyLeft, Cursor: c.cursorAt(*cursor)})
	}
	return all
}

// partyMark ends the cursors of clients that know that they are in a party.
const partyMark = ".party"

func (c *socket) cursorAt(change string) string {
	if c.inParty {
		return change + partyMark
	}
	return change
}

// changedSince returns the rows of a player that are to be sent on a connection, the
// newest change of all rows, and whether the player is in a party.
func (s *sockets) changedSince(player, cursor string) (rows []changed, newest string, inParty bool) {
	view, now := s.st.View(), time.Now()
	add := func(at, kind string, over bool, data func() any) {
		newest = max(newest, at)
		if at > cursor && (cursor != "" || !over) {
			rows = append(rows, changed{at, kind, data()})
		}
	}
	for t := range s.lobby.Tickets.Of(view, player) {
		add(t.Change, protocol.MessageTicket, t.Over(), func() any { return ticketOut(s.lobby.Tickets, t, player) })
	}
	if p := s.lobby.Parties.Of(view, player); p != nil {
		inParty = true
		add(p.Change, protocol.MessageParty, false, func() any { return partyOut(p, now) })
	}
	for p := range s.lobby.Placements.Of(view, player) {
		add(p.Change, protocol.MessagePlacement, p.Over(), func() any { return placementOut(p) })
	}
	slices.SortFunc(rows, func(a, b changed) int { return strings.Compare(a.at, b.at) })
	return rows, newest, inParty
}
