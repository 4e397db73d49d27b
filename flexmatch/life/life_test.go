package life_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/flexmatch/life"
)

// world keeps tickets and matches in memory, carries steps out, and checks what the
// developer guide says of them.
type world struct {
	*rapid.T
	settings life.Settings
	now      time.Time
	tickets  map[string]*life.Ticket
	open     map[string]*life.Match   // that are asked or being placed
	placing  map[string]bool          // of open
	asked    map[string]int           // how often the players of a match were asked
	closed   map[string]*life.Match   // by id
	ends     map[life.Status]int      // shared by all runs
	notices  map[string][]life.Notice // by ticket, of its end
	dropped  map[string]bool          // tickets of a match dropped by this action: whether their players all accepted
	made     int
}

func (w *world) Ticket(id string) *life.Ticket { return w.tickets[id] }
func (w *world) Match(id string) *life.Match   { return w.open[id] }
func (w *world) change() life.Change           { return life.Change{Rows: w, Now: w.now} }

// TestLife plays random proposals, answers, timeouts, placements and withdrawals, and
// checks the invariants after each of them.
func TestLife(t *testing.T) {
	ends := map[life.Status]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			T: rt, now: time.Unix(0, 0), tickets: map[string]*life.Ticket{}, open: map[string]*life.Match{}, placing: map[string]bool{},
			asked: map[string]int{}, closed: map[string]*life.Match{}, ends: ends, notices: map[string][]life.Notice{},
			settings: life.Settings{AcceptanceRequired: rapid.Bool().Draw(rt, "acceptance"), AcceptanceTimeout: 30 * time.Second, Queue: rapid.Bool().Draw(rt, "queue")},
		}
		for range rapid.IntRange(1, 60).Draw(rt, "actions") {
			w.act()
			w.check()
		}
	})
	for _, status := range []life.Status{life.Completed, life.Failed, life.Cancelled, life.TimedOut} {
		if ends[status] == 0 {
			t.Errorf("no ticket ended %s", status)
		}
	}
}

// pick draws one of the tickets for which f returns true, or nil.
func (w *world) pick(f func(*life.Ticket) bool) *life.Ticket {
	var fit []string
	for _, id := range slices.Sorted(maps.Keys(w.tickets)) {
		if f(w.tickets[id]) {
			fit = append(fit, id)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return w.tickets[rapid.SampledFrom(fit).Draw(w.T, "ticket")]
}

func (w *world) act() {
	before := map[string]life.Ticket{}
	for id, t := range w.tickets {
		row := *t
		row.Members = slices.Clone(t.Members)
		before[id] = row
	}
	rows := maps.Clone(w.tickets)
	w.dropped = map[string]bool{}
	switch rapid.IntRange(0, 9).Draw(w.T, "action") {
	case 0, 1:
		w.start()
	case 2, 3:
		w.propose()
	case 4, 5:
		w.answer()
	case 6:
		if t := w.pick(func(t *life.Ticket) bool { return t.Status == life.Queued }); t != nil {
			w.do(w.change().Search(t))
		}
	case 7:
		if t := w.pick(func(*life.Ticket) bool { return true }); t != nil { // also those that cannot be ended
			w.do(w.change().End(t, life.Cause(rapid.IntRange(int(life.Stopped), int(life.DeniesPlayers)).Draw(w.T, "cause"))))
		}
	case 8:
		w.placed()
	default:
		w.pass(time.Duration(rapid.IntRange(1, 15).Draw(w.T, "seconds")) * time.Second)
	}
	for id, was := range before {
		if diff := cmp.Diff(was, *rows[id]); diff != "" {
			w.Fatalf("the row of %s was modified in place:\n%s", id, diff)
		}
		if now := w.tickets[id]; was.Status.Over() && now != rows[id] {
			w.Fatalf("%s was %s and is %s", id, was.Status, now.Status)
		}
	}
}

func (w *world) start() {
	w.made++
	t := &life.Ticket{
		ID: fmt.Sprintf("t%02d", w.made), Arrival: fmt.Sprintf("%02d", w.made), Deadline: w.now.Add(20 * time.Second),
		Backfill: rapid.IntRange(0, 3).Draw(w.T, "backfill") == 0,
	}
	for i := range rapid.IntRange(1, 3).Draw(w.T, "players") {
		t.Members = append(t.Members, life.Member{PlayerID: fmt.Sprint(i)})
	}
	if t.Backfill {
		t.GameSessionID = "session-" + t.ID
		for i := range t.Members {
			t.Members[i].Team = "red"
		}
	}
	t.Start()
	w.tickets[t.ID] = t
}

// propose matches up to three tickets that wait, at most one of them a backfill.
func (w *world) propose() {
	var ids, teams []string
	filled := false
	for range rapid.IntRange(1, 3).Draw(w.T, "tickets") {
		t := w.pick(func(t *life.Ticket) bool {
			return t.Status.Waits() && !slices.Contains(ids, t.ID) && !(t.Backfill && filled)
		})
		if t == nil {
			break
		}
		filled = filled || t.Backfill
		ids, teams = append(ids, t.ID), append(teams, "blue")
	}
	if len(ids) > 0 {
		w.made++
		if !w.change().AllWait("", ids) {
			w.Fatalf("%v do not wait", ids)
		}
		w.do(w.change().Propose(w.settings, life.Match{ID: fmt.Sprintf("m%02d", w.made)}, ids, teams))
	}
}

func (w *world) answer() {
	t := w.pick(func(t *life.Ticket) bool { return t.Status == life.RequiresAcceptance && !t.Backfill })
	if t == nil {
		return
	}
	answer := rapid.SampledFrom([]life.Answer{life.Accept, life.Accept, life.Accept, life.Reject}).Draw(w.T, "answer")
	var players []string
	for _, m := range t.Members {
		if m.Answer == "" && (len(players) == 0 || rapid.Bool().Draw(w.T, "too")) {
			players = append(players, m.PlayerID)
		}
	}
	if _, err := w.change().Answer(w.settings, t, append(players, "stranger"), answer); err == nil {
		w.Fatalf("a stranger answered for %s", t.ID)
	}
	steps, err := w.change().Answer(w.settings, t, players, answer)
	if err != nil {
		w.Fatal(err)
	}
	w.do(steps)
}

// placed ends a placement.
func (w *world) placed() {
	ids := slices.Sorted(maps.Keys(w.placing))
	if len(ids) == 0 {
		return
	}
	c, m := w.change(), w.open[ids[0]]
	if rapid.Bool().Draw(w.T, "placed") {
		w.do(c.Complete(m, c.Tickets(m), w.to()))
	} else {
		w.do(c.Fail(m, c.Tickets(m), "REASON", "message"))
	}
}

func (w *world) to() *life.Connection {
	return &life.Connection{GameSessionID: "game", PlayerSessions: map[string]string{"0": "s0", "1": "s1", "2": "s2"}}
}

// pass lets time pass and does what is due: acceptances, then requests.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		if m := w.open[id]; !m.AcceptBy.IsZero() && !m.AcceptBy.After(w.now) {
			w.do(w.change().Unanswered(m))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.tickets)) {
		if t := w.tickets[id]; t.Status.Waits() && !t.Deadline.After(w.now) {
			w.do(w.change().End(t, life.Overdue))
		}
	}
}

func (w *world) do(steps []life.Step) {
	for i := range steps {
		s := &steps[i]
		switch s.Do {
		case life.Write:
			w.tickets[s.Ticket.ID] = s.Ticket
			if s.Ticket.Status.Over() {
				w.ends[s.Ticket.Status]++
			}
		case life.Notify:
			w.notify(s)
		case life.Ask:
			w.asked[s.Match.ID]++
			w.open[s.Match.ID] = s.Match
		case life.Place:
			w.write(s.Tickets)
			w.open[s.Match.ID], w.placing[s.Match.ID] = s.Match, true
		case life.Fill:
			if rapid.Bool().Draw(w.T, "room") {
				w.do(w.change().Complete(s.Match, s.Tickets, w.to()))
			} else {
				w.do(w.change().Unfilled(s.Match, s.Tickets, "full"))
			}
		case life.Close:
			if w.closed[s.Match.ID] != nil || s.Match.Result == "" || s.Match.Ended != w.now {
				w.Fatalf("match %+v is closed, after %+v", s.Match, w.closed[s.Match.ID])
			}
			w.closed[s.Match.ID] = s.Match
			delete(w.open, s.Match.ID)
			delete(w.placing, s.Match.ID)
		case life.Tell, life.Resume:
			if !s.Ticket.Backfill || !s.Ticket.Status.Over() {
				w.Fatalf("a game server hears of %+v", s.Ticket)
			}
		}
	}
}

func (w *world) write(tickets []*life.Ticket) {
	for _, t := range tickets {
		w.tickets[t.ID] = t
	}
}

// notify checks that a notice comes after the row says the same.
func (w *world) notify(s *life.Step) {
	is := map[life.Notice]life.Status{
		life.SearchingNotice: life.Searching, life.SucceededNotice: life.Completed, life.FailedNotice: life.Failed,
		life.CancelledNotice: life.Cancelled, life.TimedOutNotice: life.TimedOut,
	}[s.Notice]
	for _, t := range s.Tickets {
		if is != "" && w.tickets[t.ID].Status != is {
			w.Fatalf("%s of %s, which is %s", s.Notice, t.ID, w.tickets[t.ID].Status)
		}
		if is.Over() {
			w.notices[t.ID] = append(w.notices[t.ID], s.Notice)
		}
		if s.Notice != life.AcceptanceEndedNotice {
			continue
		}
		accepted := t.Backfill || !slices.ContainsFunc(t.Members, func(m life.Member) bool { return m.Answer != life.Accept })
		if s.Reason != life.AllAccepted {
			w.dropped[t.ID] = accepted
		} else if !accepted {
			w.Fatalf("all accepted, and the players of %s answered %v", t.ID, t.Members)
		}
	}
}

// check checks the invariants.
func (w *world) check() {
	for id, n := range w.asked {
		if n != 1 {
			w.Fatalf("the players of %s were asked %d times", id, n)
		}
	}
	for id, accepted := range w.dropped {
		if t := w.tickets[id]; accepted != (t.Status == life.Searching || t.Status == life.TimedOut) || !accepted && t.Status != life.Cancelled {
			w.Fatalf("the match of %s was dropped, all its players accepted is %v, and it is %s", id, accepted, t.Status)
		}
	}
	in := map[string]string{} // match by ticket
	for id, m := range w.open {
		for _, ticket := range m.Tickets {
			if in[ticket] != "" {
				w.Fatalf("%s is in %s and %s", ticket, in[ticket], id)
			}
			in[ticket] = id
		}
	}
	for id, t := range w.tickets {
		w.checkTicket(t, in[id])
	}
}

func (w *world) checkTicket(t *life.Ticket, match string) {
	held := t.Status == life.RequiresAcceptance || t.Status == life.Placing
	switch {
	case held != (match != ""), held && t.MatchID != match, held && (t.Status == life.Placing) != w.placing[match]:
		w.Fatalf("%s is %s, in match %q, and its row names %q", t.ID, t.Status, match, t.MatchID)
	case t.Status.Waits() && !t.Deadline.After(w.now):
		w.Fatalf("%s waits after its deadline", t.ID)
	case t.Status.Over() != !t.Ended.IsZero():
		w.Fatalf("%s is %s, ended at %v", t.ID, t.Status, t.Ended)
	case len(w.notices[t.ID]) > 1, t.Status == life.Completed && len(w.notices[t.ID]) != 1:
		w.Fatalf("%s is %s, and its end was published as %v", t.ID, t.Status, w.notices[t.ID])
	}
	for _, m := range t.Members {
		switch {
		case held && m.Answer == life.Reject:
			w.Fatalf("player %s of %s rejected, and it is %s", m.PlayerID, t.ID, t.Status)
		case t.Status.Waits() && (m.Answer != "" || (m.Team != "") != t.Backfill):
			w.Fatalf("%s waits, and player %s has answered %q and has team %q", t.ID, m.PlayerID, m.Answer, m.Team)
		case t.Status == life.Completed && m.Team == "":
			w.Fatalf("%s is COMPLETED, and player %s has no team", t.ID, m.PlayerID)
		case t.Status == life.Completed && w.settings.AcceptanceRequired && !t.Backfill && m.Answer != life.Accept:
			w.Fatalf("%s is COMPLETED, and player %s answered %q", t.ID, m.PlayerID, m.Answer)
		}
	}
}
