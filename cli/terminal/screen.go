package terminal

import (
	"io"
	"sync"

	"github.com/musterhq/muster/cli/style"
)

// Screen is standard error: a terminal with one line of progress at its end, or a file. What
// is written to it comes above that line. It escapes nothing, and is safe for concurrent use.
type Screen struct {
	mu   sync.Mutex
	out  io.Writer
	line string // the progress that is shown; "" if none is
}

// NewScreen returns a Screen that is written to out.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// eraseLine moves a terminal's cursor to the beginning of its line and erases that (ECMA-48).
const eraseLine = "\r\x1b[K"

// Write writes p, above the line of progress if there is one. The line is not shown after the
// beginning of another line, such as a question.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" || len(p) == 0 {
		return s.out.Write(p)
	}
	text := append([]byte(eraseLine), p...)
	if p[len(p)-1] == '\n' {
		text = append(text, s.line...)
	} else {
		s.line = ""
	}
	if _, err := s.out.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show shows a line of progress in place of the one before; "" shows none.
func (s *Screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line != "" || s.line != "" {
		io.WriteString(s.out, eraseLine+line)
	}
	s.line = line
}

// Fd returns the descriptor of the terminal, or one that does not exist if the Screen is no
// file, for what asks whether it is a terminal and how wide.
func (s *Screen) Fd() uintptr {
	if f, ok := s.out.(style.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
