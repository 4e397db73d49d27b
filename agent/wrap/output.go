package wrap

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
)

// Limits of what is kept of a program's output: the lines of a stack trace, and the bytes of a line.
const (
	keptLines = 200
	keptLine  = 4096
)

// words are the last lines of a program's output. The zero words have none.
type words struct{ out, err lines }

// last returns the last lines on standard output and standard error.
func (w *words) last() (out, err []string) { return w.out.kept(), w.err.kept() }

// lines passes a stream on, and keeps its last lines.
type lines struct {
	to    io.Writer
	heard func(line []byte) // is called for each line; may be nil

	mu   sync.Mutex
	part []byte // of a line that is not complete
	last []string
}

// Write never fails: a program is not to end because nobody can read its output.
func (l *lines) Write(b []byte) (int, error) {
	l.to.Write(b) // what is lost, is lost
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		l.part = append(l.part, line[:min(len(line), keptLine-len(l.part))]...)
		if ended {
			l.end()
		}
	}
	return len(b), nil
}

// end ends a line. The caller must hold mu.
func (l *lines) end() {
	line := bytes.TrimRight(l.part, "\r")
	if l.heard != nil {
		l.heard(line)
	}
	if len(l.last) == keptLines {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, string(line))
	l.part = l.part[:0]
}

func (l *lines) kept() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := slices.Clone(l.last)
	if len(l.part) > 0 {
		kept = append(kept, string(l.part))
	}
	return kept
}

// listen connects the program's output: to ours, and through us only where its lines are
// wanted, since a program whose output is a pipe depends on who reads it.
func (w *wrapper) listen(cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if w.o.Ready.Line == nil && w.o.Watched {
		return
	}
	w.words.out.to, w.words.err.to = os.Stdout, os.Stderr
	if w.o.Ready.Line != nil {
		w.words.out.heard, w.words.err.heard = w.hear, w.hear
	}
	cmd.Stdout, cmd.Stderr = &w.words.out, &w.words.err
}

// hear has live know of a line that says that the program is ready.
func (w *wrapper) hear(line []byte) {
	if !w.o.Ready.Line.Match(line) {
		return
	}
	select {
	case w.line <- struct{}{}:
	default:
	}
}
