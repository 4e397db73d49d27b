package logs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Tail returns the last bytes of a file that a process writes to, at most so many, and the
// size of the file. Where the file is shorter, what it was rotated to is before it. A file
// that does not exist is empty.
func Tail(path string, most int) (text []byte, size int64, err error) {
	text, size, err = end(path, most)
	if err != nil || len(text) >= most {
		return text, size, err
	}
	before, _, err := end(path+".1", most-len(text))
	return append(before, text...), size, err
}

// end returns the last bytes of a file, and its size.
func end(path string, most int) (text []byte, size int64, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	size = info.Size()
	n := min(int64(most), size)
	text, err = io.ReadAll(io.NewSectionReader(file, size-n, n))
	return text, size, err
}

// Last keeps the last bytes of what is written to it.
type Last struct {
	Most int
	kept []byte
}

// Write implements io.Writer.
func (l *Last) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p[max(len(p)-l.Most, 0):]...)
	if extra := len(l.kept) - l.Most; extra > 0 {
		l.kept = append(l.kept[:0], l.kept[extra:]...)
	}
	return len(p), nil
}

// Bytes returns what is kept.
func (l *Last) Bytes() []byte { return l.kept }
