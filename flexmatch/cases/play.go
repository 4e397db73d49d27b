package cases

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/flexmatch/life"
	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/internal/fault"
)

type ticket struct {
	*life.Ticket
	search *search.Ticket
}

type game struct {
	c        *Case
	rs       *ruleset.RuleSet
	pool     Pool
	opts     search.Options
	settings life.Settings

	now     float64
	tickets []*ticket     // in order of arrival
	open    []*life.Match // waiting for acceptance or being placed
	placing []placing

	matches []played
	events  []Event
	errors  map[string]string
}

type placing struct {
	match *life.Match
	ends  float64
}

type played struct {
	at    float64
	match *search.Match
}

func (c *Case) play(matcher Matcher) error {
	rs, err := ruleset.Parse(c.Body)
	if err != nil {
		return err
	}
	g := &game{c: c, rs: rs, errors: map[string]string{}, now: math.Inf(-1)}
	g.settings = life.Settings{
		AcceptanceRequired: c.Config.AcceptanceRequired, Queue: c.Config.FlexMatchMode == "WITH_QUEUE",
		AcceptanceTimeout: duration(c.Config.AcceptanceTimeoutSeconds, time.Minute),
	}
	if g.settings.Queue {
		g.opts.AdditionalPlayerCount = c.Config.AdditionalPlayerCount
	}
	g.pool = matcher(rs, g.opts)
	for at, ok := g.following(); ok; at, ok = g.following() {
		g.now = at
		g.second()
	}
	return g.compare()
}

// listed returns every second that the case mentions.
func (g *game) listed() []float64 {
	out := append(slices.Clone(g.c.Passes), g.c.Timers...)
	for _, t := range g.c.Tickets {
		out = append(out, t.At)
	}
	for _, a := range g.c.Actions {
		out = append(out, a.At)
	}
	return out
}

// following returns the next second in which something happens, and false after the last
// listed second.
func (g *game) following() (float64, bool) {
	next, end := math.Inf(1), math.Inf(-1)
	for _, at := range g.listed() {
		if end = max(end, at); at > g.now {
			next = min(next, at)
		}
	}
	for _, p := range g.placing {
		next = min(next, p.ends)
	}
	for _, m := range g.open {
		if !m.AcceptBy.IsZero() {
			next = min(next, m.AcceptBy.Sub(clock(0)).Seconds())
		}
	}
	for _, t := range g.tickets {
		if t.Status.Waits() {
			next = min(next, t.Deadline.Sub(clock(0)).Seconds())
		}
	}
	return next, next <= end
}

func (g *game) second() {
	for _, t := range g.c.Tickets {
		if t.At == g.now {
			g.note(t.TicketID, g.arrive(t))
		}
	}
	for _, a := range g.c.Actions {
		if a.At == g.now {
			g.note(fmt.Sprintf("%s@%v", a.Op, a.At), g.act(a))
		}
	}
	g.timers()
	if slices.Contains(g.c.Passes, g.now) {
		g.pass()
	}
}

// note records why a call was refused.
func (g *game) note(call string, err error) {
	if f, ok := fault.As(err); ok {
		g.errors[call] = string(f.Kind)
	}
}

// ticketID matches the ticket ids that the API allows.
var ticketID = regexp.MustCompile(`^[a-zA-Z0-9.-]{1,128}$`)

// arrive plays StartMatchmaking or StartMatchBackfill.
func (g *game) arrive(t Ticket) error {
	if !ticketID.MatchString(t.TicketID) || g.find(t.TicketID) != nil {
		return fault.Invalid("TicketId: %s is used, or no id", t.TicketID)
	}
	r := &life.Request{ID: t.TicketID}
	in := &ticket{Ticket: &life.Ticket{
		ID: t.TicketID, Started: clock(g.now), Deadline: clock(g.now).Add(duration(g.c.Config.RequestTimeoutSeconds, time.Hour)),
		Arrival: fmt.Sprintf("%09d", len(g.tickets)), Backfill: t.Backfill != nil,
	}}
	for _, p := range t.Players {
		if _, ok := p.PlayerAttributes[""]; ok {
			return fault.Invalid("PlayerAttributes: an attribute has no name")
		}
		r.Players = append(r.Players, p.Request())
		in.Members = append(in.Members, life.Member{PlayerID: p.PlayerID})
	}
	if err := life.CheckPlayers(g.rs, r.Players, in.Backfill); err != nil {
		return err
	}
	if in.Backfill {
		in.GameSessionID = t.Backfill.GameSessionARN
	}
	for _, old := range g.tickets {
		switch {
		case in.GameSessionID != "" && old.GameSessionID == in.GameSessionID && old.Backfill:
			g.change().End(old.Ticket, life.Replaced)
		case sharePlayer(old, in):
			g.change().End(old.Ticket, life.Duplicate)
		}
	}
	in.Start()
	in.search = life.Searchable(in.Ticket, r)
	in.search.Arrival = uint64(len(g.tickets))
	g.tickets = append(g.tickets, in)
	return nil
}

func sharePlayer(a, b *ticket) bool {
	return slices.ContainsFunc(a.Members, func(p life.Member) bool {
		return slices.ContainsFunc(b.Members, func(q life.Member) bool { return p.PlayerID == q.PlayerID })
	})
}

func (g *game) act(a Action) error {
	t, answer := g.find(a.TicketID), life.Answer(a.AcceptanceType)
	switch {
	case t == nil:
		return fault.Missing("ticket %s does not exist", a.TicketID)
	case a.Op == "StopMatchmaking":
		if err := t.CannotStop(); err != nil {
			return err
		}
		g.change().End(t.Ticket, life.Stopped)
		return nil
	case answer != life.Accept && answer != life.Reject:
		return fault.Invalid("AcceptanceType: %s is neither ACCEPT nor REJECT", answer)
	}
	return g.change().Answer(g.settings, t.Ticket, a.PlayerIDs, answer)
}

func (g *game) timers() {
	for _, p := range slices.Clone(g.placing) {
		if p.ends <= g.now {
			g.placed(p.match)
		}
	}
	for _, m := range slices.Clone(g.open) {
		if !m.AcceptBy.IsZero() && !m.AcceptBy.After(clock(g.now)) {
			g.change().Unanswered(m)
		}
	}
	for _, t := range g.tickets {
		if t.Status.Waits() && !t.Deadline.After(clock(g.now)) {
			g.change().End(t.Ticket, life.Overdue)
		}
	}
}

func (g *game) pass() {
	for _, t := range g.tickets {
		if t.Status == life.Queued {
			g.change().Search(t.Ticket)
		}
	}
	for _, m := range g.pool.Pass(clock(g.now)) {
		g.matches = append(g.matches, played{g.now, m})
		tickets, teams := make([]*life.Ticket, len(m.Tickets)), make([]string, len(m.Tickets))
		for i, t := range m.Tickets {
			tickets[i] = g.find(t.ID).Ticket
			if !t.Backfill {
				teams[i] = g.rs.Instances[m.Teams[i]].Name
			}
		}
		g.change().Propose(g.settings, life.Match{ID: strconv.Itoa(len(g.matches))}, tickets, teams)
	}
}

func (g *game) change() life.Change { return life.Change{Effects: g, Now: clock(g.now)} }

// Match implements life.Effects, as do the methods below.
func (g *game) Match(id string) *life.Match {
	return g.open[slices.IndexFunc(g.open, func(m *life.Match) bool { return m.ID == id })]
}

func (g *game) Tickets(m *life.Match) []*life.Ticket {
	return each(m.Tickets, func(id string) *life.Ticket { return g.find(id).Ticket })
}

// Edit returns t itself: nobody else reads the tickets of a play.
func (g *game) Edit(t *life.Ticket) *life.Ticket { return t }

// Write adds a ticket to the pool or removes it.
func (g *game) Write(t *life.Ticket, _ life.Cause) {
	if t.Status == life.Searching {
		g.pool.Add(g.find(t.ID).search)
	} else {
		g.pool.Remove(t.ID)
	}
}

// Notify records an event.
func (g *game) Notify(n life.Notice) {
	e := Event{At: g.now, Type: string(n.Type), Acceptance: n.Result}
	switch n.Type {
	case life.TimedOutNotice, life.CancelledNotice, life.FailedNotice:
		e.Reason = n.Tickets[0].Reason
	}
	for _, t := range n.Tickets {
		e.Tickets = append(e.Tickets, t.ID)
	}
	g.events = append(g.events, e)
}

func (g *game) AwaitAnswers(m *life.Match) { g.open = append(g.open, m) }

// Place passes a match to the simulated queue, which places it, times out or fails, as the case
// says.
func (g *game) Place(m *life.Match, _ []*life.Ticket) {
	g.Close(m)
	g.open = append(g.open, m)
	p := placing{m, g.now}
	if g.c.Config.Placement != nil {
		p.ends += g.c.Config.Placement.DelaySeconds
	}
	if p.ends <= g.now {
		g.placed(m)
		return
	}
	g.placing = append(g.placing, p)
}

func (g *game) placed(m *life.Match) {
	g.placing = slices.DeleteFunc(g.placing, func(p placing) bool { return p.match == m })
	c := g.change()
	result := ""
	if g.c.Config.Placement != nil {
		result = g.c.Config.Placement.Result
	}
	switch result {
	case "FAILED":
		c.Fail(m, c.Tickets(m), "UNEXPECTED_ERROR", "")
	case "TIMED_OUT":
		c.Unplaced(m, c.Tickets(m))
	default:
		c.Complete(m, c.Tickets(m), nil)
	}
}

// Fill completes a match: the game session has room.
func (g *game) Fill(m *life.Match, tickets []*life.Ticket) { g.change().Complete(m, tickets, nil) }

// Close removes a match that has ended or whose acceptance is over.
func (g *game) Close(m *life.Match) {
	g.open = slices.DeleteFunc(g.open, func(o *life.Match) bool { return o.ID == m.ID })
}

func (g *game) UpdateServer(*life.Ticket, string) {}
func (g *game) Resume(*life.Ticket)               {}

// clock converts a second of the play to a time.
func clock(second float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(second * float64(time.Second))).UTC()
}

// duration returns a number of seconds, or a default if it is absent.
func duration(seconds *float64, absent time.Duration) time.Duration {
	if seconds == nil {
		return absent
	}
	return time.Duration(*seconds * float64(time.Second))
}

func (g *game) find(id string) *ticket {
	i := slices.IndexFunc(g.tickets, func(t *ticket) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return g.tickets[i]
}
