package sim

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/cases"
	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// TestCases plays the written examples of matches and ticket lives in the simulation, as
// far as it has what they are about: calls that are refused, backfill that is requested,
// several tickets of a player and failed placements it has not. (Package cases plays them
// without players, and package flexmatch on the real service.)
func TestCases(t *testing.T) {
	played := 0
	for _, name := range []string{"cases", "corners", "examples"} {
		raw, err := os.ReadFile("../flexmatch/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		file, err := cases.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i := range file.Cases {
			if c := &file.Cases[i]; applies(c) {
				played++
				t.Run(c.ID, func(t *testing.T) {
					t.Parallel()
					playCase(t, c)
				})
			}
		}
	}
	if played < 150 {
		t.Errorf("only %d cases were played", played)
	}
}

// applies reports whether the simulation has what a case is about.
func applies(c *cases.Case) bool {
	if c.Kind != "match" && c.Kind != "lifecycle" || c.Expect.Errors != nil || c.Config.Placement != nil && c.Config.Placement.Result != "" && c.Config.Placement.Result != "FULFILLED" {
		return false
	}
	players := map[string]bool{}
	for _, t := range c.Tickets {
		if t.Backfill != nil {
			return false
		}
		for _, p := range t.Players {
			if players[p.PlayerID] {
				return false
			}
			players[p.PlayerID] = true
		}
	}
	return true
}

// caseRun is a simulation whose arrivals, answers and passes come from a case.
type caseRun struct {
	*run
	t       *testing.T
	c       *cases.Case
	tickets map[string]*ticket // by id in the case
	names   map[string]string  // id in the case, by id
	matches [][]string
}

func playCase(t *testing.T, c *cases.Case) {
	rs, err := ruleset.Parse(c.Body)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadSpec([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	m := &s.Matchmaking
	m.RequestTimeout, m.AcceptanceRequired = 3600, c.Config.AcceptanceRequired
	if c.Config.RequestTimeoutSeconds != nil {
		m.RequestTimeout = *c.Config.RequestTimeoutSeconds
	}
	if c.Config.AcceptanceTimeoutSeconds != nil {
		m.AcceptanceTimeout = *c.Config.AcceptanceTimeoutSeconds
	}
	if c.Config.FlexMatchMode == "WITH_QUEUE" {
		m.AdditionalPlayerCount = c.Config.AdditionalPlayerCount
	}
	if c.Config.Placement != nil {
		m.Placement = constant(c.Config.Placement.DelaySeconds)
	}
	r := &caseRun{run: newRun(Options{RuleSet: rs, Spec: s, For: time.Hour}), t: t, c: c, tickets: map[string]*ticket{}, names: map[string]string{}}
	for _, at := range r.listed() {
		r.until(at - 1)
		r.now = at
		r.second(at)
	}
	r.compare()
}

// listed returns every time that the case mentions, in order.
func (r *caseRun) listed() []time.Duration {
	var out []time.Duration
	for _, s := range append(slices.Clone(r.c.Passes), r.c.Timers...) {
		out = append(out, at(s))
	}
	for _, t := range r.c.Tickets {
		out = append(out, at(t.At))
	}
	for _, a := range r.c.Actions {
		out = append(out, at(a.At))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func at(second float64) time.Duration {
	return time.Duration(math.Round(second * float64(time.Second)))
}

// until plays everything that is due by a time.
func (r *caseRun) until(end time.Duration) {
	for r.next() <= end {
		r.now = r.next()
		r.happen()
	}
}

// second plays arrivals, actions, what is due, and the pass.
func (r *caseRun) second(now time.Duration) {
	for _, t := range r.c.Tickets {
		if at(t.At) != now {
			continue
		}
		var request life.Request
		for _, p := range t.Players {
			request.Players = append(request.Players, p.Request())
		}
		a := &arrival{at: now, players: life.Searchable(&life.Ticket{Members: make([]life.Member, len(request.Players))}, &request).Players}
		r.arrive(a)
		for id, in := range r.run.tickets {
			if in.come == a {
				r.tickets[t.TicketID], r.names[id] = in, t.TicketID
			}
		}
	}
	for _, a := range r.c.Actions {
		if at(a.At) == now {
			r.act(a)
		}
	}
	r.until(now)
	if !slices.ContainsFunc(r.c.Passes, func(s float64) bool { return at(s) == now }) {
		return
	}
	for _, m := range r.pool.Pass(r.time()) {
		r.matches = append(r.matches, r.ids(m))
		r.propose(m)
	}
}

func (r *caseRun) ids(m *search.Match) []string {
	var out []string
	for _, t := range m.Tickets {
		out = append(out, r.names[t.ID])
	}
	return slices.Sorted(slices.Values(out))
}

func (r *caseRun) act(a cases.Action) {
	t := r.tickets[a.TicketID]
	if a.Op == "StopMatchmaking" {
		r.giveUp(t)
		return
	}
	m := r.proposals[t.row.MatchID]
	for i, p := range t.Players {
		if m != nil && slices.Contains(a.PlayerIDs, p.ID) {
			r.answer(m.row, t, i, a.AcceptanceType == "ACCEPT")
		}
	}
}

func (r *caseRun) compare() {
	for id, want := range r.c.Expect.Tickets {
		got := r.tickets[id].row
		if want.Status != nil && life.Status(*want.Status) != got.Status && !(life.Status(*want.Status).Waits() && got.Status.Waits()) {
			r.t.Errorf("ticket %s is %s, want %s", id, got.Status, *want.Status)
		}
		if want.StatusReason != nil && *want.StatusReason != got.Reason {
			r.t.Errorf("ticket %s has the reason %q, want %q", id, got.Reason, *want.StatusReason)
		}
	}
	if r.c.Expect.Waiting != nil {
		waiting := []string{}
		for id, t := range r.tickets {
			if t.row.Status.Waits() {
				waiting = append(waiting, id)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(r.c.Expect.Waiting)), slices.Sorted(slices.Values(waiting))); diff != "" {
			r.t.Errorf("waiting (-want +got):\n%s", diff)
		}
	}
	if r.c.Expect.Matches == nil {
		return
	}
	if len(r.matches) != len(r.c.Expect.Matches) {
		r.t.Fatalf("%d matches, want %d", len(r.matches), len(r.c.Expect.Matches))
	}
	for i, want := range r.c.Expect.Matches {
		if want.Tickets != nil && !slices.Equal(slices.Sorted(slices.Values(want.Tickets)), r.matches[i]) {
			r.t.Errorf("match %d has the tickets %v, want %v", i+1, r.matches[i], want.Tickets)
		}
	}
}
