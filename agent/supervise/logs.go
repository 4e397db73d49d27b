package supervise

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// logs are the files that runs write to. Each is opened for appending and passed to
// the run directly: a pipe would end or block a run whose supervisor is gone.
type logs struct {
	dir  string
	size int64 // size at which a file is rotated
	keep int   // number of ended runs whose files are kept; -1: all
}

func (l logs) paths(id string) (stdout, stderr string) {
	return filepath.Join(l.dir, id+".stdout.log"), filepath.Join(l.dir, id+".stderr.log")
}

func (l logs) open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return file, nil
}

// rotate copies a file that has reached its size to NAME.1 and truncates it. The run
// continues to write to the same file; what it writes between the copy and the
// truncation is lost.
func (l logs) rotate(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < l.size {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if err := copyFile(path, path+".1"); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	if err := os.Truncate(path, 0); err != nil {
		return fmt.Errorf("empty log: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// prune removes the files of ended runs, oldest end first, beyond those to keep. live
// reports whether a run is still running.
func (l logs) prune(live func(id string) bool) error {
	if l.keep < 0 {
		return nil
	}
	ended, err := l.ended(live)
	if err != nil {
		return err
	}
	for _, run := range ended[:max(len(ended)-l.keep, 0)] {
		stdout, stderr := l.paths(run.id)
		for _, path := range []string{stdout, stdout + ".1", stderr, stderr + ".1"} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("prune logs: %w", err)
			}
		}
	}
	return nil
}

type endedRun struct {
	id      string
	written int64 // when its stderr was last written, Unix nanoseconds
}

// ended lists the runs that have a log and do not live, oldest end first.
func (l logs) ended(live func(id string) bool) ([]endedRun, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	var ended []endedRun
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".stderr.log")
		if !ok || live(id) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // removed in the meantime
		}
		ended = append(ended, endedRun{id, info.ModTime().UnixNano()})
	}
	slices.SortFunc(ended, func(a, b endedRun) int {
		if a.written != b.written {
			return int(min(max(a.written-b.written, -1), 1))
		}
		return strings.Compare(a.id, b.id)
	})
	return ended, nil
}
