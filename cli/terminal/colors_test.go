package terminal

import (
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/style"
)

// Statuses have colors, and the columns stay where they are, whatever letters names have.
func TestColored(t *testing.T) {
	t.Parallel()
	var plain strings.Builder
	of := Table{Head: []string{"NAME", "STATUS", "AGE"}, Rows: [][]string{{"Zürich", "ACTIVE", "1s"}, {"b", "ERROR", "2s"}, {"ACTIVE", "unknown", "3s"}}}
	if err := of.Write(&plain); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1mNAME    STATUS   AGE\x1b[0m\n" +
		"Zürich  \x1b[32mACTIVE\x1b[0m   1s\n" +
		"b       \x1b[31mERROR\x1b[0m    2s\n" +
		"ACTIVE  unknown  3s\n"
	lines := strings.Split(strings.TrimSpace(plain.String()), "\n")
	got := strings.Join(colored(lines, style.Colors()), "\n") + "\n"
	if got != want {
		t.Errorf("the table is\n%q\nwant\n%q", got, want)
	}
	if got := colored(lines, style.Style{}); !slices.Equal(got, lines) {
		t.Errorf("without colors the table is %q, want %q", got, lines)
	}
}
