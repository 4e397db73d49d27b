package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What is parsed has the sizes that its readers rely on, and is encoded as it was.
func FuzzParseShellFrame(f *testing.F) {
	start, err := ShellCommand{Command: []string{"ls", "-l"}, Terminal: &ShellTerminal{Type: "xterm", ShellSize: ShellSize{80, 24}}}.Frame()
	if err != nil {
		f.Fatal(err)
	}
	for _, frame := range []ShellFrame{
		start, {ShellInput, []byte("x")}, {ShellEOF, nil}, ShellSize{1, 2}.Frame(), {ShellSignal, []byte("INT")},
		{ShellOutput, bytes.Repeat([]byte("y"), MaxShellData)}, {ShellErrors, []byte("z")}, ShellEnd{Code: 3, Problem: "why"}.Frame(), ShellAcknowledged(7),
		{0, nil}, {10, []byte("x")}, {ShellOutput, make([]byte, MaxShellData+1)}, {ShellAck, []byte{1}}, {ShellResize, nil},
	} {
		f.Add(frame.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := ParseShellFrame(data)
		if err != nil {
			return
		}
		if !bytes.Equal(frame.Bytes(), data) {
			t.Fatalf("%v is encoded as %v", data, frame.Bytes())
		}
		switch frame.Op {
		case ShellResize:
			if again := frame.Size().Frame(); !reflect.DeepEqual(again, frame) {
				t.Fatalf("%v becomes %v", frame, again)
			}
		case ShellAck:
			if frame.Acknowledged() < 0 {
				t.Fatalf("acknowledges %d", frame.Acknowledged())
			}
		case ShellStart:
			if c, err := frame.Command(); err == nil {
				if len(c.Command) > maxShellWords || strings.Contains(strings.Join(c.Command, ""), "\x00") || c.Terminal != nil && strings.ContainsAny(c.Terminal.Type, "=\n ") {
					t.Fatalf("accepted %+v", c)
				}
			}
		case ShellExit:
			if e, err := frame.End(); err == nil {
				if _, err := ParseShellFrame(e.Frame().Bytes()); err != nil {
					t.Fatalf("%+v does not parse: %v", e, err)
				}
			}
		}
		if frame.Op.IsData() && (len(frame.Payload) == 0 || len(frame.Payload) > MaxShellData) {
			t.Fatalf("%d bytes of data", len(frame.Payload))
		}
	})
}

// A command that does not fit a frame is refused by its sender, and an end always fits.
func TestShell_TooLarge(t *testing.T) {
	t.Parallel()
	if _, err := (ShellCommand{Command: []string{strings.Repeat("x", MaxShellFrame)}}).Frame(); err == nil {
		t.Error("a command larger than a frame is encoded")
	}
	end := ShellEnd{Code: 255, Problem: strings.Repeat("\x00", MaxShellFrame)}.Frame()
	if _, err := ParseShellFrame(end.Bytes()); err != nil {
		t.Errorf("an end with a long text: %v", err)
	}
}

// A Hello without the member is that of an older agent, which offers nothing.
func TestShellOffer_OlderAgents(t *testing.T) {
	t.Parallel()
	var h Hello
	if err := json.Unmarshal([]byte(`{"Facts":{"Name":"old"}}`), &h); err != nil || h.Facts.Shells != nil {
		t.Errorf("%+v, %v", h.Facts.Shells, err)
	}
}
