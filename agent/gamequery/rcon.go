package gamequery

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Kinds of packets of Source RCON, and the ids that we give to ours.
const (
	rconAuth     = 3
	rconExec     = 2 // in an answer: the result of rconAuth
	rconResponse = 0

	authID = 1
	execID = 2
)

// Limits of a packet: two numbers and two zero bytes at least, and what Valve's servers send.
const (
	minRCON = 10
	maxRCON = 4096 + minRCON
)

// ErrPassword means that a game server refused the password.
var ErrPassword = errors.New("the game server refuses the RCON password")

// RCON sends a command to the game server at an address (HOST:PORT, TCP) by Source RCON, and
// returns what it answers, up to 4 KiB. A game server that closes the connection instead of
// answering, as one that quits does, is no error. Errors: ErrPassword, a network's, or ctx's end.
func RCON(ctx context.Context, address, password, command string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", fmt.Errorf("rcon: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := authenticate(conn, password); err != nil {
		return "", fmt.Errorf("rcon %s: %w", address, err)
	}
	if err := writeRCON(conn, execID, rconExec, command); err != nil {
		return "", fmt.Errorf("rcon %s: %w", address, err)
	}
	p, err := readRCON(conn)
	if err != nil && ctx.Err() == nil {
		return "", nil // it has quit
	}
	return p.body, err
}

func authenticate(conn net.Conn, password string) error {
	if err := writeRCON(conn, authID, rconAuth, password); err != nil {
		return err
	}
	for range 2 { // Valve's servers send an empty response first
		p, err := readRCON(conn)
		switch {
		case err != nil:
			return err
		case p.kind == rconResponse:
			continue
		case p.kind == rconExec && p.id == authID:
			return nil
		}
		return ErrPassword
	}
	return malformed("it does not say whether the password is right")
}

// packet is a packet of Source RCON.
type packet struct {
	id, kind int32
	body     string
}

func writeRCON(w io.Writer, id, kind int32, body string) error {
	if len(body) > maxRCON-minRCON {
		return fmt.Errorf("%d bytes are more than a packet has", len(body))
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+minRCON))
	b = binary.LittleEndian.AppendUint32(b, uint32(id))
	b = binary.LittleEndian.AppendUint32(b, uint32(kind))
	_, err := w.Write(append(append(b, body...), 0, 0))
	return err
}

func readRCON(r io.Reader) (packet, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return packet{}, err
	}
	n := binary.LittleEndian.Uint32(size[:])
	if n < minRCON || n > maxRCON {
		return packet{}, malformed("a packet of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return packet{}, err
	}
	return packet{
		id: int32(binary.LittleEndian.Uint32(b)), kind: int32(binary.LittleEndian.Uint32(b[4:])),
		body: strings.TrimRight(string(b[8:]), "\x00"),
	}, nil
}
