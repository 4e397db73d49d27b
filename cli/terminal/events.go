package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/internal/plain"
)

// Events prints events as lines, or as JSON lines. On a terminal a line that is too long is
// wrapped. It reports whether there were some.
func (t *Terminal) Events(ctx context.Context, q client.EventQuery) (some bool, err error) {
	err = t.Client.Events(ctx, q, func(e client.Event) error {
		some = true
		return t.Event(e)
	})
	return some, err
}

// Event prints one event.
func (t *Terminal) Event(e client.Event) error {
	if t.JSON {
		return WriteJSON(t.Out, e)
	}
	form := "15:04:05.000"
	if t.Dates {
		form = "2006-01-02 " + form
	}
	for _, line := range eventLines(e, form, t.Width) {
		if err := t.line(line); err != nil {
			return err
		}
	}
	return nil
}

// eventLines formats an event as one line, its time in a form, or if that is longer than width,
// which is 0 for no limit, as several, of which the others are below the code.
func eventLines(e client.Event, form string, width int) []string {
	when, what := fmt.Sprintf("%6d  %s  ", e.Seq, e.Time.Local().Format(form)), eventText(e)
	if whole := when + what; width == 0 || columns(whole) <= width {
		return []string{whole}
	}
	room := max(width-columns(when), narrowest)
	lines := style.Wrap(divided(plain.Line(what), room), room)
	for n := range lines {
		lines[n] = when + lines[n]
		when = strings.Repeat(" ", columns(when))
	}
	return lines
}

// divided returns text with spaces in the words that are longer than width.
func divided(text string, width int) string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		letters := []rune(word)
		for ; len(letters) > width; letters = letters[width:] {
			words = append(words, string(letters[:width]))
		}
		words = append(words, string(letters))
	}
	return strings.Join(words, " ")
}

// eventText returns the code of an event and what else there is to say; the resources that it
// concerns are ordered from fleet to player session.
func eventText(e client.Event) string {
	parts := []string{fmt.Sprintf("%-34s", e.Code)}
	for _, p := range []struct{ name, value string }{
		{"fleet", e.FleetID}, {"compute", e.ComputeName}, {"process", e.ProcessID},
		{"session", shortID(e.GameSessionID)}, {"player", e.PlayerSessionID},
	} {
		if p.value != "" {
			parts = append(parts, p.name+"="+p.value)
		}
	}
	if e.FleetID == "" && e.Resource != "" {
		parts = append(parts, e.Resource)
	}
	if e.Message != "" {
		parts = append(parts, "– "+e.Message)
	}
	if e.Principal != "" {
		parts = append(parts, "(by "+e.Principal+")")
	}
	return strings.Join(parts, "  ")
}
