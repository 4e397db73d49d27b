package sim

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/internal/plain"
)

// WriteText writes a report as text.
func (r *Report) WriteText(out io.Writer) error {
	w := &writer{out: out}
	w.line("%s, %s of play, seed %d", title(r), span(r.For), r.Seed)
	for _, s := range tables(r) {
		w.section(s)
	}
	if len(r.Matches.Sizes) > 0 {
		w.line("\nSizes of matches: %s", countsText(r.Matches.Sizes))
	}
	w.line("\n%.0f player-minutes: %.0f waiting, %.0f playing; %d passes, %d searches, %d cut short by a bound",
		r.Played.Waiting+r.Played.Playing, r.Played.Waiting, r.Played.Playing, r.Effort.Passes, r.Effort.Searches, r.Effort.Cut)
	return w.err
}

// WriteText writes a comparison as text.
func (c *Comparison) WriteText(out io.Writer) error {
	w := &writer{out: out}
	w.line("A: %s\nB: %s\n%s of play, seed %d, the same %d tickets", c.A.RuleSet, c.B.RuleSet, span(c.A.For), c.A.Seed, c.A.Tickets.Arrived)
	w.section(c.table())
	return w.err
}

func title(r *Report) string {
	if r.Name == "" {
		return r.RuleSet
	}
	return r.RuleSet + " with " + r.Name
}

// writer writes lines and tables, and keeps the first error.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		for i, arg := range args {
			if text, ok := arg.(string); ok { // from a rule set, a specification or a trace
				args[i] = plain.Line(text)
			}
		}
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

// section writes a table that has rows.
func (w *writer) section(s section) {
	if len(s.Rows) == 0 {
		return
	}
	w.line("\n%s", s.Title)
	if s.Text != "" {
		w.line("%s", s.Text)
	}
	if w.err != nil {
		return
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(s.Head, "\t")))
	for _, row := range s.Rows {
		row[0] = plain.Line(row[0]) // the others are figures, or types of rules
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	w.err = t.Flush()
}

func countsText(list []Count) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%d players %d times", c.Value, c.Times)
	}
	return strings.Join(parts, ", ")
}
