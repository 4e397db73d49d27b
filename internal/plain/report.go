package plain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report writes lines and tables of text, some of which may be untrusted, and keeps the
// first error.
type Report struct {
	Out io.Writer
	Err error
}

// Line writes a line. Its arguments that are strings get the escapes of Line.
func (r *Report) Line(format string, args ...any) {
	if r.Err != nil {
		return
	}
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = Line(text)
		}
	}
	_, r.Err = fmt.Fprintf(r.Out, format+"\n", args...)
}

// Table writes rows in columns, the head first. Each row stays one line and each cell one
// column, whatever the text.
func (r *Report) Table(head []string, rows [][]string) {
	if r.Err != nil {
		return
	}
	w := tabwriter.NewWriter(r.Out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Line(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")) // a tabwriter keeps its error for Flush
	}
	r.Err = w.Flush()
}
