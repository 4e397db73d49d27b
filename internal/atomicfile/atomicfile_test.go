package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	holds := func(want string, mode fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		entries, _ := os.ReadDir(dir)
		if err != nil || string(got) != want || info.Mode() != mode || len(entries) != 1 {
			t.Errorf("the file has %q (%v), want %q, mode %v; the folder has %v", got, err, want, info.Mode(), entries)
		}
	}
	for _, text := range []string{"a long first text", "short"} {
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		holds(text, 0o600)
	}
	// What a crashed Write left does not matter.
	if err := os.WriteFile(path+".new", []byte("half of something longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds("whole", 0o600)
	// A reader that has the old file open goes on reading it.
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := atomicfile.Write(path, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, 16)
	if n, _ := old.Read(rest); string(rest[:n]) != "whole" {
		t.Errorf("the old file reads %q", rest[:n])
	}
}

// If the file cannot be replaced, it stays, and nothing else does.
func TestWrite_Fails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := atomicfile.Write(filepath.Join(dir, "no", "folder"), nil, 0o600); err == nil {
		t.Error("a file was written to a folder that does not exist")
	}
	taken := filepath.Join(dir, "taken")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(taken, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder has %v", entries)
	}
}
