package wire

import (
	"errors"
	"fmt"
)

// The reasons why a packet is dropped.
var (
	ErrForeign = errors.New("not a packet of this protocol")
	ErrVersion = errors.New("packet of another protocol version")
	ErrLength  = errors.New("packet shorter or longer than its fields")
	ErrValue   = errors.New("packet holds a value out of range")
)

// Decode decodes a packet. The message shares no memory with it.
func Decode(packet []byte) (Message, error) {
	r := &reader{rest: packet}
	if len(packet) > MaxPacket || r.u8() != 'M' || r.u8() != 'A' || r.short {
		return nil, ErrForeign
	}
	if version := r.u8(); version != Version {
		return nil, fmt.Errorf("%w: %d", ErrVersion, version)
	}
	m := r.message(Kind(r.u8()))
	switch {
	case r.short || len(r.rest) > 0 && m != nil:
		return nil, ErrLength
	case m == nil || r.bad:
		return nil, ErrValue
	}
	return m, nil
}

// reader reads fields from the front of a packet. Past the end it returns zeros and
// sets short, so that the length is checked once, at the end.
type reader struct {
	rest       []byte
	short, bad bool
}

func (r *reader) message(kind Kind) Message {
	switch kind {
	case KindJoin:
		return Join{PlayerSessionID: string(r.take(int(r.u8()) + 1))}
	case KindInput:
		return Input{Key: r.u64(), Sequence: r.u32(), Move: r.direction(), Fire: r.limited(1) == 1}
	case KindLeave:
		return Leave{Key: r.u64()}
	case KindWelcome:
		return Welcome{Key: r.u64(), Player: r.u8(), TicksASecond: r.u8(), Width: r.u16(), Height: r.u16()}
	case KindRefused:
		return Refused{Reason: Refusal(r.u8())}
	case KindSnapshot:
		return r.snapshot()
	case KindOver:
		return r.over()
	}
	return nil
}

func (r *reader) snapshot() Message {
	m := Snapshot{Tick: r.u32(), LastInput: r.u32()}
	players, shots, pickUps := r.limited(MaxPlayers), r.limited(MaxShots), r.limited(MaxPickUps)
	for range players {
		m.Players = append(m.Players, Player{ID: r.u8(), X: r.u16(), Y: r.u16(),
			Facing: r.direction(), Health: r.u8(), Score: r.u16()})
	}
	for range shots {
		m.Shots = append(m.Shots, Shot{X: r.u16(), Y: r.u16(), Facing: r.direction()})
	}
	for range pickUps {
		m.PickUps = append(m.PickUps, PickUp{X: r.u16(), Y: r.u16()})
	}
	return m
}

func (r *reader) over() Message {
	m := Over{Reason: Ending(r.u8())}
	for range r.limited(MaxPlayers) {
		m.Scores = append(m.Scores, Score{Player: r.u8(), Score: r.u16()})
	}
	return m
}

// take returns the next n bytes; zeros if fewer are left.
func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u16() uint16 { return be.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return be.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return be.Uint64(r.take(8)) }

func (r *reader) direction() Direction { return Direction(r.limited(8)) }

// limited reads a byte; if it is above limit, it marks the packet as bad and returns
// 0.
func (r *reader) limited(limit uint8) uint8 {
	n := r.u8()
	if n > limit {
		r.bad = true
		return 0
	}
	return n
}
