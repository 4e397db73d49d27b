package plain_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/plain"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "",
		"Zürich 東京 🎮":                 "Zürich 東京 🎮",
		"\x1b]0;title\a\x1b[2J":       `\u001b]0;title\u0007\u001b[2J`,
		"\x1b]52;c;bHM=\x1b\\":        `\u001b]52;c;bHM=\u001b\`,
		"\u009b2J":                    `\u009b2J`,
		"a\r\n  1 00:00:00.000  fine": `a\u000d\u000a  1 00:00:00.000  fine`,
		"a\tb":                        `a\u0009b`,
		"exe\u202egnp":                `exe\u202egnp`,
		"line\u2028para\u2029":        `line\u2028para\u2029`,
		"tag\U000e0041":               `tag\udb40\udc41`,
		"bad\xff\x9b":                 "bad\ufffd\ufffd",
		"del\x7f":                     `del\u007f`,
	} {
		if got := plain.Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestText_KeepsLines(t *testing.T) {
	t.Parallel()
	if got, want := plain.Text("a\tb\nc\r\x1bd"), "a\tb\nc"+`\u000d\u001bd`; got != want {
		t.Errorf("Text returned %q, want %q", got, want)
	}
}

// FuzzPlain checks that no harmful character passes, that harmless text is unchanged,
// that JSON keeps its meaning, and that a Writer yields the same wherever its input is
// cut.
func FuzzPlain(f *testing.F) {
	f.Add("\x1b[2J\u009b\u202e\r\n\U000e0041\xff🎮", uint8(3))
	f.Fuzz(func(t *testing.T, s string, at uint8) {
		line := plain.Line(s)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }) {
			t.Fatalf("Line(%q) = %q", s, line)
		}
		if plain.Line(line) != line {
			t.Fatalf("Line is not idempotent on %q", s)
		}
		text := plain.Text(s)
		var parts []string
		for p := range strings.SplitSeq(s, "\n") {
			parts = append(parts, strings.ReplaceAll(plain.Line(p), `\u0009`, "\t"))
		}
		if !strings.Contains(s, `\u0009`) && text != strings.Join(parts, "\n") {
			t.Fatalf("Text(%q) = %q", s, text)
		}
		if utf8.ValidString(s) {
			document, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var back string
			if err := json.Unmarshal([]byte(plain.Text(string(document))), &back); err != nil || back != s {
				t.Fatalf("%s became %q, %v", document, back, err)
			}
		}
		var out strings.Builder
		w := plain.NewWriter(&out)
		cut := min(int(at), len(s))
		for _, part := range []string{s[:cut], s[cut:] + "."} { // the dot completes an incomplete character
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write returned %d, %v", n, err)
			}
		}
		if out.String() != plain.Text(s+".") {
			t.Fatalf("written in two parts, %q became %q, in one %q", s, out.String(), plain.Text(s+"."))
		}
	})
}
