package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/plain"
)

// WriteText writes an explanation as text.
func (e *Explanation) WriteText(out io.Writer) error {
	p := &printer{plain.Report{Out: out}}
	kind := "Ticket"
	if e.Backfill {
		kind = "Backfill ticket"
	}
	p.Line("%s %s of %s has waited %s; expansion step %d of %d", kind, e.TicketID, plain.Count(e.Players, "player"), millis(e.Waited), e.Level, e.Levels)
	if e.NextStep != nil && e.Ahead.Passes > 0 {
		p.Line("In %s it reaches step %d%s", millis(e.NextStep.In), e.NextStep.Level, changing(e.NextStep.Changes))
	}
	p.undeclared(e.Undeclared, func(*Undeclared) string { return "this ticket" })
	if len(e.Never) > 0 {
		p.Line("\nIt can never be matched:")
		p.causes(e.Never)
		return p.Err
	}
	p.would(e)
	p.bounds(e.Bounds)
	if len(e.Alone) > 0 {
		p.Line("\nBy itself:")
		p.causes(e.Alone)
	}
	p.blocking(e)
	p.misses(e.Misses)
	p.group(e.Nearest)
	return p.Err
}

// printer writes the parts of an explanation or an overview.
type printer struct{ plain.Report }

func (p *printer) causes(causes []Cause) {
	for i, c := range causes {
		if i == 10 {
			p.Line("  and %d more", len(causes)-i)
			return
		}
		p.Line("  %s", c.Text)
	}
}

func (p *printer) undeclared(list []Undeclared, whose func(*Undeclared) string) {
	for _, u := range list {
		meant := ""
		if u.Nearest != "" {
			meant = fmt.Sprintf(" (did you mean %q?)", u.Nearest)
		}
		p.Line("The rule set does not declare the attribute %q of %s, so no rule reads it%s.", u.Attribute, whose(&u), meant)
	}
}

func (p *printer) bounds(list []Bound) {
	for _, b := range list {
		p.Line("%s", b.Text)
	}
}

func (p *printer) would(e *Explanation) {
	if e.Ahead.Passes == 0 {
		return // nothing was played ahead
	}
	note := ""
	if e.Ahead.Bounded {
		note = fmt.Sprintf(" (played ahead with %d tickets, in %d moments)", e.Ahead.Tickets, e.Ahead.Passes)
	}
	switch w := e.Would; {
	case w == nil && e.Ahead.Cut:
		p.Line("With the tickets that wait now it would not be matched within %s; what comes later was not played ahead%s.", millis(e.Ahead.Until), note)
	case w == nil:
		p.Line("With the tickets that wait now it would not be matched at any step%s.", note)
	case w.In == 0:
		p.Line("The next pass matches it: %s, step %d%s.", plain.Count(w.Players, "player"), w.Level, note)
	default:
		p.Line("If nobody came or went it would be matched in %s, at step %d, with %s%s.", millis(w.In), w.Level, plain.Count(w.Players, "player"), note)
	}
}

func (p *printer) blocking(e *Explanation) {
	of := ""
	if e.Compared < e.Others {
		of = fmt.Sprintf(", chosen evenly by age from %d", e.Others)
	}
	p.Line("\nCompared one by one with %s%s: %d could play with it.", plain.Count(e.Compared, "other ticket"), of, e.Compatible)
	if len(e.Blocking) == 0 {
		return
	}
	var rows [][]string
	for _, b := range e.Blocking {
		rows = append(rows, []string{"  " + b.Rule + b.Reason, cmp.Or(b.Type, "-"), strconv.Itoa(b.Tickets), strconv.Itoa(b.Only), figure(b.Nearest), figure(b.Limit)})
	}
	p.Table([]string{"  KEPT APART BY", "TYPE", "TICKETS", "BY IT ALONE", "NEAREST", "LIMIT"}, rows)
}

// misses prints the tickets that one rule alone keeps apart, nearest first.
func (p *printer) misses(list []Miss) {
	if len(list) == 0 {
		return
	}
	rows := make([][]string, len(list))
	for i, m := range list {
		when := "never"
		if m.In != nil {
			when = "in " + millis(*m.In)
		}
		rows[i] = []string{"  " + m.TicketID, m.Rule, number(m.Value), number(m.Limit), when}
	}
	p.Line("")
	p.Table([]string{"  NEARLY", "KEPT APART BY", "VALUE", "LIMIT", "ALLOWED"}, rows)
}

func (p *printer) group(g *Group) {
	if g == nil {
		return
	}
	p.Line("\nThe largest group found around it has %s in %s (step %d).", plain.Count(g.Players, "player"), plain.Count(len(g.Tickets), "ticket"), g.Level)
	switch {
	case g.Match:
		p.Line("  It is a valid match; %s.", missing(g.MissingFull, "a full one"))
	case g.MissingSmallest > 0:
		p.Line("  %s; %s.", missing(g.MissingSmallest, "the smallest match"), missing(g.MissingFull, "a full one"))
	}
	if g.Teams != "" && g.MissingSmallest == 0 {
		p.Line("  %s.", g.Teams)
	}
	if len(g.Broken) > 0 && g.MissingSmallest == 0 {
		broken := slices.Clone(g.Broken)
		for i, rule := range broken {
			if at := slices.IndexFunc(g.Breaches, func(b Breach) bool { return b.Rule == rule }); at >= 0 {
				broken[i] += " (" + g.Breaches[at].text() + ")"
			}
		}
		p.Line("  The best teams found break %s.", strings.Join(broken, ", "))
	}
	for _, s := range g.Lacks {
		p.Line("  It lacks %s with %q: the rule %s needs %d in the match, and it has %d.", plain.Count(s.Missing(), "player"), s.String, s.Rule, s.Needs, s.Has)
	}
	for _, r := range g.Rejected {
		p.Line("  %s kept %s out of it.", r.Rule+r.Reason, plain.Count(r.Tickets, "ticket"))
	}
}

// WriteText writes an overview as text.
func (v *Overview) WriteText(out io.Writer) error {
	p := &printer{plain.Report{Out: out}}
	p.Line("%s with %s wait.", plain.Count(v.Waiting, "ticket"), plain.Count(v.Players, "player"))
	p.ages(v.Ages)
	if v.Counted < v.Waiting {
		p.Line("The data of %s was checked, chosen evenly by age.", plain.Count(v.Counted, "ticket"))
	}
	p.undeclared(v.Undeclared, func(u *Undeclared) string { return plain.Count(u.Tickets, "ticket") })
	p.bounds(v.Bounds)
	for _, c := range v.Never {
		p.Line("%s can never be matched: %s.", plain.Count(c.Tickets, "ticket"), c.Text)
	}
	if v.Examined > 0 {
		p.loads(v)
	}
	for _, c := range v.Coming {
		when := "The next pass"
		if c.In > 0 {
			when = "In " + millis(c.In) + " a pass"
		}
		matches := "1 match"
		if c.Matches != 1 {
			matches = fmt.Sprintf("%d matches", c.Matches)
		}
		p.Line("%s would form %s of %s with %s.", when, matches, plain.Count(c.Tickets, "ticket"), plain.Count(c.Players, "player"))
	}
	if v.Ahead.Cut {
		p.Line("What comes more than %s from now was not played ahead.", millis(v.Ahead.Until))
	}
	if v.Waiting > 0 {
		p.Line("Of the %s, %d would still wait after that, if nobody came or went.", plain.Count(v.Ahead.Tickets, "oldest ticket"), v.Left)
	}
	return p.Err
}

func (p *printer) ages(list []Age) {
	var parts []string
	last := int64(0)
	for _, a := range list {
		switch {
		case a.Tickets == 0:
		case a.Under == 0:
			parts = append(parts, fmt.Sprintf("%d over %s", a.Tickets, millis(last)))
		default:
			parts = append(parts, fmt.Sprintf("%d under %s", a.Tickets, millis(a.Under)))
		}
		last = a.Under
	}
	if len(parts) > 0 {
		p.Line("Ages: %s.", strings.Join(parts, ", "))
	}
}

func (p *printer) loads(v *Overview) {
	p.Line("Of %s of tickets compared, %d could play together.", plain.Count(v.Pairs, "pair"), v.Free)
	if len(v.Rules) > 0 {
		var rows [][]string
		for _, r := range v.Rules {
			rows = append(rows, []string{"  " + r.Rule + r.Reason, strconv.Itoa(r.Pairs), strconv.Itoa(r.Only), plain.Count(r.Tickets, "ticket")})
		}
		p.Table([]string{"  KEPT APART BY", "PAIRS", "BY IT ALONE", "BLOCKS MOST FOR"}, rows)
	}
	if v.TooFew > 0 {
		p.Line("Around %d of %s there are too few players for the smallest match: %d missing (median).", v.TooFew, plain.Count(v.Examined, "ticket"), v.Missing)
	}
	for _, l := range v.Lacks {
		p.Line("Around %d of them players with %q are missing (rule %s).", l.Tickets, l.String, l.Rule)
	}
	for _, r := range v.Broken {
		p.Line("%s refuses the best group of %s.", r.Rule+r.Reason, plain.Count(r.Tickets, "ticket"))
	}
}

func missing(n int, what string) string {
	if n == 0 {
		return "it is " + what
	}
	return fmt.Sprintf("%s short of %s", plain.Count(n, "player"), what)
}

func changing(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", which changes " + strings.Join(list, ", ")
}

func millis(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

func figure(v *float64) string {
	if v == nil {
		return "-"
	}
	return number(*v)
}
