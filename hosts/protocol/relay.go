package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/musterhq/muster/internal/gameframe"
)

// PathRelay is the path of the WebSocket that carries the connections of an agent's
// game server processes: binary frames, each one Relayed.
const PathRelay = "/agent/v1/relay"

// RelayInParts is the subprotocol of a relay's WebSocket both of whose ends know RelayPart.
const RelayInParts = "muster-relay-2"

// RelayOp is the type of a relayed frame.
type RelayOp byte

// The types of relayed frames. A stream is one process's connection; the agent numbers
// streams, and never reuses a number on one WebSocket.
const (
	RelayOpen   RelayOp = 1 // from the agent: a process connects; Payload is its query
	RelayAccept RelayOp = 2 // from Muster: it may
	RelayRefuse RelayOp = 3 // from Muster: it may not, and the stream has ended; Payload says why
	RelayFrame  RelayOp = 4 // from both: one text frame, or the end of one
	RelayClose  RelayOp = 5 // from both: the stream has ended
	RelayPart   RelayOp = 6 // from both: a part of a text frame; the stream's next RelayPart or RelayFrame continues it
)

// RelayHosts is a member of the query of RelayOpen: the game session that the process was last
// told to host, or "". It is missing if the agent may not have seen all that the process was
// told since it became ready.
const RelayHosts = "Hosts"

// Relayed is one frame of the relay's WebSocket.
type Relayed struct {
	Op      RelayOp
	Stream  uint32
	Payload []byte
}

// relayHead is the length of the header before the payload.
const relayHead = 5

// MaxRelayed bounds a frame of the relay in bytes.
const MaxRelayed = maxWhole + relayHead

// Sizes in bytes: of the parts in which a frame is sent, and of a frame that is sent whole.
const (
	partSize = 64 << 10
	maxWhole = 1 << 20
)

// Frames returns the encoded frames that carry r. With parts, frames of other streams can be
// sent between them; no other frame of the same stream must. Error: ErrTooLarge, if r is too
// large for the other end.
func (r Relayed) Frames(parts bool) (iter.Seq[[]byte], error) {
	most, piece := maxWhole, maxWhole
	if parts && r.Op == RelayFrame {
		most, piece = gameframe.Max, partSize
	}
	if len(r.Payload) > most {
		return nil, fmt.Errorf("%w: it has %d bytes; this connection of the relay carries at most %d", ErrTooLarge, len(r.Payload), most)
	}
	return func(yield func([]byte) bool) {
		for rest := r.Payload; ; rest = rest[piece:] {
			if len(rest) <= piece {
				yield(Relayed{r.Op, r.Stream, rest}.Bytes())
				return
			}
			if !yield(Relayed{RelayPart, r.Stream, rest[:piece]}.Bytes()) {
				return
			}
		}
	}, nil
}

// Bytes returns the encoded frame.
func (r Relayed) Bytes() []byte {
	frame := make([]byte, relayHead, relayHead+len(r.Payload))
	frame[0] = byte(r.Op)
	binary.BigEndian.PutUint32(frame[1:], r.Stream)
	return append(frame, r.Payload...)
}

// ParseRelayed decodes a frame; the payload aliases it.
func ParseRelayed(frame []byte) (Relayed, error) {
	if len(frame) < relayHead || frame[0] < byte(RelayOpen) || frame[0] > byte(RelayPart) {
		return Relayed{}, errors.New("no frame of the relay")
	}
	return Relayed{RelayOp(frame[0]), binary.BigEndian.Uint32(frame[1:]), frame[relayHead:]}, nil
}

// Parts joins the parts of the text frames of one stream.
type Parts struct {
	held []byte
	lost bool // the frame is too large, and its parts are dropped
}

// ErrTooLarge is the error of a frame with more bytes than game servers, or this connection
// of the relay, may send or receive.
var ErrTooLarge = errors.New("the message is too large")

// Add adds a RelayPart or RelayFrame, and returns the text frame that it completes, or nil.
// It returns ErrTooLarge once for a frame that is too large, and drops it.
func (p *Parts) Add(m Relayed) (whole []byte, err error) {
	if !p.lost && len(p.held)+len(m.Payload) > gameframe.Max {
		p.held, p.lost, err = nil, true, ErrTooLarge
	}
	switch {
	case p.lost && m.Op == RelayFrame:
		p.lost = false
	case p.lost:
	case m.Op == RelayPart:
		p.held = append(p.held, m.Payload...)
	case p.held == nil:
		return m.Payload, nil
	default:
		whole, p.held = append(p.held, m.Payload...), nil
		return slices.Clip(whole), nil
	}
	return nil, err
}

// Held returns how many bytes of an unfinished text frame are held.
func (p *Parts) Held() int { return len(p.held) }
