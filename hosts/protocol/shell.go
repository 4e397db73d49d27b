package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// The paths of the WebSockets of remote shells: binary frames, each one a ShellFrame.
const (
	PathShell  = "/agent/v1/shell"   // GET, from operators, with the credentials of GetComputeAccess
	PathShells = "/agent/v1/shells/" // + id of a Shell: GET, from the agent that was sent it
)

// Shell requests that the agent connect to PathShells + ID and run what the first frame
// there asks for in an instance. It is sent only to agents whose Facts offer shells.
type Shell struct {
	ID         string
	InstanceID string
	Compute    string // name of the compute
}

// ShellOffer says whether a host runs remote shells in its instances.
type ShellOffer struct {
	Offered bool
	Why     string `json:",omitempty"` // why not, and what would change that
}

// ShellOp is the type of a frame of a remote shell.
type ShellOp byte

// The types of frames of a remote shell. Data is input, output and errors; each side
// sends at most ShellWindow bytes of it that the other one has not acknowledged.
const (
	ShellStart  ShellOp = 1 // from the client: the first frame; Payload is a ShellCommand
	ShellInput  ShellOp = 2 // from the client: data
	ShellEOF    ShellOp = 3 // from the client: there is no more input
	ShellResize ShellOp = 4 // from the client: the terminal has another size; Payload is a ShellSize
	ShellSignal ShellOp = 5 // from the client: Payload is the name of a signal, such as INT
	ShellOutput ShellOp = 6 // from the host: data, of standard output or of the terminal
	ShellErrors ShellOp = 7 // from the host: data, of standard error
	ShellExit   ShellOp = 8 // from the host or Muster: the end; Payload is a ShellEnd
	ShellAck    ShellOp = 9 // from both: Payload is a number of bytes of data that were used
)

// FromClient reports whether a client sends such frames after the first one.
func (o ShellOp) FromClient() bool {
	return o >= ShellInput && o <= ShellSignal || o == ShellAck
}

// FromHost reports whether a host sends such frames.
func (o ShellOp) FromHost() bool { return o >= ShellOutput && o <= ShellAck }

// IsData reports whether such frames have data.
func (o ShellOp) IsData() bool { return o == ShellInput || o == ShellOutput || o == ShellErrors }

// Bounds of a remote shell.
const (
	ShellWindow   = 256 << 10 // bytes of data that were sent and not acknowledged
	MaxShellData  = 32 << 10  // bytes of data in a frame
	MaxShellFrame = 64<<10 + 1

	maxShellWords    = 1024
	maxShellTerminal = 64 // bytes of a terminal's type
	maxShellSignal   = 16 // bytes of a signal's name
)

// ShellFrame is one frame of a remote shell.
type ShellFrame struct {
	Op      ShellOp
	Payload []byte
}

// Bytes returns the encoded frame.
func (f ShellFrame) Bytes() []byte {
	return append(append(make([]byte, 0, 1+len(f.Payload)), byte(f.Op)), f.Payload...)
}

var errShellFrame = errors.New("no frame of a remote shell")

// ParseShellFrame decodes a frame; the payload aliases it. Its size is valid for its type.
func ParseShellFrame(frame []byte) (ShellFrame, error) {
	if len(frame) == 0 || len(frame) > MaxShellFrame {
		return ShellFrame{}, errShellFrame
	}
	f := ShellFrame{ShellOp(frame[0]), frame[1:]}
	n, ok := len(f.Payload), false
	switch f.Op {
	case ShellInput, ShellOutput, ShellErrors:
		ok = n > 0 && n <= MaxShellData
	case ShellEOF:
		ok = n == 0
	case ShellResize, ShellAck:
		ok = n == 4
	case ShellSignal:
		ok = n > 0 && n <= maxShellSignal
	case ShellStart, ShellExit:
		ok = n > 0
	}
	if !ok {
		return ShellFrame{}, errShellFrame
	}
	return f, nil
}

// ShellSize is the size of a terminal.
type ShellSize struct{ Columns, Rows uint16 }

// Frame returns the frame with which a client reports the size.
func (s ShellSize) Frame() ShellFrame {
	payload := binary.BigEndian.AppendUint16(nil, s.Columns)
	return ShellFrame{ShellResize, binary.BigEndian.AppendUint16(payload, s.Rows)}
}

// Size returns the size in a frame of type ShellResize.
func (f ShellFrame) Size() ShellSize {
	return ShellSize{binary.BigEndian.Uint16(f.Payload), binary.BigEndian.Uint16(f.Payload[2:])}
}

// ShellAcknowledged returns the frame that acknowledges n bytes of data.
func ShellAcknowledged(n int) ShellFrame {
	return ShellFrame{ShellAck, binary.BigEndian.AppendUint32(nil, uint32(n))}
}

// Acknowledged returns the number of bytes in a frame of type ShellAck. It is at most
// ShellWindow in a valid one.
func (f ShellFrame) Acknowledged() int { return int(binary.BigEndian.Uint32(f.Payload)) }

// ShellCommand is what a client wants to run.
type ShellCommand struct {
	Command  []string       `json:",omitempty"` // the program and its arguments; empty: a shell
	Terminal *ShellTerminal `json:",omitempty"` // nil: input, output and errors are separate streams
	Process  string         `json:",omitempty"` // id of a game server process among whose processes it runs
	// Container is the name of the container in which it runs, on a compute of a container
	// fleet; "" for that of the game server.
	Container string `json:",omitempty"`
}

// ShellTerminal is the client's terminal.
type ShellTerminal struct {
	Type string // such as xterm-256color
	ShellSize
}

// Frame returns the first frame of a client.
func (c ShellCommand) Frame() (ShellFrame, error) {
	payload, err := json.Marshal(c)
	if err == nil && len(payload) >= MaxShellFrame {
		err = fmt.Errorf("the command has %d bytes; at most %d are possible", len(payload), MaxShellFrame-1)
	}
	return ShellFrame{ShellStart, payload}, err
}

// Command returns the command in a frame of type ShellStart, or an error with a text for
// people.
func (f ShellFrame) Command() (c ShellCommand, err error) {
	if f.Op != ShellStart {
		return c, errors.New("the first frame says no command")
	}
	if err := json.Unmarshal(f.Payload, &c); err != nil {
		return c, fmt.Errorf("the first frame is no command: %w", err)
	}
	switch {
	case len(c.Command) > maxShellWords:
		return c, fmt.Errorf("the command has %d words; at most %d are possible", len(c.Command), maxShellWords)
	case len(c.Command) > 0 && c.Command[0] == "":
		return c, errors.New("the command's program has no name")
	case len(c.Process) > 128:
		return c, errors.New("the id of the process is longer than any")
	case len(c.Container) > 128:
		return c, errors.New("the name of the container is longer than any")
	case c.Terminal != nil && !validTerminal(c.Terminal.Type):
		return c, errors.New("the terminal's type has other characters than letters, digits, '-', '.', '+' and '_'")
	}
	for _, word := range c.Command {
		for i := range len(word) {
			if word[i] == 0 {
				return c, errors.New("the command has a zero byte, which no program can be given")
			}
		}
	}
	return c, nil
}

func validTerminal(text string) bool {
	for _, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '-' && r != '.' && r != '+' && r != '_' {
			return false
		}
	}
	return len(text) <= maxShellTerminal
}

// ShellEnd says how a remote shell ended.
type ShellEnd struct {
	Code    int    // exit code of the program, 128 + its number after a signal
	Signal  string `json:",omitempty"` // that ended the program
	Problem string `json:",omitempty"` // why it was not started, or was ended; a text for people
}

// Frame returns the last frame of a remote shell.
func (e ShellEnd) Frame() ShellFrame {
	const most = 4096
	e.Problem = e.Problem[:min(len(e.Problem), most)]
	payload, err := json.Marshal(e)
	if err != nil {
		payload = []byte(`{"Code":255}`) // its texts encode
	}
	return ShellFrame{ShellExit, payload}
}

// End returns how the shell ended, from a frame of type ShellExit.
func (f ShellFrame) End() (e ShellEnd, err error) {
	err = json.Unmarshal(f.Payload, &e)
	if err == nil && (e.Code < 0 || e.Code > 255) {
		err = fmt.Errorf("a shell's exit code is %d, not one from 0 to 255", e.Code)
	}
	return e, err
}
