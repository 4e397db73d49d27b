package backend

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/lobby"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// A player who is removed from a party, or whose party expires, is notified once; so is
// one who reconnects with a cursor that shows that they knew of the party.
func TestParty_LeftIsTold(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*house, *lobby.Party){
		"put out": func(h *house, p *lobby.Party) { h.Must(h.lobby.Parties.Leave(h.Ctx, "anna", p.ID, "bert")) },
		"expired": func(*house, *lobby.Party) { wait.Pass(31 * time.Minute) },
	} {
		inHouse(t, func(h *house) {
			p, err := h.lobby.Parties.Create(h.Ctx, "anna", "alone", 2)
			h.Must(err)
			_, err = h.lobby.Parties.Join(h.Ctx, "bert", p.Code)
			h.Must(err)
			stays, cursor := &socket{of: h.b.sockets}, ""
			told := func(c *socket, cursor *string) (kinds []string) {
				for _, m := range c.news("bert", cursor) {
					kinds = append(kinds, m.Type)
					if strings.HasSuffix(m.Cursor, partyMark) != c.inParty {
						t.Errorf("%s: %s has the cursor %q", name, m.Type, m.Cursor)
					}
				}
				return kinds
			}
			if got := told(stays, &cursor); !slices.Equal(got, []string{protocol.MessageParty}) {
				t.Errorf("%s: a member is told %q", name, got)
			}
			before := cursor
			waits := h.b.hub.begin("bert")
			defer h.b.hub.end("bert", waits)
			end(h, p)
			select {
			case <-waits.changed:
			default:
				t.Errorf("%s: not woken", name)
			}
			for _, c := range []*socket{stays, {of: h.b.sockets, inParty: true}} {
				at := before
				if first, then := told(c, &at), told(c, &at); !slices.Equal(first, []string{protocol.MessagePartyLeft}) || then != nil {
					t.Errorf("%s: told %q, then %q", name, first, then)
				}
			}
			if got := told(&socket{of: h.b.sockets}, &before); got != nil {
				t.Errorf("%s: who knew of no party is told %q", name, got)
			}
		})
	}
}

// A change is not due before the player is known, nor before the greeting, which includes it, nor
// is it missed if another goroutine writes that.
func TestSocket_GreetsFirst(t *testing.T) {
	t.Parallel()
	inHouse(t, func(h *house) {
		player, token := h.guest()
		access, err := h.ids.Tokens.Verify(token)
		h.Must(err)
		unknown := &socket{}
		if unknown.notify(changes); unknown.due != 0 || unknown.writing {
			t.Errorf("before the player is known: due %b, writing %v", unknown.due, unknown.writing)
		}
		c := &socket{of: h.b.sockets, writing: true} // by this test
		c.become(access, "")
		h.b.sockets.door.wake([]string{player})
		if _, due := c.take(); due != greeting|changes {
			t.Errorf("due: %b", due)
		}
	})
}
