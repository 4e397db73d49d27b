package protocol

import (
	"bytes"
	"errors"
	"testing"

	"github.com/musterhq/muster/internal/gameframe"
)

// What is parsed is encoded as it was, and what is sent in parts is joined again.
func FuzzParseRelayed(f *testing.F) {
	for _, m := range []Relayed{{RelayOpen, 1, []byte("pID=p")}, {RelayFrame, 2, bytes.Repeat([]byte("x"), 3*partSize+1)}, {RelayPart, 3, nil}, {RelayClose, 1 << 31, nil}} {
		f.Add(m.Bytes())
	}
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := ParseRelayed(frame)
		if err != nil {
			return
		}
		if !bytes.Equal(m.Bytes(), frame) {
			t.Fatalf("%v is encoded as %v", frame, m.Bytes())
		}
		m.Op = RelayFrame
		frames, err := m.Frames(true)
		if err != nil {
			t.Fatal(err)
		}
		var parts Parts
		for frame := range frames {
			part, err := ParseRelayed(frame)
			if err != nil || part.Stream != m.Stream || len(frame) > MaxRelayed || len(part.Payload) > partSize {
				t.Fatalf("a part of %d bytes, %v", len(frame), err)
			}
			whole, err := parts.Add(part)
			if err != nil || (whole != nil) != (part.Op == RelayFrame) || whole != nil && !bytes.Equal(whole, m.Payload) {
				t.Fatalf("joined %d of %d bytes, %v", len(whole), len(m.Payload), err)
			}
		}
		if parts.Held() != 0 {
			t.Fatalf("%d bytes are left", parts.Held())
		}
	})
}

// A frame that is too large is reported once and dropped; the next one arrives.
func TestParts_TooLarge(t *testing.T) {
	t.Parallel()
	var parts Parts
	part := Relayed{Op: RelayPart, Payload: make([]byte, 1<<20)}
	var reported int
	for range 2 * gameframe.Max >> 20 {
		whole, err := parts.Add(part)
		if errors.Is(err, ErrTooLarge) {
			reported++
		}
		if whole != nil || parts.Held() > gameframe.Max {
			t.Fatalf("%d bytes, %d held", len(whole), parts.Held())
		}
	}
	if whole, err := parts.Add(Relayed{Op: RelayFrame, Payload: []byte("end")}); whole != nil || err != nil || reported != 1 {
		t.Errorf("ended with %q, %v; reported %d times", whole, err, reported)
	}
	if whole, err := parts.Add(Relayed{Op: RelayFrame, Payload: []byte("next")}); string(whole) != "next" || err != nil {
		t.Errorf("the next is %q, %v", whole, err)
	}
	for _, m := range []struct {
		r     Relayed
		parts bool
		ok    bool
	}{
		{Relayed{Op: RelayFrame, Payload: make([]byte, gameframe.Max)}, true, true},
		{Relayed{Op: RelayFrame, Payload: make([]byte, gameframe.Max+1)}, true, false},
		{Relayed{Op: RelayFrame, Payload: make([]byte, maxWhole)}, false, true},
		{Relayed{Op: RelayFrame, Payload: make([]byte, maxWhole+1)}, false, false},
	} {
		if _, err := m.r.Frames(m.parts); (err == nil) != m.ok || !m.ok && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes, in parts %v: %v", len(m.r.Payload), m.parts, err)
		}
	}
}
