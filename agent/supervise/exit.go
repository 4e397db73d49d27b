package supervise

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Exit describes how a run ended.
type Exit struct {
	Known  bool          // false: it ended unwatched, code and signal are unknown
	Code   int           // exit code; -1 if a signal ended it or Known is false
	Signal string        // name of the signal that ended it, or ""
	Lived  time.Duration // from its start; for a run that ended unwatched, until that was noticed
	Tail   []string      // the last lines it wrote to stderr, at most 1000
	Said   []string      // the last lines it wrote to stdout, at most 1000
}

// Clean reports whether the run ended with code 0.
func (e Exit) Clean() bool { return e.Known && e.Code == 0 }

// String describes the exit in a few words.
func (e Exit) String() string {
	switch {
	case !e.Known:
		return "ended unwatched"
	case e.Signal != "":
		return "ended by signal " + e.Signal
	}
	return fmt.Sprintf("ended with code %d", e.Code)
}

// Lines and bytes of a tail, which are enough for a stack trace and the line before it.
const (
	tailLines = 1000
	tailBytes = 64 << 10
)

// tail returns the last lines of a file; none if it cannot be read.
func tail(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	offset := max(info.Size()-tailBytes, 0)
	content, err := io.ReadAll(io.NewSectionReader(file, offset, tailBytes))
	if err != nil {
		return nil
	}
	if offset > 0 { // start with a whole line
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(content), "�"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(len(lines)-tailLines, 0):]
}
