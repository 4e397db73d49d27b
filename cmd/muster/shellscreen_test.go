package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
)

// What a program has changed of a terminal is set back, and nothing else; the output is
// passed as it is, however it is divided.
func TestScreenModes(t *testing.T) {
	t.Parallel()
	const usual = "\x1b[0m\x1b(B\x0f"
	for _, c := range []struct{ what, out, want string }{
		{"text", "a line\r\n", ""},
		{"colors", "\x1b[31mred", "\x1b\\" + usual},
		{"the other screen, the mouse and pastes", "\x1b[?1049h\x1b[?1000;1006h\x1b[?2004h", "\x1b\\\x1b[?1000l\x1b[?1006l\x1b[?1049l\x1b[?2004l" + usual},
		{"modes that were set back", "\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l", "\x1b\\" + usual},
		{"a hidden cursor and no wrapping", "\x1b[?25;7l", "\x1b\\\x1b[?7h\x1b[?25h" + usual},
		{"CSI as one character", "\u009b?1002h", "\x1b\\\x1b[?1002l" + usual},
		{"CSI as one byte", "\x9b?1002h", "\x1b\\\x1b[?1002l" + usual},
		{"a keypad and a region", "\x1b=\x1b[2;5r", "\x1b\\\x1b>\x1b7\x1b[r\x1b8" + usual},
		{"keyboards", "\x1b[>1u\x1b[>3u\x1b[<u\x1b[>4;2m\x1b[=1u", "\x1b\\\x1b[<1u\x1b[=0u\x1b[>4m" + usual},
		{"a sequence within another", "\x1b[?10\x1b[?1003h", "\x1b\\\x1b[?1003l" + usual},
		{"a cancelled one", "\x1b[?1003\x18h", "\x1b\\" + usual},
		{"a reset", "\x1b[?1049h\x1b=\x1bc", "\x1b\\" + usual},
		{"an open string", "\x1b]0;title", "\x1b\\" + usual},
		{"an endless sequence", "\x1b[?" + strings.Repeat("1", 10_000) + "h", "\x1b\\" + usual},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var to bytes.Buffer
			m := newScreenModes(&to)
			for rest := []byte(c.out); len(rest) > 0; {
				n, err := m.Write(rest[:min(size, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if got := m.reset(); got != c.want || to.String() != c.out {
				t.Errorf("%s in pieces of %d: reset by %q, want %q; passed %q", c.what, size, got, c.want, to.String())
			}
		}
	}
	m := newScreenModes(io.Discard)
	for mode := range 10_000 {
		io.WriteString(m, "\x1b[?"+strings.Repeat("9", mode%7)+"1h\x1b[?"+string(rune('1'+mode%9))+string(rune('0'+mode/9%10))+string(rune('0'+mode/90%10))+"h")
	}
	if len(m.private) > maxPrivate {
		t.Errorf("%d modes are kept", len(m.private))
	}
}

// The answers of a terminal to a program are read and dropped, and with them what else was
// typed; no reader gets them.
func TestKeys_Settle(t *testing.T) {
	t.Parallel()
	in, terminal := io.Pipe()
	k := readKeys(in)
	read := make(chan error, 1)
	go func() {
		_, err := k.Read(make([]byte, 100))
		read <- err
	}()
	shown, out := io.Pipe()
	m := newScreenModes(out)
	m.escape('[') // a program has asked
	m.escaped = true
	go func() {
		text := make([]byte, 1000)
		for seen := ""; !strings.HasSuffix(seen, "\x1b[5n"); {
			n, err := shown.Read(text)
			if err != nil {
				t.Error(err)
				return
			}
			seen += string(text[:n])
		}
		for _, part := range []string{"\x1b[?64;1;2c", "; rm -rf /\r\x1b[", "0n"} {
			io.WriteString(terminal, part)
		}
		terminal.Close()
	}()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	k.settle(m, file)
	if err := <-read; err != io.EOF {
		t.Errorf("a reader gets %v", err)
	}
	if more, ok := <-k.typed; ok {
		t.Errorf("left: %q", more)
	}
}

// What a host says about the end of a shell is shown without control characters.
func TestShell_HostileEnd(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b]52;c;bHM=\x1b\\\u009b2J\u202e\r\nmuster: b"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != protocol.PathShell {
			io.WriteString(w, `{"Credentials":{"AccessKeyId":"a","SecretAccessKey":"b","SessionToken":"c"}}`)
			return
		}
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		for _, f := range []protocol.ShellFrame{{Op: protocol.ShellOutput, Payload: []byte("out\x1b[m")}, {Op: protocol.ShellErrors, Payload: []byte("err\x1b[m")}, protocol.ShellEnd{Code: 255, Problem: hostile}.Frame()} {
			if err := ws.WriteMessage(websocket.BinaryMessage, f.Bytes()); err != nil {
				t.Error(err)
			}
		}
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	code, out, errs := typed(t, t.Context(), "shell", "--endpoint", server.URL, "-T", "fleet-01a20f59-c2bf-7000-b70d-8d4bc3520b11", "i-0123456789abcdef0", "--", "program")
	said, ok := strings.CutPrefix(errs, "err\x1b[m")
	if code != 255 || out != "out\x1b[m" || !ok || !strings.Contains(said, `\u001b]52`) || strings.Count(said, "\n") != 1 {
		t.Errorf("%d, %q, %q", code, out, errs)
	}
	for _, r := range said {
		if r != '\n' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			t.Errorf("it shows %q: %q", r, said)
		}
	}
}
