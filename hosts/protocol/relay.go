package protocol

import (
	"encoding/binary"
	"errors"
)

// PathRelay is where an agent opens the WebSocket that carries the connections
// of its game server processes: binary frames, each one Relayed.
const PathRelay = "/agent/v1/relay"

// RelayOp says what a relayed frame is.
type RelayOp byte

// What a relayed frame can be. A stream is one process's connection; the agent
// numbers them, and never uses a number twice on one WebSocket.
const (
	RelayOpen   RelayOp = 1 // agent: a process connects; Payload is its query
	RelayAccept RelayOp = 2 // Muster: it may
	RelayRefuse RelayOp = 3 // Muster: it may not, and the stream is over; Payload says why
	RelayFrame  RelayOp = 4 // both: one text frame
	RelayClose  RelayOp = 5 // both: the stream is over
)

// Relayed is one frame of the relay's WebSocket.
type Relayed struct {
	Op      RelayOp
	Stream  uint32
	Payload []byte
}

// relayHead is the length of what comes before the payload.
const relayHead = 5

// MaxRelayed bounds a relayed frame in bytes.
const MaxRelayed = MaxFrame + relayHead

// Bytes gives the frame.
func (r Relayed) Bytes() []byte {
	frame := make([]byte, relayHead, relayHead+len(r.Payload))
	frame[0] = byte(r.Op)
	binary.BigEndian.PutUint32(frame[1:], r.Stream)
	return append(frame, r.Payload...)
}

// ParseRelayed reads a frame; the payload is part of it.
func ParseRelayed(frame []byte) (Relayed, error) {
	if len(frame) < relayHead || frame[0] < byte(RelayOpen) || frame[0] > byte(RelayClose) {
		return Relayed{}, errors.New("no frame of the relay")
	}
	return Relayed{RelayOp(frame[0]), binary.BigEndian.Uint32(frame[1:]), frame[relayHead:]}, nil
}
