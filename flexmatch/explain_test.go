package flexmatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// skilled matches one against one within 50 of skill, and within 100 after half a minute.
const skilled = `{"ruleLanguageVersion": "1.0", "playerAttributes": [{"name": "skill", "type": "number", "default": 7}],
	"teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1}, {"name": "blue", "minPlayers": 1, "maxPlayers": 1}],
	"rules": [{"name": "Window", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 50}],
	"expansions": [{"target": "rules[Window].maxDistance", "steps": [{"waitTimeSeconds": 30, "value": 100}]}]}`

// A match happens when the explanation promises it: not before, and at most a pass later.
func TestExplain_PromiseIsKept(t *testing.T) {
	inCell(t, func(c *cell) {
		c.configure("mm", skilled, Configuration{Mode: Standalone})
		c.enter("mm", "a", "ann")
		skill := 90.0
		_, _, err := c.matches.Start(c.Ctx, StartInput{Configuration: "mm", TicketID: "b", Players: []Player{{ID: "bob", Attributes: map[string]Attribute{"skill": {N: &skill}}}}})
		c.Must(err)
		wait.Settle(10 * time.Second)
		e, err := c.matches.Explain(c.Ctx, "a")
		c.Must(err)
		w := e.Waiting
		if w == nil || len(w.Blocking) != 1 || w.Blocking[0].Rule != "Window" || w.Would == nil || w.Would.In != 20_000 || w.Would.Level != 1 {
			t.Fatalf("explained as %+v", w)
		}
		o, err := c.matches.Overview(c.Ctx, "mm")
		c.Must(err)
		if o.Waiting != 2 || len(o.Coming) != 1 || o.Coming[0].In != 20_000 || o.Left != 0 {
			t.Errorf("overview %+v", o)
		}
		wait.Settle(time.Duration(w.Would.In)*time.Millisecond - time.Millisecond)
		c.want(life.Searching, "a", "b")
		wait.Settle(time.Second)
		c.want(Completed, "a", "b")
		if e, err = c.matches.Explain(c.Ctx, "a"); err != nil || e.Waiting != nil || e.Ticket.Status != Completed {
			t.Errorf("of a ticket that has ended: %+v, %v", e, err)
		}
		if _, err = c.matches.Explain(c.Ctx, "nosuch"); !fault.Is(err, fault.NotFound) {
			t.Errorf("of no ticket: %v", err)
		}
	})
}

// A ticket that has timed out is explained at the age that it had, among those that wait now,
// as long as its configuration is there.
func TestExplain_TimedOut(t *testing.T) {
	inCell(t, func(c *cell) {
		c.configure("mm", skilled, Configuration{Mode: Standalone, RequestTimeout: 20 * time.Second})
		c.enter("mm", "a", "ann")
		wait.Settle(time.Minute)
		c.want(life.TimedOut, "a")
		skill := 90.0
		_, _, err := c.matches.Start(c.Ctx, StartInput{Configuration: "mm", TicketID: "b", Players: []Player{{ID: "bob", Attributes: map[string]Attribute{"skill": {N: &skill}}}}})
		c.Must(err)
		e, err := c.matches.Explain(c.Ctx, "a")
		c.Must(err)
		w := e.Late
		if e.Waiting != nil || w == nil || w.Waited != 20_000 || w.Level != 0 || w.Would != nil || len(w.Blocking) != 1 || w.Blocking[0].Rule != "Window" {
			t.Fatalf("explained as %+v, late %+v", e.Waiting, w)
		}
		c.Must(c.matches.Stop(c.Ctx, "b"))
		c.Must(c.matches.Configurations.Delete.Do(c.Ctx, "mm"))
		if e, err = c.matches.Explain(c.Ctx, "a"); err != nil || e.Late != nil || e.Ticket.Status != life.TimedOut {
			t.Errorf("without its configuration: %+v, %v", e, err)
		}
	})
}

// A trace contains tickets in memory and in the archive, once each, but no backfill
// tickets.
func TestTrace_MemoryAndArchive(t *testing.T) {
	inCell(t, func(c *cell) {
		c.configure("mm", pairs, Configuration{Mode: Standalone})
		c.configure("other", squad, Configuration{Mode: Standalone})
		c.enter("mm", "a", "ann")
		c.enter("mm", "b", "bob")
		c.enter("other", "x", "xenia")
		wait.Settle(time.Minute)
		c.enter("mm", "alone", "cid")
		wait.Settle(40 * time.Second)
		c.Must(c.matches.Stop(c.Ctx, "alone"))
		wait.Settle(6 * time.Minute) // these are archived
		begin := time.Now()
		c.enter("mm", "late", "dan")
		_, _, err := c.matches.Start(c.Ctx, StartInput{Configuration: "mm", TicketID: "fill", Backfill: true, Players: []Player{{ID: "eve", Team: "red"}}})
		c.Must(err)

		type told struct {
			ID           string
			At, Patience float64
		}
		trace := func(since time.Time) (out []told) {
			all, err := c.matches.Trace(c.Ctx, "mm", since, MaxTraced)
			c.Must(err)
			for _, k := range all {
				out = append(out, told{k.TicketID, k.At, k.Patience})
			}
			return out
		}
		want := []told{{"a", 0, 0}, {"b", 0, 0}, {"alone", 60, 40}, {"late", 460, 0}}
		if diff := cmp.Diff(want, trace(time.Time{})); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]told{{"late", 0, 0}}, trace(begin)); diff != "" {
			t.Error(diff)
		}
		if _, err := c.matches.Trace(c.Ctx, "nosuch", begin, MaxTraced); !fault.Is(err, fault.NotFound) {
			t.Errorf("of no configuration: %v", err)
		}
	})
}

// crowd needs more players than the test enters.
const crowd = `{"ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 9, "maxPlayers": 9}]}`

// Of too many tickets a trace contains the oldest, in memory or in the archive, with no
// gap between them. Tickets of other configurations do not count.
func TestTrace_Cut(t *testing.T) {
	inCell(t, func(c *cell) {
		c.configure("mm", crowd, Configuration{Mode: Standalone})
		c.configure("other", pairs, Configuration{Mode: Standalone})
		for i := range 6 { // ended, and older than all that count
			c.enter("other", fmt.Sprint("x", i), fmt.Sprint("x", i))
		}
		want := []string{"stays", "a", "b", "late"}
		for _, id := range want[:3] {
			wait.Settle(time.Second)
			c.enter("mm", id, id)
		}
		for _, id := range []string{"a", "b"} {
			c.Must(c.matches.Stop(c.Ctx, id))
		}
		wait.Settle(6 * time.Minute) // they are archived
		c.enter("mm", "late", "late")
		for most := 1; most <= 5; most++ {
			all, err := c.matches.trace(c.Ctx, "mm", time.Time{}, most)
			c.Must(err)
			var got []string
			for _, k := range all {
				got = append(got, k.TicketID)
			}
			if diff := cmp.Diff(want[:min(most, 4)], got); diff != "" {
				t.Errorf("at most %d: %s", most, diff)
			}
		}
	})
}
