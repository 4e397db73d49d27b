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
	Colors io.Writer     // the terminal, if tables have colors; nil: they go to Out
	Screen io.Writer     // where the output before is erased with Watch; nil erases nothing
}

// table is the output of a command.
type table struct {
	Table
	data any // the same as a document for JSON
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
func List[T any](ctx context.Context, t *Terminal, read func(*client.Client, context.Context) ([]T, error), head []string, row func(T) []string) error {
	return t.show(ctx, func(ctx context.Context) (table, error) {
		all, err := read(t.Client, ctx)
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
		if ctx.Err() != nil {
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
	return t.writeTable(data.Table)
}

// writeTable writes a table, in colors if the terminal has them.
func (t *Terminal) writeTable(of Table) error {
	if t.Colors == nil {
		return of.Write(t.Out)
	}
	var text strings.Builder
	if err := of.Write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(t.Colors, colored(text.String(), style.Of(t.Colors)))
	return err
}

// colored returns a table with its head in bold and its statuses in their colors.
func colored(table string, s style.Style) string {
	head, rows, _ := strings.Cut(table, "\n")
	column := -1
	for _, name := range []string{"STATUS", "STATE"} {
		if at := strings.Index(head, name); at >= 0 && column < 0 {
			column = len([]rune(head[:at]))
		}
	}
	var b strings.Builder
	b.WriteString(s.Bold(head) + "\n")
	for line := range strings.Lines(rows) {
		if cells := []rune(line); column >= 0 && column < len(cells) {
			status, rest, _ := strings.Cut(strings.TrimSuffix(string(cells[column:]), "\n"), "  ")
			if rest != "" {
				rest = "  " + rest
			}
			line = string(cells[:column]) + s.Status(status) + rest + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
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
