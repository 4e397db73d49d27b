// Package plain makes untrusted text safe to show: characters that would move a
// terminal's cursor, change the screen, reverse the reading direction or look like
// another line are shown as escapes.
package plain

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns s as one line: control and format characters, line ends and tabs
// included, become escapes such as \u001b. The escapes are those of JSON, so escaped
// JSON keeps its meaning.
func Line(s string) string { return escape(s, harmful) }

// Text is like Line but keeps line ends and tabs.
func Text(s string) string { return escape(s, harmfulInText) }

func harmful(r rune) bool {
	return (r < ' ' || r >= 0x7f) && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
}

func harmfulInText(r rune) bool { return r != '\n' && r != '\t' && harmful(r) }

func escape(s string, harmful func(rune) bool) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, harmful) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s { // an invalid byte yields U+FFFD
		switch {
		case !harmful(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Writer writes to another writer with the escapes of Text. It is safe for concurrent
// use.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte // an incomplete character at the end of the last Write
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Write writes p, except for an incomplete character at its end, which it keeps for the
// next Write.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 && isPlain(p) {
		return w.out.Write(p)
	}
	text := append(w.rest, p...)
	whole := len(text) - incomplete(text)
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.out, Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isPlain reports whether all of text is printable ASCII, line ends or tabs, as most text
// is: it needs no escapes.
func isPlain(text []byte) bool {
	for _, c := range text {
		if (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// incomplete returns the length of the incomplete character at the end of text.
func incomplete(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
