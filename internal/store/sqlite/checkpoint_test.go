package sqlite_test

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// TestCheckpoint_LogBeginsAgain writes until the log starts over, which must happen
// long before a commit has to make a checkpoint.
func TestCheckpoint_LogBeginsAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store.New(store.Options{Driver: sqlite.New(dir)})
	rows := store.NewTable(s, store.TableSpec[string]{Name: "word", Key: func(s *string) string { return (*s)[:1] }})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func(word string) {
		err := s.Update(t.Context(), func(tx *store.Tx) error { rows.Put(tx, &word); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	file := filepath.Join(dir, "muster.db-wal")
	first := turn(t, file)
	large := strings.Repeat("a", 100*4096)
	for turn(t, file) == first {
		write(large)
		if size := sizeOf(t, file); size > sqlite.CheckpointInline*4096/2 {
			t.Fatalf("the log has %d MiB and has not begun again", size>>20)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("Close leaves the log behind: %v", err)
	}
}

// turn returns how often a log has started over ("WAL header", SQLite's file format).
func turn(t *testing.T, file string) uint32 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint32(head[12:])
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
