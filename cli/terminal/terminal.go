// Package terminal implements what operators see on a command line: tables of fleets
// and game sessions, the event log as it grows, and a whole game played step by step.
// It calls the server through cli/client.
package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/cli/style"
	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/wake"
)

// Terminal prints what it reads from a server.
type Terminal struct {
	Client *client.Client
	Out    io.Writer
	JSON   bool          // print JSON instead of a table
	Watch  time.Duration // interval at which to print again until ctx ends; 0 prints once
	Width  int           // columns of the terminal, to which lines are wrapped; 0: there is none, and lines stay whole
	Dates  bool          // events have their date besides the time
	Colors io.Writer     // the terminal, if tables have colors; nil: they go to Out
	Screen io.Writer     // where the output before is erased with Watch; nil erases nothing
}

// table is the output of a command.
type table struct {
	Table
	data  any          // the same as a document for JSON
	write func() error // prints more than one table; nil: Table is all
}

// Table is a table of text, some of which may be untrusted.
type Table struct {
	Head []string
	Rows [][]string
}

// Write prints the table in columns. Each row stays one line and each cell one column,
// whatever the text.
func (t Table) Write(out io.Writer) error {
	r := plain.Report{Out: out}
	r.Table(t.Head, t.Rows)
	return r.Err
}

// WriteJSON prints a document on one line, with the escapes of package plain.
func WriteJSON(out io.Writer, document any) error {
	return json.NewEncoder(plain.NewWriter(out)).Encode(document)
}

// Report prints a document as JSON, or a sentence about it.
func (t *Terminal) Report(document any, format string, args ...any) error {
	if t.JSON {
		return WriteJSON(t.Out, document)
	}
	return t.line(fmt.Sprintf(format, args...))
}

// List reads a list and prints it as a table with a row for each member, or as JSON.
func List[T any](ctx context.Context, t *Terminal, read func(context.Context) ([]T, error), head []string, row func(T) []string) error {
	return t.show(ctx, func(ctx context.Context) (table, error) {
		all, err := read(ctx)
		view := table{Table: Table{Head: head}, data: all}
		for _, member := range all {
			view.Rows = append(view.Rows, row(member))
		}
		return view, err
	})
}

// line prints text on one line, with the escapes of package plain.
func (t *Terminal) line(text string) error {
	_, err := fmt.Fprintln(t.Out, plain.Line(text))
	return err
}

// show prints what read returns: once, or every t.Watch until ctx ends.
func (t *Terminal) show(ctx context.Context, read func(context.Context) (table, error)) error {
	for {
		data, err := read(ctx)
		if ctx.Err() != nil && t.Watch > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := t.print(data); err != nil || t.Watch == 0 {
			return err
		}
		if !wake.Sleep(ctx, t.Watch) {
			return nil
		}
	}
}

// clear moves a terminal's cursor home and erases everything below it (ECMA-48).
const clear = "\x1b[H\x1b[J"

func (t *Terminal) print(data table) error {
	if t.JSON {
		return WriteJSON(t.Out, data.data)
	}
	if t.Watch > 0 && t.Screen != nil {
		io.WriteString(t.Screen, clear)
	}
	if data.write != nil {
		return data.write()
	}
	return t.writeTable(data.Table)
}

// writeTable writes a table, in colors if the terminal has them, and no wider than the terminal
// if it is the last column that is too wide.
func (t *Terminal) writeTable(of Table) error {
	if t.Colors == nil && t.Width == 0 {
		return of.Write(t.Out)
	}
	var text strings.Builder
	if err := of.Write(&text); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	below := of.wrap(lines, t.Width)
	out, s := t.Out, style.Style{}
	if t.Colors != nil {
		out, s = t.Colors, style.Of(t.Colors)
	}
	for n, line := range colored(lines, s) {
		for _, line := range append([]string{line}, below[n]...) {
			if _, err := io.WriteString(out, line+"\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// narrowest is how many columns text is wrapped to at least.
const narrowest = 30

// wrap shortens the lines of a table that are longer than width because of text in their last
// cell, and returns the lines that follow each. The text goes on in its column, or where that is
// too narrow it is below the row.
func (t Table) wrap(lines []string, width int) (below [][]string) {
	below = make([][]string, len(lines))
	for n, row := range t.Rows {
		line := lines[n+1] // the first is the head
		if width == 0 || len(row) == 0 || columns(line) <= width {
			continue
		}
		last := plain.Line(row[len(row)-1])
		if columns(last) <= narrowest {
			continue
		}
		front := strings.TrimSuffix(line, last)
		if at := columns(front); width-at >= narrowest {
			parts := style.Wrap(last, width-at)
			lines[n+1] = front + parts[0]
			for _, part := range parts[1:] {
				below[n+1] = append(below[n+1], strings.Repeat(" ", at)+part)
			}
			continue
		}
		lines[n+1] = strings.TrimRight(front, " ")
		const indent = "    "
		for _, part := range style.Wrap(last, max(width-len(indent), narrowest)) {
			below[n+1] = append(below[n+1], indent+part)
		}
	}
	return below
}

// columns returns how wide text is.
func columns(text string) int { return utf8.RuneCountInString(text) }

// colored returns the lines of a table with its head in bold and its statuses in their colors.
func colored(lines []string, s style.Style) []string {
	head := lines[0]
	column := -1
	for _, name := range []string{"STATUS", "STATE"} {
		if at := strings.Index(head, name); at >= 0 && column < 0 {
			column = columns(head[:at])
		}
	}
	all := []string{s.Bold(head)}
	for _, line := range lines[1:] {
		if cells := []rune(line); column >= 0 && column < len(cells) {
			status, rest, _ := strings.Cut(string(cells[column:]), "  ")
			if rest != "" {
				rest = "  " + rest
			}
			line = string(cells[:column]) + s.Status(status) + rest
		}
		all = append(all, line)
	}
	return all
}

// all calls a paginated operation until the last page; page takes each response and
// returns its NextToken.
func all[Out any](ctx context.Context, c *client.Client, operation string, in map[string]any, page func(*Out) string) error {
	for {
		var out Out
		if err := c.Call(ctx, operation, in, &out); err != nil {
			return err
		}
		next := page(&out)
		if next == "" {
			return nil
		}
		in["NextToken"] = next
	}
}

// since returns roughly how long ago a time was.
func since(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return ago(float64(at.UnixMilli()) / 1000)
}

// ago returns roughly how long ago a wire timestamp (seconds since 1970) was.
func ago(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	d := time.Since(time.UnixMilli(int64(seconds * 1000)))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
