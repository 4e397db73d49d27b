package protocol

import (
	"encoding/binary"
	"errors"
)

// PathRelay is the path of the WebSocket that carries the connections of an agent's
// game server processes: binary frames, each one Relayed.
const PathRelay = "/agent/v1/relay"

// RelayOp is the type of a relayed frame.
type RelayOp byte

// The types of relayed frames. A stream is one process's connection; the agent numbers
// streams, and never reuses a number on one WebSocket.
const (
	RelayOpen   RelayOp = 1 // from the agent: a process connects; Payload is its query
	RelayAccept RelayOp = 2 // from Muster: it may
	RelayRefuse RelayOp = 3 // from Muster: it may not, and the stream has ended; Payload says why
	RelayFrame  RelayOp = 4 // from both: one text frame
	RelayClose  RelayOp = 5 // from both: the stream has ended
)

// Relayed is one frame of the relay's WebSocket.
type Relayed struct {
	Op      RelayOp
	Stream  uint32
	Payload []byte
}

// relayHead is the length of the header before the payload.
const relayHead = 5

// MaxPayload bounds a frame of a relayed game server in bytes, and MaxRelayed the frame of
// the relay that carries it.
const (
	MaxPayload = 1 << 20
	MaxRelayed = MaxPayload + relayHead
)

// Bytes returns the encoded frame.
func (r Relayed) Bytes() []byte {
	frame := make([]byte, relayHead, relayHead+len(r.Payload))
	frame[0] = byte(r.Op)
	binary.BigEndian.PutUint32(frame[1:], r.Stream)
	return append(frame, r.Payload...)
}

// ParseRelayed decodes a frame; the payload aliases it.
func ParseRelayed(frame []byte) (Relayed, error) {
	if len(frame) < relayHead || frame[0] < byte(RelayOpen) || frame[0] > byte(RelayClose) {
		return Relayed{}, errors.New("no frame of the relay")
	}
	return Relayed{RelayOp(frame[0]), binary.BigEndian.Uint32(frame[1:]), frame[relayHead:]}, nil
}
