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

// world keeps tickets and matches in memory, carries changes out, and checks what the
// developer guide says of them.
type world struct {
	*rapid.T
	lends    bool // Edit returns the ticket itself, not a copy
	settings life.Settings
	now      time.Time
	tickets  map[string]*life.Ticket
	written  map[string]*life.Ticket      // by this action, as they were then
	open     map[string]*life.Match       // that await answers or a placement
	placing  map[string]bool              // of open
	asked    map[string]int               // how often the players of a match were asked
	closed   map[string]*life.Match       // by id
	ends     map[life.Status]int          // shared by all runs
	notices  map[string][]life.NoticeType // by ticket, of its end
	dropped  map[string]bool              // tickets of a match dropped by this action: whether they stay
	made     int
}

func (w *world) change() life.Change { return life.Change{Effects: w, Now: w.now} }

// TestLife plays random proposals, answers, timeouts, placements and withdrawals, and
// checks the invariants after each of them.
func TestLife(t *testing.T) {
	ends := map[life.Status]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{
			T: rt, lends: rapid.Bool().Draw(rt, "lends"), now: time.Unix(0, 0), tickets: map[string]*life.Ticket{}, open: map[string]*life.Match{}, placing: map[string]bool{},
			asked: map[string]int{}, closed: map[string]*life.Match{}, ends: ends, notices: map[string][]life.NoticeType{},
			settings: life.Settings{AcceptanceRequired: rapid.Bool().Draw(rt, "acceptance"), AcceptanceTimeout: 30 * time.Second, Queue: rapid.Bool().Draw(rt, "queue")},
		}
		for range rapid.IntRange(1, 60).Draw(rt, "actions") {
			w.act()
			w.check()
		}
	})
	for _, status := range []life.Status{life.Completed, life.Failed, life.Cancelled, life.TimedOut, unplaced} {
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
		before[id] = *t.Clone()
	}
	rows := maps.Clone(w.tickets)
	w.dropped, w.written = map[string]bool{}, map[string]*life.Ticket{}
	switch rapid.IntRange(0, 9).Draw(w.T, "action") {
	case 0, 1:
		w.start()
	case 2, 3:
		w.propose()
	case 4, 5:
		w.answer()
	case 6:
		if t := w.pick(func(t *life.Ticket) bool { return t.Status == life.Queued }); t != nil {
			w.change().Search(t)
		}
	case 7:
		if t := w.pick(func(*life.Ticket) bool { return true }); t != nil { // also those that cannot be ended
			w.change().End(t, life.Cause(rapid.IntRange(int(life.Stopped), int(life.DeniesPlayers)).Draw(w.T, "cause")))
		}
	case 8:
		w.placed()
	default:
		w.pass(time.Duration(rapid.IntRange(1, 15).Draw(w.T, "seconds")) * time.Second)
	}
	for id, was := range before {
		if diff := cmp.Diff(was, *rows[id]); diff != "" && !w.lends {
			w.Fatalf("the row of %s was modified in place:\n%s", id, diff)
		}
		if diff := cmp.Diff(was, *w.tickets[id]); diff != "" && was.Status.Over() {
			w.Fatalf("%s was %s and changed:\n%s", id, was.Status, diff)
		}
	}
	for id, was := range w.written {
		if diff := cmp.Diff(was, w.tickets[id]); diff != "" {
			w.Fatalf("%s was modified after it was written:\n%s", id, diff)
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
	var tickets []*life.Ticket
	var teams []string
	filled := false
	for range rapid.IntRange(1, 3).Draw(w.T, "tickets") {
		t := w.pick(func(t *life.Ticket) bool {
			return t.Status.Waits() && !slices.Contains(tickets, t) && !(t.Backfill && filled)
		})
		if t == nil {
			break
		}
		filled = filled || t.Backfill
		tickets, teams = append(tickets, t), append(teams, "blue")
	}
	if len(tickets) > 0 {
		w.made++
		w.change().Propose(w.settings, life.Match{ID: fmt.Sprintf("m%02d", w.made)}, tickets, teams)
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
	before := t.Clone()
	if err := w.change().Answer(w.settings, t, append(players, "stranger"), answer); err == nil || !cmp.Equal(before, w.tickets[t.ID]) {
		w.Fatalf("a stranger answered for %s", t.ID)
	}
	if err := w.change().Answer(w.settings, t, players, answer); err != nil {
		w.Fatal(err)
	}
}

// placed ends a placement.
func (w *world) placed() {
	ids := slices.Sorted(maps.Keys(w.placing))
	if len(ids) == 0 {
		return
	}
	c, m := w.change(), w.open[ids[0]]
	if rapid.Bool().Draw(w.T, "placed") {
		c.Complete(m, c.Tickets(m), w.to())
	} else if rapid.Bool().Draw(w.T, "in vain") {
		before := map[string]*life.Ticket{}
		for _, t := range c.Tickets(m) {
			before[t.ID] = t.Clone()
		}
		c.Unplaced(m, c.Tickets(m))
		for id, was := range before {
			w.checkUnplaced(was, w.tickets[id])
		}
	} else {
		c.Fail(m, c.Tickets(m), "REASON", "message")
	}
}

// checkUnplaced checks a ticket whose match found no place.
func (w *world) checkUnplaced(was, t *life.Ticket) {
	want := life.Searching
	if !was.Deadline.After(w.now) {
		want = life.TimedOut
	}
	if t.Status != want || t.Unplaced != was.Unplaced+1 || t.Started != was.Started || t.Deadline != was.Deadline || t.Arrival != was.Arrival {
		w.Fatalf("its match found no place, and a ticket was %+v and is %+v", was, t)
	}
	w.ends[unplaced]++
}

func (w *world) to() *life.Connection {
	return &life.Connection{GameSessionID: "game", PlayerSessions: map[string]string{"0": "s0", "1": "s1", "2": "s2"}}
}

// unplaced counts, among the ends, the tickets of matches that found no place.
const unplaced life.Status = "unplaced"

// pass lets time pass and does what is due: acceptances, then requests.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		if m := w.open[id]; !m.AcceptBy.IsZero() && !m.AcceptBy.After(w.now) {
			w.change().Unanswered(m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.tickets)) {
		if t := w.tickets[id]; t.Status.Waits() && !t.Deadline.After(w.now) {
			w.change().End(t, life.Overdue)
		}
	}
}

func (w *world) Match(id string) *life.Match { return w.open[id] }

func (w *world) Tickets(m *life.Match) []*life.Ticket {
	out := make([]*life.Ticket, len(m.Tickets))
	for i, id := range m.Tickets {
		out[i] = w.tickets[id]
	}
	return out
}

func (w *world) Edit(t *life.Ticket) *life.Ticket {
	if w.lends {
		return t
	}
	return t.Clone()
}

func (w *world) Write(t *life.Ticket, _ life.Cause) {
	w.put(t)
	if t.Status.Over() {
		w.ends[t.Status]++
	}
}

func (w *world) put(tickets ...*life.Ticket) {
	for _, t := range tickets {
		w.tickets[t.ID], w.written[t.ID] = t, t.Clone()
	}
}

func (w *world) AwaitAnswers(m *life.Match) {
	w.asked[m.ID]++
	w.open[m.ID] = m
}

func (w *world) Place(m *life.Match, tickets []*life.Ticket) {
	w.put(tickets...)
	w.open[m.ID], w.placing[m.ID] = m, true
}

func (w *world) Fill(m *life.Match, tickets []*life.Ticket) {
	if rapid.Bool().Draw(w.T, "room") {
		w.change().Complete(m, tickets, w.to())
	} else {
		w.change().Unfilled(m, tickets, "full")
	}
}

func (w *world) Close(m *life.Match) {
	if w.closed[m.ID] != nil || m.Result == "" || m.Ended != w.now {
		w.Fatalf("match %+v is closed, after %+v", m, w.closed[m.ID])
	}
	w.closed[m.ID] = m
	delete(w.open, m.ID)
	delete(w.placing, m.ID)
}

func (w *world) UpdateServer(t *life.Ticket, _ string) { w.Resume(t) }

func (w *world) Resume(t *life.Ticket) {
	if !t.Backfill || !t.Status.Over() {
		w.Fatalf("a game server hears of %+v", t)
	}
}

// Notify checks that the tickets of a notice already have the status that it announces.
func (w *world) Notify(s life.Notice) {
	is := map[life.NoticeType]life.Status{
		life.SearchingNotice: life.Searching, life.SucceededNotice: life.Completed, life.FailedNotice: life.Failed,
		life.CancelledNotice: life.Cancelled, life.TimedOutNotice: life.TimedOut,
	}[s.Type]
	for _, t := range s.Tickets {
		if is != "" && w.tickets[t.ID].Status != is {
			w.Fatalf("%s of %s, which is %s", s.Type, t.ID, w.tickets[t.ID].Status)
		}
		if is.Over() {
			w.notices[t.ID] = append(w.notices[t.ID], s.Type)
		}
		if s.Type != life.AcceptanceEndedNotice {
			continue
		}
		accepted := t.Backfill || !slices.ContainsFunc(t.Members, func(m life.Member) bool { return m.Answer != life.Accept })
		rejected := slices.ContainsFunc(t.Members, func(m life.Member) bool { return m.Answer == life.Reject })
		switch {
		case s.Result == life.SomeRejected: // those who have not answered still had time
			w.dropped[t.ID] = !rejected
		case s.Result == life.AcceptanceTimedOut:
			w.dropped[t.ID] = accepted
		case !accepted:
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
	for id, stays := range w.dropped {
		if t := w.tickets[id]; stays != (t.Status == life.Searching || t.Status == life.TimedOut) || !stays && t.Status != life.Cancelled {
			w.Fatalf("the match of %s was dropped, it stays is %v, and it is %s", id, stays, t.Status)
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
