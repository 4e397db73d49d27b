package wire

import "encoding/binary"

var be = binary.BigEndian

// Append appends the encoded message to b. The message must be within the limits; the
// server and the bot create no others.
func Append(b []byte, m Message) []byte {
	return m.append(append(b, 'M', 'A', Version, byte(m.kind())))
}

func (m Join) append(b []byte) []byte {
	return append(append(b, byte(len(m.PlayerSessionID)-1)), m.PlayerSessionID...)
}

func (m Input) append(b []byte) []byte {
	b = be.AppendUint32(be.AppendUint64(b, m.Key), m.Sequence)
	flags := byte(0)
	if m.Fire {
		flags = 1
	}
	return append(b, byte(m.Move), flags)
}

func (m Leave) append(b []byte) []byte { return be.AppendUint64(b, m.Key) }

func (m Welcome) append(b []byte) []byte {
	b = append(be.AppendUint64(b, m.Key), m.Player, m.TicksASecond)
	return appendPoint(b, m.Width, m.Height)
}

func (m Refused) append(b []byte) []byte { return append(b, byte(m.Reason)) }

func (m Snapshot) append(b []byte) []byte {
	b = be.AppendUint32(be.AppendUint32(b, m.Tick), m.LastInput)
	b = append(b, byte(len(m.Players)), byte(len(m.Shots)), byte(len(m.PickUps)))
	for _, p := range m.Players {
		b = append(appendPoint(append(b, p.ID), p.X, p.Y), byte(p.Facing), p.Health)
		b = be.AppendUint16(b, p.Score)
	}
	for _, s := range m.Shots {
		b = append(appendPoint(b, s.X, s.Y), byte(s.Facing))
	}
	for _, p := range m.PickUps {
		b = appendPoint(b, p.X, p.Y)
	}
	return b
}

func (m Over) append(b []byte) []byte {
	b = append(b, byte(m.Reason), byte(len(m.Scores)))
	for _, s := range m.Scores {
		b = be.AppendUint16(append(b, s.Player), s.Score)
	}
	return b
}

func appendPoint(b []byte, x, y uint16) []byte {
	return be.AppendUint16(be.AppendUint16(b, x), y)
}
