package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
)

// shown matches the line before a block that shows a file of examples/.
var shown = regexp.MustCompile(`\]\(\.\./(examples/[^)]+)\):$`)

// A block after a line that ends with a link to an example, and a colon, is that file. With
// -update the blocks are written anew.
func TestDocuments_ShowFiles(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		now := string(text)
		for _, block := range document.Parse(string(text)) {
			m := shown.FindStringSubmatch(block.Lead)
			if m == nil {
				continue
			}
			file, err := os.ReadFile(filepath.Join(root(t), m[1]))
			if err != nil {
				t.Errorf("%s:%d: %v", filepath.Base(name), block.Line, err)
				continue
			}
			seen[m[1]] = true
			if block.Text == string(file) {
				continue
			}
			if !*update {
				t.Errorf("%s:%d: the block is not %s: run go test ./internal/archtest -run ShowFiles -update", filepath.Base(name), block.Line, m[1])
			}
			now = strings.Replace(now, block.Lead+"\n\n```"+block.Language+"\n"+block.Text+"```", block.Lead+"\n\n```"+block.Language+"\n"+string(file)+"```", 1)
		}
		if *update && now != string(text) {
			if err := os.WriteFile(name, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	guided := filepath.Join(root(t), "examples", "ten-minutes")
	err = filepath.WalkDir(guided, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name, _ := filepath.Rel(root(t), path); !seen[filepath.ToSlash(name)] {
			t.Errorf("no document shows %s", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
