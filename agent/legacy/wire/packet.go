package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of frames.
const (
	MaxFrame = 2 << 20 // bytes; a large backfill has less than 1 MiB
	maxID    = 1<<53 - 1
)

// Kind is what a packet is.
type Kind byte

// The kinds of packets that clients send. Others mean nothing here.
const (
	Other      Kind = iota
	Ping            // Engine.IO's; answered by Pong
	Event           // a request
	Ack             // the answer to an event of ours
	Disconnect      // the client leaves
)

// NoID is the id of an event that asks for no acknowledgement.
const NoID = -1

// Packet is one packet of a client, complete with its attachment.
type Packet struct {
	Kind    Kind
	ID      int64  // of an event or an acknowledgement, or NoID
	Name    string // of an event
	Payload []byte // an event's protobuf message
	True    bool   // an acknowledgement's only argument is true
	Data    []byte // that a ping carries
}

// Decoder assembles packets from the frames of one connection. Its zero value is ready.
type Decoder struct {
	waits *Packet // an event whose attachment is the next frame
}

// The types of Engine.IO and, after engineMessage, of socket.io.
const (
	enginePing    = '2'
	engineMessage = '4'

	socketDisconnect  = '1'
	socketEvent       = '2'
	socketAck         = '3'
	socketBinaryEvent = '5'
	socketBinaryAck   = '6'
)

var errAttachment = errors.New("an attachment is missing")

// Text reads a text frame. It reports whether there is a complete packet. A frame with an
// error is followed by nothing that can be understood.
func (d *Decoder) Text(frame []byte) (p Packet, ok bool, err error) {
	switch {
	case d.waits != nil:
		return p, false, errAttachment
	case len(frame) > MaxFrame:
		return p, false, errors.New("the frame is too large")
	case len(frame) == 0:
		return p, false, errors.New("the frame is empty")
	case frame[0] == enginePing:
		return Packet{Kind: Ping, ID: NoID, Data: frame[1:]}, true, nil
	case frame[0] != engineMessage:
		return Packet{ID: NoID}, true, nil
	case len(frame) == 1:
		return p, false, errors.New("the packet has no type")
	}
	return d.packet(frame[1], frame[2:])
}

// packet reads what follows the type of a socket.io packet.
func (d *Decoder) packet(kind byte, rest []byte) (p Packet, ok bool, err error) {
	p.ID = NoID
	attachments := 0
	switch kind {
	case socketDisconnect:
		p.Kind = Disconnect
		return p, true, nil
	case socketEvent, socketAck:
	case socketBinaryEvent, socketBinaryAck:
		n, after := digits(rest)
		if len(n) != 1 || len(after) == 0 || after[0] != '-' || n[0] > '1' {
			return p, false, errors.New("a binary packet must have at most one attachment")
		}
		attachments, rest = int(n[0]-'0'), after[1:]
	default:
		return p, true, nil
	}
	rest = bytes.TrimPrefix(rest, []byte("/,")) // the namespace that is meant anyway
	id, rest := digits(rest)
	if len(id) > 0 {
		if p.ID, err = strconv.ParseInt(string(id), 10, 64); err != nil || p.ID > maxID {
			return p, false, errors.New("the id of the packet is too large")
		}
	}
	var args []jsontext.Value
	if err := json.Unmarshal(rest, &args); err != nil {
		return p, false, fmt.Errorf("the arguments of the packet are no JSON array: %w", err)
	}
	if kind == socketAck || kind == socketBinaryAck {
		p.Kind = Ack
		p.True = len(args) == 1 && args[0].Kind() == 't'
		return p, attachments == 0, nil // an acknowledgement with an attachment is none of ours
	}
	return d.event(p, args, attachments)
}

// event completes an event by its arguments.
func (d *Decoder) event(p Packet, args []jsontext.Value, attachments int) (Packet, bool, error) {
	p.Kind = Event
	if len(args) == 0 || json.Unmarshal(args[0], &p.Name) != nil {
		return p, false, errors.New("the event has no name")
	}
	if attachments == 1 {
		d.waits = &p
		return p, false, nil
	}
	if len(args) == 1 {
		return p, true, nil
	}
	var text string
	if json.Unmarshal(args[1], &text) != nil {
		return p, false, errors.New("the argument of the event is no text")
	}
	var err error
	if p.Payload, err = base64.StdEncoding.DecodeString(text); err != nil {
		return p, false, errors.New("the argument of the event is not in base64")
	}
	return p, true, nil
}

// attachmentType is the first byte of a binary frame: the Engine.IO type, as a number.
const attachmentType = 4

// Binary reads a binary frame: the attachment of the event before.
func (d *Decoder) Binary(frame []byte) (p Packet, ok bool, err error) {
	switch {
	case len(frame) == 0 || frame[0] != attachmentType:
		return p, false, errors.New("the binary frame is no message")
	case len(frame) > MaxFrame:
		return p, false, errors.New("the frame is too large")
	case d.waits == nil:
		return p, false, nil // of a packet that means nothing here
	}
	p, d.waits = *d.waits, nil
	p.Payload = frame[1:]
	return p, true, nil
}

// digits cuts the digits at the start of text.
func digits(text []byte) (number, rest []byte) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

// The times of Engine.IO that a server dictates, in milliseconds.
const (
	PingInterval = 25_000
	PingTimeout  = 60_000
)

// Hello returns the two frames with which a server begins a connection. C# needs all the
// members of the first, and C++ sends nothing before the second.
func Hello(sid string) [2][]byte {
	open := encode(struct {
		SID          string   `json:"sid"`
		Upgrades     []string `json:"upgrades"`
		PingInterval int      `json:"pingInterval"`
		PingTimeout  int      `json:"pingTimeout"`
	}{sid, []string{}, PingInterval, PingTimeout})
	return [2][]byte{append([]byte("0"), open...), []byte("40")}
}

// Pong returns the answer to a ping.
func Pong(data []byte) []byte { return append([]byte("3"), data...) }

// Answer returns the acknowledgement of a request. C++ reads the second argument whatever
// the first one is, and Java refuses acknowledgements without it.
func Answer(id int64, ok bool, text []byte) []byte {
	return append(strconv.AppendInt([]byte("43"), id, 10), encode([]any{ok, string(text)})...)
}

// PushFrame returns an event for a process. With NoID it asks for no acknowledgement.
func PushFrame(id int64, p Push) []byte {
	frame := []byte("42")
	if id != NoID {
		frame = strconv.AppendInt(frame, id, 10)
	}
	return append(frame, encode([]string{p.event(), string(encode(p))})...)
}

// encode returns the JSON form of a value. Bytes that are not UTF-8 become U+FFFD.
func encode(v any) []byte {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // every message has a JSON form
	}
	return text
}
