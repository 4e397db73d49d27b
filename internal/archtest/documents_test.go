package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// treeBlock returns the folder names of the tree in CONTRIBUTING.md.
func treeBlock(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "## The tree\n")
	if !ok {
		t.Fatal(`CONTRIBUTING.md has no section "The tree"`)
	}
	parts := strings.SplitN(rest, "```", 3)
	if len(parts) != 3 {
		t.Fatal("CONTRIBUTING.md: the section The tree has no block")
	}
	var names []string
	for line := range strings.Lines(parts[1]) {
		if name, ok := strings.CutSuffix(strings.Split(line, " ")[0], "/"); ok {
			names = append(names, name)
		}
	}
	return names
}

func TestContributing_TreeIsTheTree(t *testing.T) {
	named := treeBlock(t)
	for _, name := range named {
		if info, err := os.Stat(filepath.Join(root(t), name)); err != nil || !info.IsDir() {
			t.Errorf("CONTRIBUTING.md names the folder %s/, which does not exist", name)
		}
	}
	for _, dir := range folders(t) {
		if strings.Contains(dir, "/") {
			continue
		}
		shown := slices.ContainsFunc(named, func(n string) bool { return n == dir || strings.HasPrefix(n, dir+"/") })
		if !shown {
			t.Errorf("CONTRIBUTING.md does not show the folder %s/", dir)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestDocuments_LinksLead(t *testing.T) {
	documents, err := filepath.Glob(filepath.Join(root(t), "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := filepath.Glob(filepath.Join(root(t), "docs", "decisions", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, decisions...)
	documents = append(documents, filepath.Join(root(t), "README.md"), filepath.Join(root(t), "CONTRIBUTING.md"))
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", filepath.Base(document), m[1])
			}
		}
	}
}

var comment = regexp.MustCompile(`(^|\s)#`)

// Commands are pasted into zsh too, which by default takes a comment for more words.
func TestDocuments_CommandsWithoutComments(t *testing.T) {
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || path != root(t) && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		language, open, number := "", false, 0
		for line := range strings.Lines(string(text)) {
			number++
			if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
				language, open = fence, !open
			} else if open && language == "sh" && comment.MatchString(line) {
				t.Errorf("%s:%d: a command has a comment; say it in the text before the block", path, number)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What cannot be run where Muster is tested is said of each library in the same words.
func TestClients_SayWhatIsNotRun(t *testing.T) {
	const words = "Unity, Unreal Engine, O3DE and Godot 4 cannot be installed where Muster is tested: what is made for them is compiled or read, not run."
	documents, err := filepath.Glob(filepath.Join(root(t), "clients", "*", "README.md"))
	if err != nil || len(documents) == 0 {
		t.Fatalf("the libraries have no README.md: %v", err)
	}
	for _, path := range append(documents, filepath.Join(root(t), "clients", "README.md"), filepath.Join(root(t), "docs", "languages.md")) {
		if filepath.Base(filepath.Dir(path)) == "stories" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), words) {
			t.Errorf("%s does not say: %s", path, words)
		}
	}
}
