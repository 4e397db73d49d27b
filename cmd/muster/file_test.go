package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The old file stays until everything is written, and nothing else is left in the folder.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "trace.jsonl")
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		entries, _ := os.ReadDir(dir)
		if err != nil || string(got) != want || len(entries) != 1 {
			t.Errorf("the file holds %q, want %q (%v); the folder %v", got, want, err, entries)
		}
	}
	say := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := io.WriteString(w, text)
			return errors.Join(failed, err)
		}
	}
	if err := writeFile(file, say("first", nil)); err != nil {
		t.Fatal(err)
	}
	holds("first")
	if err := writeFile(file, say("sec", io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut off: %v", err)
	}
	holds("first")
	if err := writeFile(file, say("third", nil)); err != nil {
		t.Fatal(err)
	}
	holds("third")
	if err := writeFile(os.DevNull, say("gone", nil)); err != nil {
		t.Error(err)
	}
}

// A failed export does not destroy the old file.
func TestTickets_ExportKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(file, []byte("yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := typed(t, t.Context(), "tickets", "export", "mm", "--out", file, "--endpoint", "http://127.0.0.1:1")
	if got, _ := os.ReadFile(file); code == 0 || string(got) != "yesterday" {
		t.Errorf("ended with %d (%s) and left %q", code, strings.TrimSpace(stderr), got)
	}
}

// A variable that is set to nothing names no file, and one that names a folder or nothing is refused.
func TestFile_Empty(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for value, want := range map[string]string{"": "404", t.TempDir(): "is a directory", "not-there.pem": "no such file"} {
		t.Setenv("MUSTER_CA", value)
		if _, _, stderr := typed(t, t.Context(), "hosts", "--endpoint", server.URL, "--region", "us-east-1"); !strings.Contains(stderr, want) {
			t.Errorf("MUSTER_CA=%q: %s", value, stderr)
		}
	}
}
