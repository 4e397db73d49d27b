package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
)

// alone returns the rules that a ticket breaks by itself: at every level, or at its age.
func (w *world) alone(t *ticket) (never, now []Cause) {
	levels := w.rs.Levels()
	level := w.rs.LevelAt(w.now.Sub(t.Created))
	tell := func(c Cause, holds func(level int) bool) {
		repaired := 0
		for repaired < len(levels) && !holds(repaired) {
			repaired++
		}
		switch {
		case repaired == len(levels):
			if len(levels) > 1 {
				c.Text += ", at every expansion step"
			}
			never = append(never, c)
			return
		case repaired > level:
			c.Text += fmt.Sprintf("; once it has waited %s, it no longer does", levels[repaired].From)
		}
		now = append(now, c)
	}
	l := search.Together(w.rs, t.candidate)
	for _, i := range broken(w.pairing, levels[level], l) {
		r := levels[level].Rules[i]
		tell(Cause{Code: BreaksRule, Name: r.Name, Text: "the ticket alone breaks the rule " + r.Name + figures(r, l)},
			func(at int) bool { return !slices.Contains(broken(w.pairing, levels[at], l), i) })
	}
	for _, c := range w.misfits(level, t.candidate) {
		tell(c, func(at int) bool { return w.misfits(at, t.candidate) == nil })
	}
	return never, now
}

// figures returns text about a broken rule's number and limit, or "".
func figures(r *ruleset.Rule, l *ruleset.Lineup) string {
	if b, ok := breach(r, l); ok {
		return ": " + b.text()
	}
	return ""
}

// text returns the number and the limit.
func (b Breach) text() string {
	than := " above "
	if b.AtLeast {
		than = " below "
	}
	return number(b.Value) + than + number(b.Limit)
}

func number(v float64) string {
	return strconv.FormatFloat(float64(int64(v*100+0.5))/100, 'f', -1, 64)
}

// tally counts the reasons that keep tickets apart.
type tally struct {
	blocking map[int]*Blocking // by rule
	reasons  map[string]*Blocking
	near     []missed
}

// compare compares a ticket with others. It returns those that could play with it, and
// what keeps the rest apart.
func (w *world) compare(t *ticket, others []*ticket) (compatible []*ticket, c *tally) {
	c = &tally{blocking: map[int]*Blocking{}, reasons: map[string]*Blocking{}}
	l := search.Together(w.rs)
	for _, o := range others {
		if len(o.never) > 0 {
			c.reason(ReasonNever)
			continue
		}
		level := w.rs.Level(search.Age(w.rs, []*search.Candidate{t.candidate, o.candidate}, w.now))
		if reason := w.apart(level, t, o); reason != "" {
			c.reason(reason)
			continue
		}
		l.Parties, l.Teams[0] = l.Parties[:0], l.Teams[0][:0]
		l.Add(&t.candidate.Party, 0)
		l.Add(&o.candidate.Party, 0)
		rules := broken(w.pairing, level, l)
		if len(rules) == 0 {
			compatible = append(compatible, o)
		}
		for _, i := range rules {
			b, ok := breach(level.Rules[i], l)
			c.rule(i, level.Rules[i], b, ok, len(rules) == 1)
			if ok && len(rules) == 1 {
				c.near = append(c.near, missed{o, b})
			}
		}
	}
	return compatible, c
}

// apart returns a reason other than rules why two tickets cannot be together, or "".
func (w *world) apart(level *ruleset.Level, t, o *ticket) string {
	switch {
	case t.Backfill && o.Backfill:
		return ReasonBackfill
	case t.Backfill && !o.Joins(t.Ticket), o.Backfill && !t.Joins(o.Ticket):
		return ReasonPlaysIn
	case len(t.Players)+len(o.Players) > level.Capacity()-w.opts.AdditionalPlayerCount:
		return ReasonSizes
	}
	for _, p := range []*ticket{t, o} {
		if p.Most > 0 && len(t.Players)+len(o.Players) > p.Most {
			return ReasonSlots
		}
	}
	for _, p := range []*ticket{t, o} {
		if !p.Backfill && !w.fitsAlone(level, len(p.Players)) {
			return ReasonSizes
		}
	}
	return ""
}

func (c *tally) reason(text string) {
	if c.reasons[text] == nil {
		c.reasons[text] = &Blocking{Reason: text}
	}
	c.reasons[text].Tickets++
	c.reasons[text].Only++
}

// rule counts a ticket that a rule keeps apart; measured reports whether by is its number.
func (c *tally) rule(i int, r *ruleset.Rule, by Breach, measured, only bool) {
	b := c.blocking[i]
	if b == nil {
		b = &Blocking{Rule: r.Name, Type: r.Type}
		c.blocking[i] = b
	}
	b.Tickets++
	if only {
		b.Only++
	}
	if measured && (b.Nearest == nil || !by.AtLeast && by.Value < *b.Nearest || by.AtLeast && by.Value > *b.Nearest) {
		b.Nearest, b.Limit = &by.Value, &by.Limit
	}
}

// list returns what keeps tickets apart, most frequent first.
func (c *tally) list() []Blocking {
	var out []Blocking
	for _, b := range c.blocking {
		out = append(out, *b)
	}
	for _, b := range c.reasons {
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b Blocking) int {
		return cmp.Or(b.Tickets-a.Tickets, b.Only-a.Only, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}
