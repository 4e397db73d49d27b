package jail

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file from elsewhere that a script hard-linked into the build does not become
// readable by all.
func TestTakeBack_RefusesLinksFromElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can own files of several users")
	}
	dir := t.TempDir()
	secret, tree := filepath.Join(dir, "secret"), filepath.Join(dir, "tree")
	if err := os.WriteFile(secret, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	const stranger = 1_900_000_290
	if err := handOver(tree, stranger, func(string, fs.DirEntry) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if err := takeBack(tree, stranger); err != nil || ownerOf(tree) != 0 {
		t.Errorf("an empty folder: %v", err)
	}
	if err := handOver(tree, stranger, func(string, fs.DirEntry) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(secret, filepath.Join(tree, "data")); err != nil {
		t.Fatal(err)
	}
	if err := takeBack(tree, stranger); err == nil || !strings.Contains(err.Error(), "data is a file from elsewhere") {
		t.Errorf("a link to a file of ours: %v", err)
	}
}
