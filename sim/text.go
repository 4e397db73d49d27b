package sim

import (
	"fmt"
	"io"
	"strings"

	"github.com/musterhq/muster/internal/plain"
)

// WriteText writes a report as text.
func (r *Report) WriteText(out io.Writer) error {
	w := &plain.Report{Out: out}
	w.Line("%s, %s of play, seed %d", title(r), span(r.For), r.Seed)
	for _, s := range tables(r) {
		s.write(w)
	}
	if len(r.Matches.Sizes) > 0 {
		w.Line("\nSizes of matches: %s", countsText(r.Matches.Sizes))
	}
	w.Line("\n%.0f player-minutes: %.0f waiting, %.0f playing; %d passes, %d searches",
		r.Played.Waiting+r.Played.Playing, r.Played.Waiting, r.Played.Playing, r.Effort.Passes, r.Effort.Searches)
	return w.Err
}

// WriteText writes a comparison as text.
func (c *Comparison) WriteText(out io.Writer) error {
	w := &plain.Report{Out: out}
	w.Line("A: %s\nB: %s\n%s of play, seed %d, the same %d tickets", c.A.RuleSet, c.B.RuleSet, span(c.A.For), c.A.Seed, c.A.Tickets.Arrived)
	for i, whose := range []string{" of A", " of B"} {
		c.effort[i].warning(whose).write(w)
	}
	c.table().write(w)
	return w.Err
}

func title(r *Report) string {
	if r.Name == "" {
		return r.RuleSet
	}
	return r.RuleSet + " with " + r.Name
}

// write writes a table that has rows.
func (s section) write(w *plain.Report) {
	if len(s.Rows) == 0 {
		return
	}
	w.Line("\n%s", s.Title)
	if s.Text != "" {
		w.Line("%s", s.Text)
	}
	head := make([]string, len(s.Head))
	for i, name := range s.Head {
		head[i] = strings.ToUpper(name)
	}
	w.Table(head, s.Rows)
}

func countsText(list []Count) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%d players %d times", c.Value, c.Times)
	}
	return strings.Join(parts, ", ")
}
