package door

import (
	"io"
	"time"
)

// Socket is a connection of a game server process: a WebSocket, or one that a host's
// agent relays.
type Socket interface {
	NextReader() (messageType int, r io.Reader, err error)
	WriteMessage(messageType int, data []byte) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	// Drop ends the connection as a broken wire would, without waiting.
	Drop()
}
