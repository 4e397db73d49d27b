package style_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/musterhq/muster/cli/style"
)

// A record is one line, whatever is in it, and what is long is cut.
func TestLogHandler(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(style.NewLogHandler(&out, style.Style{}, slog.LevelInfo)).With("component", "agent")
	log.Debug("not shown")
	log.Warn("a machine\nhas \x1b[2J left", "host", "vm", "notice", strings.Repeat("x", 100), "error", strings.Repeat("e", 100))
	log.WithGroup("of").With("a", 1).Info("done", "b", 2)
	got := out.String()
	first, rest, _ := strings.Cut(got, "\n")
	if want := ` WARN  agent: a machine\u000ahas \u001b[2J left  host=vm  notice=` + strings.Repeat("x", 60) + "…  error=" + strings.Repeat("e", 100); !strings.HasSuffix(first, want) {
		t.Errorf("the line is %q, want %q", first, want)
	}
	if want := " INFO  agent: done  of.a=1  of.b=2\n"; !strings.HasSuffix(rest, want) || strings.Count(rest, "\n") != 1 {
		t.Errorf("the second line is %q, want %q", rest, want)
	}
}
