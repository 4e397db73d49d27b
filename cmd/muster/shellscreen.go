package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// screenModes passes a remote program's output to a terminal, and keeps which of the
// terminal's modes the program has changed. The output is passed as it is, as ssh does.
type screenModes struct {
	to io.Writer

	state  func(*screenModes, byte)
	params []byte // of the control sequence that is being read

	private  map[int]bool // DEC private modes that differ from their usual value: whether they are set
	keypad   bool         // application keypad
	region   bool         // a scrolling region
	keyboard int          // entries on the stack of kitty's keyboard modes
	flags    bool         // kitty's keyboard modes without a stack
	modified bool         // xterm's modifyOtherKeys
	escaped  bool         // an escape sequence, or a character that a terminal answers, was written
}

// usuallySet are the private modes that are set in a terminal with which nothing was done: the
// lines wrap, and the cursor is shown.
var usuallySet = []int{7, 25}

// maxPrivate bounds the modes that are kept, and longestParams the parameters of a control
// sequence: longer ones are no terminal's.
const (
	maxPrivate    = 64
	longestParams = 64
)

func newScreenModes(to io.Writer) *screenModes {
	return &screenModes{to: to, state: (*screenModes).plain, private: map[int]bool{}}
}

// Write implements io.Writer.
func (m *screenModes) Write(p []byte) (int, error) {
	n, err := m.to.Write(p)
	for _, b := range p[:n] {
		m.state(m, b)
	}
	return n, err
}

// plain reads text until a control sequence begins. In UTF-8 the byte of CSI also ends some
// letters; such a letter begins no sequence that ends as one of a mode.
func (m *screenModes) plain(b byte) {
	const enquiry, csi = 0x05, 0x9b
	switch b {
	case '\x1b':
		m.escaped, m.state = true, (*screenModes).escape
	case csi:
		m.escaped, m.state, m.params = true, (*screenModes).sequence, m.params[:0]
	case enquiry:
		m.escaped = true
	}
}

func (m *screenModes) escape(b byte) {
	m.state = (*screenModes).plain
	switch b {
	case '[':
		m.state, m.params = (*screenModes).sequence, m.params[:0]
	case '\x1b':
		m.state = (*screenModes).escape
	case '=', '>':
		m.keypad = b == '='
	case 'c': // everything as in the beginning
		*m = screenModes{to: m.to, state: m.state, private: map[int]bool{}, escaped: true}
	}
}

func (m *screenModes) sequence(b byte) {
	switch {
	case b == '\x1b':
		m.state = (*screenModes).escape
	case b == 0x18 || b == 0x1a: // they cancel it
		m.state = (*screenModes).plain
	case b < ' ': // executed within the sequence
	case b >= '@' && b <= '~':
		m.state = (*screenModes).plain
		m.ends(b)
	case len(m.params) < longestParams:
		m.params = append(m.params, b)
	default:
		m.state = (*screenModes).plain
	}
}

// ends handles the end of a control sequence.
func (m *screenModes) ends(final byte) {
	kind, rest := byte(0), m.params
	if len(rest) > 0 && rest[0] >= '<' && rest[0] <= '?' {
		kind, rest = rest[0], rest[1:]
	}
	switch {
	case kind == '?' && (final == 'h' || final == 'l'):
		for part := range bytes.SplitSeq(rest, []byte(";")) {
			m.mode(number(part, 0), final == 'h')
		}
	case kind == 0 && final == 'r':
		m.region = len(rest) > 0
	case kind == '>' && final == 'm':
		m.modified = bytes.Contains(rest, []byte(";")) && !bytes.HasSuffix(rest, []byte(";0"))
	case kind == '>' && final == 'u':
		m.keyboard = min(m.keyboard+1, maxPrivate)
	case kind == '<' && final == 'u':
		m.keyboard = max(m.keyboard-number(rest, 1), 0)
	case kind == '=' && final == 'u':
		m.flags = true
	case kind == 0 && final == 'p' && string(rest) == "!": // soft reset
		m.keypad, m.region = false, false
		delete(m.private, 1)
		delete(m.private, 25)
	}
}

func (m *screenModes) mode(mode int, set bool) {
	switch {
	case mode <= 0:
	case set == slices.Contains(usuallySet, mode):
		delete(m.private, mode)
	case len(m.private) < maxPrivate:
		m.private[mode] = set
	}
}

// number returns a parameter's value, or a default.
func number(text []byte, or int) int {
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' || n > 1<<20 {
			return or
		}
		n = n*10 + int(b-'0')
	}
	if len(text) == 0 {
		return or
	}
	return n
}

// reset returns what brings the terminal back: to the usual screen, keys and pointer. It is
// empty if the program has left nothing.
func (m *screenModes) reset() string {
	if !m.escaped {
		return ""
	}
	text := "\x1b\\" // ends a string, should one have been left open
	if m.keyboard > 0 {
		text += fmt.Sprintf("\x1b[<%du", m.keyboard)
	}
	if m.flags {
		text += "\x1b[=0u"
	}
	if m.modified {
		text += "\x1b[>4m"
	}
	for _, mode := range slices.Sorted(maps.Keys(m.private)) {
		if m.private[mode] {
			text += fmt.Sprintf("\x1b[?%dl", mode)
		} else {
			text += fmt.Sprintf("\x1b[?%dh", mode)
		}
	}
	if m.keypad {
		text += "\x1b>"
	}
	if m.region {
		text += "\x1b7\x1b[r\x1b8"
	}
	return text + "\x1b[0m\x1b(B\x0f" // colors, and the usual letters
}

// keys passes on what a person types, until over is closed.
type keys struct {
	typed chan []byte
	over  chan struct{}
	rest  []byte
	err   error // why there is no more; valid once typed is closed
}

func readKeys(from io.Reader) *keys {
	k := &keys{typed: make(chan []byte), over: make(chan struct{})}
	go func() {
		for {
			buffer := make([]byte, 4096)
			n, err := from.Read(buffer)
			if n > 0 {
				k.typed <- buffer[:n]
			}
			if err != nil {
				k.err = err
				close(k.typed)
				return
			}
		}
	}()
	return k
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	select {
	case <-k.over:
		return 0, io.EOF
	default:
	}
	if len(k.rest) == 0 {
		select {
		case more, ok := <-k.typed:
			if !ok {
				return 0, k.err
			}
			k.rest = more
		case <-k.over:
			return 0, io.EOF
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// answerWithin limits how long a terminal is awaited that answers no status report.
const answerWithin = time.Second

// settle ends Read, brings a terminal back, and drops what it has answered to the program: those
// answers would be typed into the person's own shell. Terminals answer in the order of the
// questions, so the answer to a last one is behind all others.
func (k *keys) settle(m *screenModes, terminal *os.File) {
	close(k.over)
	reset := m.reset()
	if reset == "" {
		return
	}
	const question, answer = "\x1b[5n", "\x1b[0n" // device status report
	if _, err := io.WriteString(m.to, reset+question); err != nil {
		return
	}
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	defer dropInput(terminal)
	var last []byte
	for !bytes.Contains(last, []byte(answer)) {
		select {
		case more, ok := <-k.typed:
			if !ok {
				return
			}
			last = append(last[max(0, len(last)-len(answer)):], more...)
		case <-late.C:
			return
		}
	}
}
