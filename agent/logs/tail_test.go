package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.stdout.log")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(most int, want string, size int64) {
		t.Helper()
		if text, got, err := Tail(path, most); string(text) != want || got != size || err != nil {
			t.Errorf("the last %d bytes are %q of %d, %v; want %q of %d", most, text, got, err, want, size)
		}
	}
	expect(8, "", 0)
	write(path, "0123456789")
	expect(4, "6789", 10)
	expect(0, "", 10)
	expect(20, "0123456789", 10)
	write(path+".1", "abcdef")
	expect(4, "6789", 10)
	expect(12, "ef0123456789", 10)
	expect(100, "abcdef0123456789", 10)
}

func TestLast(t *testing.T) {
	t.Parallel()
	l := Last{Most: 5}
	for _, text := range []string{"ab", "", "cdefghij", "k"} {
		if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if got := string(l.Bytes()); got != "ghijk" || !strings.HasSuffix("abcdefghijk", got) {
		t.Errorf("kept %q", got)
	}
}
