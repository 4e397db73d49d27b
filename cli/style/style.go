// Package style decides how text looks on a terminal: bold headings, and statuses in
// colors that say at a glance whether something needs attention.
package style

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Style writes text for a terminal, or leaves it as it is. The zero value leaves it.
type Style struct{ on bool }

// Of returns the style for what is written to out: a plain one unless out is a terminal that
// can show colors and the user has not refused them (NO_COLOR, https://no-color.org).
func Of(out io.Writer) Style {
	return Style{on: IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Colors returns the style with colors, whatever is written to.
func Colors() Style { return Style{on: true} }

// File is what a writer has that writes to a file: an *os.File, or what goes to one.
type File interface{ Fd() uintptr }

// IsTerminal reports whether what is written to out is shown on a terminal.
func IsTerminal(out io.Writer) bool {
	f, ok := out.(File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the number of columns of the terminal out, or usual if it is none.
func Width(out io.Writer, usual int) int {
	if f, ok := out.(File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usual
}

// Wrap divides text into lines of at most width columns, where words allow that.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// On reports whether text gets colors.
func (s Style) On() bool { return s.on }

// Select Graphic Rendition (ECMA-48, 8.3.117).
const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	usual  = "\x1b[0m"
)

// Bold returns text in bold. As with all methods, text must not contain what could change the
// terminal (package plain).
func (s Style) Bold(text string) string { return s.with(bold, text) }

// Faint returns text that is less visible than the rest.
func (s Style) Faint(text string) string { return s.with(faint, text) }

// Name returns what the user can type: a command or a flag.
func (s Style) Name(text string) string { return s.with(cyan, text) }

// Good, Busy and Bad return text in the color of what is well, of what is under way, and of
// what has failed.
func (s Style) Good(text string) string { return s.with(green, text) }

// Busy is like Good.
func (s Style) Busy(text string) string { return s.with(yellow, text) }

// Bad is like Good.
func (s Style) Bad(text string) string { return s.with(red, text) }

func (s Style) with(how, text string) string {
	if !s.on || text == "" {
		return text
	}
	return how + text + usual
}

// Status returns a status, such as ACTIVE or draining, in its color; text that is no status
// that Muster has is returned as it is.
func (s Style) Status(text string) string {
	word, _, _ := strings.Cut(text, ",") // hosts can have several, the worst first
	switch strings.ToUpper(word) {
	case "OK", "ACTIVE", "READY", "COMPLETED", "FULFILLED", "CONNECTED", "SUCCEEDED":
		return s.Good(text)
	case "ERROR", "FAILED", "TIMED_OUT", "TIMEDOUT", "CANCELLED", "AWAY", "UNHEALTHY", "LOST":
		return s.Bad(text)
	case "WARNING", "NEW", "DOWNLOADING", "VALIDATING", "BUILDING", "ACTIVATING", "DELETING", "TERMINATING", "PENDING", "QUEUED", "SEARCHING",
		"PLACING", "REQUIRES_ACCEPTANCE", "DRAINING", "DRAINED", "REMOVING", "UPDATING", "INITIALIZED":
		return s.Busy(text)
	case "TERMINATED", "DELETED", "DISABLED", "INACTIVE", "IDLE":
		return s.Faint(text)
	}
	return text
}
