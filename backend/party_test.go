package backend

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/sdk/session/player/protocol"
)

func (d *deaf) party(a partyArgs) *Party {
	d.Helper()
	p, err := d.b.cmd.party.Do(d.ctx, a)
	d.must(err)
	return p
}

// readyParty returns a party of anna, who leads it, and bert, who is ready.
func (d *deaf) readyParty() *Party {
	d.Helper()
	p := d.party(partyArgs{Do: partyCreate, By: "anna", New: Party{Matchmaker: "alone", Max: 2}})
	d.party(partyArgs{Do: partyJoin, By: "bert", Code: p.Code})
	return d.party(partyArgs{Do: partyChange, Party: p.ID, By: "bert", Member: PartyMember{Ready: time.Now()}})
}

// A member who leaves, or is no longer ready, is on no ticket, even if the leader
// requests one before that is durable.
func TestParty_ConsentTakenBackMeanwhile(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []partyArgs{{Do: partyLeave, By: "bert", Target: "bert"}, {Do: partyChange, By: "bert"}} {
		inDeaf(t, func(d *deaf) {
			p := d.readyParty()
			d.hangsUpAt(1, time.Second) // the commit takes a while
			meanwhile.Party = p.ID
			left := make(chan error)
			go func() { _, err := d.b.cmd.party.Do(d.ctx, meanwhile); left <- err }()
			synctest.Wait()
			_, err := d.b.start(d.ctx, "anna", "guest", &protocol.TicketRequest{Matchmaker: "alone", PartyID: p.ID})
			if got, _ := problemOf(err); err == nil || got.code != "party-not-ready" {
				t.Errorf("after %q: got %v, want party-not-ready", meanwhile.Do, err)
			}
			d.must(<-left)
			if d.b.t.ticketsOf.First(d.b.st.View(), "bert") != nil {
				t.Errorf("after %q: bert is on a ticket", meanwhile.Do)
			}
		})
	}
}

// A ticket uses up the members' consent, whatever its outcome.
func TestParty_ConsentIsUsedUp(t *testing.T) {
	t.Parallel()
	inDeaf(t, func(d *deaf) {
		p := d.readyParty()
		_, _ = d.b.start(d.ctx, "anna", "guest", &protocol.TicketRequest{Matchmaker: "alone", PartyID: p.ID})
		if d.b.t.ticketsOf.First(d.b.st.View(), "bert") == nil {
			t.Fatal("bert is on no ticket")
		}
		if now := d.b.t.parties.Get(d.b.st.View(), p.ID); now.member("bert").ready(time.Now()) {
			t.Error("bert is ready for another match")
		}
	})
}

// A player who is removed from a party, or whose party expires, is woken and told, once;
// so is one who reconnects with a cursor that says that they knew of the party.
func TestParty_LeftIsTold(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*deaf, *Party){
		"put out": func(d *deaf, p *Party) {
			d.party(partyArgs{Do: partyLeave, Party: p.ID, By: "anna", Target: "bert"})
		},
		"expired": func(*deaf, *Party) { time.Sleep(partyKept + whole) },
	} {
		inDeaf(t, func(d *deaf) {
			p := d.readyParty()
			stays, cursor := &socket{b: d.b}, ""
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
			waits, stop := d.b.hub.watch("bert")
			defer stop()
			end(d, p)
			select {
			case <-waits.nudge:
			default:
				t.Errorf("%s: not woken", name)
			}
			for _, c := range []*socket{stays, {b: d.b, inParty: true}} {
				at := before
				if first, then := told(c, &at), told(c, &at); !slices.Equal(first, []string{protocol.MessagePartyLeft}) || then != nil {
					t.Errorf("%s: told %q, then %q", name, first, then)
				}
			}
			if got := told(&socket{b: d.b}, &before); got != nil {
				t.Errorf("%s: who knew of no party is told %q", name, got)
			}
		})
	}
}
