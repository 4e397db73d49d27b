package style

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/plain"
)

// LogHandler writes log records for people: time, level, message, and the attributes that
// are short, on one line.
type LogHandler struct {
	mu     *sync.Mutex
	out    io.Writer
	style  Style
	level  slog.Leveler
	prefix string // of the names of attributes: the open groups
	attrs  []slog.Attr
}

// NewLogHandler returns a handler that writes records from a level on to out.
func NewLogHandler(out io.Writer, s Style, level slog.Leveler) *LogHandler {
	return &LogHandler{mu: &sync.Mutex{}, out: out, style: s, level: level}
}

// Enabled implements slog.Handler.
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs implements slog.Handler.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.attrs = h.attrs[:len(h.attrs):len(h.attrs)]
	for _, a := range attrs {
		a.Key = h.prefix + a.Key
		more.attrs = append(more.attrs, a)
	}
	return &more
}

// WithGroup implements slog.Handler.
func (h *LogHandler) WithGroup(name string) slog.Handler {
	more := *h
	more.prefix = h.prefix + name + "."
	return &more
}

// longest is how many characters the value of an attribute has at most; longer ones, such as
// documents, are cut. Errors are shown whole.
const longest = 60

// Handle implements slog.Handler.
func (h *LogHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := h.attrs[:len(h.attrs):len(h.attrs)]
	r.Attrs(func(a slog.Attr) bool {
		a.Key = h.prefix + a.Key
		attrs = append(attrs, a)
		return true
	})
	var b strings.Builder
	b.WriteString(h.style.Faint(r.Time.Format("15:04:05")) + " " + h.name(r.Level))
	for _, a := range attrs {
		if a.Key == "component" {
			b.WriteString(" " + h.style.Faint(plain.Line(a.Value.String())+":"))
		}
	}
	b.WriteString(" " + plain.Line(r.Message))
	for _, a := range attrs {
		value := []rune(plain.Line(fmt.Sprint(a.Value.Resolve().Any())))
		if a.Key == "component" || len(value) == 0 {
			continue
		}
		if len(value) > longest && !strings.HasSuffix(a.Key, "error") {
			value = append(value[:longest:longest], '…')
		}
		b.WriteString("  " + h.style.Faint(plain.Line(a.Key)+"=") + string(value))
	}
	b.WriteString("\n")
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, b.String())
	return err
}

// name returns a level, in its color and as wide as the others.
func (h *LogHandler) name(level slog.Level) string {
	text := fmt.Sprintf("%-5s", level)
	switch {
	case level >= slog.LevelError:
		return h.style.Bad(text)
	case level >= slog.LevelWarn:
		return h.style.Busy(text)
	case level >= slog.LevelInfo:
		return h.style.Good(text)
	}
	return h.style.Faint(text)
}
