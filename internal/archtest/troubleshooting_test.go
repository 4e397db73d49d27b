package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// others are messages in docs/troubleshooting.md that other programs print.
var others = []string{
	"address already in use", "connection refused", // the system
	"certificate signed by unknown authority", "Client sent an HTTP request to an HTTPS server", // Go's library
}

// message is what the first column of docs/troubleshooting.md quotes, if it is a text.
var message = regexp.MustCompile("`([^`]* [^`]*)`")

// The messages that docs/troubleshooting.md quotes are in the code, apart from what they name.
func TestDocuments_TroubleshootingQuotesMessages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, m := range message.FindAllStringSubmatch(strings.Split(line, " | ")[0], -1) {
			if strings.HasPrefix(m[1], "muster ") {
				continue // a command
			}
			for part := range strings.SplitSeq(m[1], "…") {
				missing[strings.TrimSpace(part)] = true
			}
		}
	}
	delete(missing, "")
	if len(missing) < 10 {
		t.Fatalf("found only %d messages: the pattern is broken", len(missing))
	}
	for _, part := range others {
		if !missing[part] {
			t.Errorf("docs/troubleshooting.md does not quote %q any more", part)
		}
		delete(missing, part)
	}
	err = filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin" || d.Name() == "test") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for part := range missing {
			if strings.Contains(string(source), part) {
				delete(missing, part)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for part := range missing {
		t.Errorf("docs/troubleshooting.md quotes %q, which no part of the code says", part)
	}
}
