package cases

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// ticket is a ticket in play.
type ticket struct {
	search   *search.Ticket
	session  string // of a backfill ticket
	deadline float64
	status   string
	reason   string
	accepted map[string]bool
	match    *proposal // while it takes part in one
}

func (t *ticket) active() bool {
	return t.waiting() || t.status == "REQUIRES_ACCEPTANCE" || t.status == "PLACING"
}

func (t *ticket) waiting() bool { return t.status == "QUEUED" || t.status == "SEARCHING" }

// proposal is a match that waits for acceptance or placement.
type proposal struct {
	tickets  []*ticket
	deadline float64 // of acceptance or of placement
}

// game plays one case.
type game struct {
	c       *Case
	rs      *ruleset.RuleSet
	match   func([]*search.Ticket, time.Time) []*search.Match
	opts    search.Options
	now     float64
	tickets []*ticket
	placing []*proposal
	asking  []*proposal

	matches []played
	events  []Event
	errors  map[string]string
}

// played is a match that formed.
type played struct {
	at    float64
	match *search.Match
}

func (c *Case) play(matcher Matcher) error {
	rs, err := ruleset.Parse(c.Body)
	if err != nil {
		return err
	}
	g := &game{c: c, rs: rs, errors: map[string]string{}}
	if c.Config.FlexMatchMode == "WITH_QUEUE" {
		g.opts.AdditionalPlayerCount = c.Config.AdditionalPlayerCount
	}
	g.match = matcher(rs, g.opts)
	for at, ok := g.first(), true; ok; at, ok = g.following() {
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

func (g *game) first() float64 { return slices.Min(append(g.listed(), math.Inf(1))) }

// following returns the next second in which something happens, and false after the last
// listed second.
func (g *game) following() (float64, bool) {
	next, end := math.Inf(1), math.Inf(-1)
	for _, at := range g.listed() {
		if end = max(end, at); at > g.now {
			next = min(next, at)
		}
	}
	for _, p := range append(slices.Clone(g.asking), g.placing...) {
		next = min(next, p.deadline)
	}
	for _, t := range g.tickets {
		if t.waiting() {
			next = min(next, t.deadline)
		}
	}
	return next, next <= end
}

// second plays one second.
func (g *game) second() {
	for _, t := range g.c.Tickets {
		if t.At == g.now {
			g.arrive(t)
		}
	}
	for _, a := range g.c.Actions {
		if a.At == g.now {
			g.act(a)
		}
	}
	g.timers()
	if slices.Contains(g.c.Passes, g.now) {
		g.pass()
	}
}

func (g *game) timers() {
	for _, p := range due(&g.placing, g.now) {
		g.placed(p)
	}
	for _, p := range due(&g.asking, g.now) {
		g.decided(p, "TimedOut")
	}
	for _, t := range g.tickets {
		if t.waiting() {
			g.expire(t)
		}
	}
}

// due removes and returns the proposals whose deadline has come.
func due(list *[]*proposal, now float64) []*proposal {
	var out []*proposal
	*list = slices.DeleteFunc(*list, func(p *proposal) bool {
		if p.deadline <= now {
			out = append(out, p)
			return true
		}
		return false
	})
	return out
}

func (g *game) pass() {
	var searching []*search.Ticket
	for _, t := range g.tickets {
		if t.status == "QUEUED" {
			g.searching(t, "")
		}
		if t.status == "SEARCHING" {
			searching = append(searching, t.search)
		}
	}
	for _, m := range g.match(searching, clock(g.now)) {
		g.matches = append(g.matches, played{g.now, m})
		g.propose(m)
	}
}

// clock converts a second of the play to a time.
func clock(second float64) time.Time {
	return time.Unix(0, 0).Add(time.Duration(second * float64(time.Second))).UTC()
}

func (g *game) emit(kind string, reason string, tickets ...*ticket) {
	e := Event{At: g.now, Type: kind}
	if kind == "AcceptMatchCompleted" {
		e.Acceptance = reason
	} else {
		e.Reason = reason
	}
	for _, t := range tickets {
		e.Tickets = append(e.Tickets, t.search.ID)
	}
	g.events = append(g.events, e)
}

func (g *game) find(id string) *ticket {
	i := slices.IndexFunc(g.tickets, func(t *ticket) bool { return t.search.ID == id })
	if i < 0 {
		return nil
	}
	return g.tickets[i]
}

// byArrival orders the tickets of a proposal.
func byArrival(tickets []*ticket) {
	slices.SortFunc(tickets, func(a, b *ticket) int { return cmp.Compare(a.search.Arrival, b.search.Arrival) })
}
