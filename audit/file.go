package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// File is a Sink that appends to the file with this name. It opens the file for each
// batch, so the file can be moved away at any time.
type File string

// Keep implements Sink. It syncs the file to disk. An incomplete last line, left by a
// crash, is removed: that record is sent again.
func (name File) Keep(_ context.Context, lines []byte, _ uint64) error {
	f, err := os.OpenFile(string(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // Sync has reported errors
	end, err := endOfLines(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := f.WriteAt(lines, end); err != nil {
		return err
	}
	return f.Sync()
}

// endOfLines truncates a file after its last complete line, and returns its length.
func endOfLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("is no file that records can be kept in (%s)", info.Mode())
	}
	size := info.Size()
	tail := make([]byte, min(size, maxLine))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, err
	}
	rest := tail[bytes.LastIndexByte(tail, '\n')+1:]
	if len(rest) == 0 {
		return size, nil
	}
	begin := []byte(lineBegin)
	if n := min(len(rest), len(begin)); !bytes.Equal(rest[:n], begin[:n]) {
		return 0, errors.New("is no file of audit records: it ends with something else")
	}
	return size - int64(len(rest)), f.Truncate(size - int64(len(rest)))
}
