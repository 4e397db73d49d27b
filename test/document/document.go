// Package document reads the code blocks of the project's documents, so that tests run what
// readers copy.
package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Top returns the folder of the repository: the next one upward with a go.work.
func Top(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no folder above this one has a go.work")
		}
		dir = up
	}
}

// Block is a code block.
type Block struct {
	Section  string // the heading above it, without its number signs
	Lead     string // the last line of text before it
	Language string // as the fence names it
	Text     string // with the line ends
	Line     int    // of its first line, from 1
}

// Blocks returns the code blocks of a document, which is named from the top of the repository.
func Blocks(t testing.TB, name string) []Block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Top(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(string(text))
}

// Parse returns the code blocks of a document's text.
func Parse(text string) []Block {
	var all []Block
	var open *Block
	section, lead, number := "", "", 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case open != nil && fence:
			all = append(all, *open)
			open, lead = nil, ""
		case open != nil:
			open.Text += line
		case fence:
			open = &Block{Section: section, Lead: lead, Language: strings.TrimSpace(language), Line: number + 1}
		case strings.HasPrefix(line, "#"):
			section, lead = strings.TrimSpace(strings.TrimLeft(line, "#")), ""
		case trimmed != "":
			lead = trimmed
		}
	}
	return all
}

// Find returns the first block of a language in a document that contains a text.
func Find(t testing.TB, name, language, contains string) Block {
	t.Helper()
	for _, block := range Blocks(t, name) {
		if block.Language == language && strings.Contains(block.Text, contains) {
			return block
		}
	}
	t.Fatalf("%s has no block in %s with %q", name, language, contains)
	return Block{}
}
