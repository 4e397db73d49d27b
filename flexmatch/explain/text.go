package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/musterhq/muster/internal/plain"
)

// WriteText writes an explanation as text.
func (e *Explanation) WriteText(out io.Writer) error {
	p := &printer{out: out}
	kind := "Ticket"
	if e.Backfill {
		kind = "Backfill ticket"
	}
	p.line("%s %s of %s has waited %s; expansion step %d of %d", kind, e.TicketID, plural(e.Players, "player"), millis(e.Waited), e.Level, e.Levels)
	if e.NextStep != nil {
		p.line("In %s it reaches step %d%s", millis(e.NextStep.In), e.NextStep.Level, changing(e.NextStep.Changes))
	}
	if len(e.Never) > 0 {
		p.line("\nIt can never be matched:")
		p.causes(e.Never)
		return p.err
	}
	p.would(e)
	if len(e.Alone) > 0 {
		p.line("\nBy itself:")
		p.causes(e.Alone)
	}
	p.blocking(e)
	p.group(e.Nearest)
	return p.err
}

type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", escaped(args)...)
	}
}

// escaped returns args with the text of rule sets and tickets in them escaped.
func escaped(args []any) []any {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = plain.Line(text)
		}
	}
	return args
}

func (p *printer) causes(causes []Cause) {
	for i, c := range causes {
		if i == 10 {
			p.line("  and %d more", len(causes)-i)
			return
		}
		p.line("  %s", c.Text)
	}
}

func (p *printer) would(e *Explanation) {
	note := ""
	if e.Ahead.Bounded {
		note = fmt.Sprintf(" (played ahead with %d tickets, in %d moments)", e.Ahead.Tickets, e.Ahead.Passes)
	}
	switch w := e.Would; {
	case w == nil:
		p.line("With the tickets that wait now it would not be matched at any step%s.", note)
	case w.In == 0:
		p.line("The next pass matches it: %s, step %d%s.", plural(w.Players, "player"), w.Level, note)
	default:
		p.line("If nobody came or went it would be matched in %s, at step %d, with %s%s.", millis(w.In), w.Level, plural(w.Players, "player"), note)
	}
}

func (p *printer) blocking(e *Explanation) {
	of := ""
	if e.Compared < e.Others {
		of = fmt.Sprintf(", chosen evenly by age from %d", e.Others)
	}
	p.line("\nHeld against %s%s: %d could play with it as far as two tickets tell.", plural(e.Compared, "other ticket"), of, e.Compatible)
	if len(e.Blocking) == 0 || p.err != nil {
		return
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  KEPT APART BY\tTYPE\tTICKETS\tBY IT ALONE\tNEAREST\tLIMIT")
	for _, b := range e.Blocking {
		fmt.Fprintf(w, "  %s\t%s\t%d\t%d\t%s\t%s\n", plain.Line(b.Rule+b.Reason), dash(plain.Line(b.Type)), b.Tickets, b.Only, figure(b.Nearest), figure(b.Limit))
	}
	p.err = w.Flush()
}

func (p *printer) group(g *Group) {
	if g == nil {
		return
	}
	p.line("\nThe largest group found around it has %s in %s (step %d).", plural(g.Players, "player"), plural(len(g.Tickets), "ticket"), g.Level)
	switch {
	case g.Match:
		p.line("  It is a valid match; %s.", missing(g.MissingFull, "a full one"))
	case g.MissingSmallest > 0:
		p.line("  %s; %s.", missing(g.MissingSmallest, "the smallest match"), missing(g.MissingFull, "a full one"))
	}
	if g.Teams != "" && g.MissingSmallest == 0 {
		p.line("  %s.", g.Teams)
	}
	if len(g.Broken) > 0 && g.MissingSmallest == 0 {
		p.line("  In the best teams found it breaks %s.", strings.Join(g.Broken, ", "))
	}
	for _, r := range g.Rejected {
		p.line("  %s kept %s out of it.", r.Rule+r.Reason, plural(r.Tickets, "ticket"))
	}
}

// WriteText writes an overview as text.
func (v *Overview) WriteText(out io.Writer) error {
	p := &printer{out: out}
	p.line("%s with %s wait.", plural(v.Waiting, "ticket"), plural(v.Players, "player"))
	p.ages(v.Ages)
	for _, c := range v.Never {
		p.line("%s can never be matched: %s %s", plural(c.Tickets, "ticket"), c.Code, c.Name)
	}
	if v.Examined > 0 {
		p.loads(v)
	}
	for _, c := range v.Coming {
		when := "The next pass"
		if c.In > 0 {
			when = "In " + millis(c.In) + " a pass"
		}
		p.line("%s would form %d matches of %s with %s.", when, c.Matches, plural(c.Tickets, "ticket"), plural(c.Players, "player"))
	}
	if v.Waiting > 0 {
		p.line("Of the %d oldest tickets %d would then still wait, if nobody came or went.", v.Ahead.Tickets, v.Left)
	}
	return p.err
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
		p.line("Ages: %s.", strings.Join(parts, ", "))
	}
}

func (p *printer) loads(v *Overview) {
	p.line("Of %d pairs looked at, %d could play together as far as two tickets tell.", v.Pairs, v.Free)
	if len(v.Rules) > 0 && p.err == nil {
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  KEPT APART BY\tPAIRS\tBY IT ALONE\tBLOCKS MOST FOR")
		for _, r := range v.Rules {
			fmt.Fprintf(w, "  %s\t%d\t%d\t%s\n", plain.Line(r.Rule+r.Reason), r.Pairs, r.Only, plural(r.Tickets, "ticket"))
		}
		p.err = w.Flush()
	}
	if v.TooFew > 0 {
		p.line("Around %d of %d tickets the smallest match lacks players: %d in the median.", v.TooFew, v.Examined, v.Missing)
	}
	for _, r := range v.Broken {
		p.line("%s refuses the best group of %s.", r.Rule+r.Reason, plural(r.Tickets, "ticket"))
	}
}

func missing(n int, what string) string {
	if n == 0 {
		return "it is " + what
	}
	return fmt.Sprintf("%s short of %s", plural(n, "player"), what)
}

func changing(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ", which changes " + strings.Join(list, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
