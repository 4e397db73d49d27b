package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/musterhq/muster/examples/arena/wire"
)

// full returns the longest Snapshot.
func full() wire.Snapshot {
	return wire.Snapshot{
		Tick: 1, LastInput: 2,
		Players: make([]wire.Player, wire.MaxPlayers),
		Shots:   make([]wire.Shot, wire.MaxShots),
		PickUps: make([]wire.PickUp, wire.MaxPickUps),
	}
}

func examples() []wire.Message {
	return []wire.Message{
		wire.Join{PlayerSessionID: "psess-1"},
		wire.Join{PlayerSessionID: strings.Repeat("x", wire.MaxSessionID)},
		wire.Input{Key: 1 << 63, Sequence: 7, Move: 8, Fire: true},
		wire.Leave{Key: 42},
		wire.Welcome{Key: 42, Player: 3, TicksASecond: 20, Width: 1000, Height: 900},
		wire.Refused{Reason: wire.RefusedFull},
		wire.Snapshot{Tick: 9, Players: []wire.Player{{ID: 1, X: 2, Y: 3, Facing: 4, Health: 5, Score: 600}},
			Shots: []wire.Shot{{X: 7, Y: 8, Facing: 1}}, PickUps: []wire.PickUp{{X: 9, Y: 10}}},
		full(),
		wire.Over{Reason: wire.OverFinished, Scores: []wire.Score{{Player: 1, Score: 65535}}},
	}
}

func TestDecode_GivesWhatWasEncoded(t *testing.T) {
	t.Parallel()
	for _, m := range examples() {
		packet := wire.Append(nil, m)
		if len(packet) > wire.MaxPacket {
			t.Errorf("%T takes %d bytes, more than %d", m, len(packet), wire.MaxPacket)
		}
		got, err := wire.Decode(packet)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("got %+v (%v), want %+v", got, err, m)
		}
	}
}

func TestDecode_Refuses(t *testing.T) {
	t.Parallel()
	leave := wire.Append(nil, wire.Leave{Key: 1})
	cases := []struct {
		name   string
		packet []byte
		want   error
	}{
		{"empty", nil, wire.ErrForeign},
		{"foreign", []byte("GET / HTTP/1.1"), wire.ErrForeign},
		{"too long for any packet", make([]byte, wire.MaxPacket+1), wire.ErrForeign},
		{"version", []byte{'M', 'A', 2, 3}, wire.ErrVersion},
		{"kind", []byte{'M', 'A', 1, 99}, wire.ErrValue},
		{"short", leave[:len(leave)-1], wire.ErrLength},
		{"trailing", append(bytes.Clone(leave), 0), wire.ErrLength},
		{"direction", wire.Append(nil, wire.Input{Move: 9}), wire.ErrValue},
		{"too many players", wire.Append(nil, wire.Snapshot{Players: make([]wire.Player, wire.MaxPlayers+1)}), wire.ErrLength},
	}
	for _, c := range cases {
		if m, err := wire.Decode(c.packet); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v; want error %v", c.name, m, err, c.want)
		}
	}
}

// FuzzDecode checks that no packet causes a panic and that re-encoding a decoded
// message returns the same packet: each message has one encoding.
func FuzzDecode(f *testing.F) {
	for _, m := range examples() {
		f.Add(wire.Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		m, err := wire.Decode(packet)
		if err != nil {
			return
		}
		if again := wire.Append(nil, m); !bytes.Equal(again, packet) {
			t.Fatalf("%x read as %+v, written as %x", packet, m, again)
		}
	})
}
