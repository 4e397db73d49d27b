package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/musterhq/muster"

// pkg describes the sources of one folder, those of all operating systems included.
type pkg struct {
	path     string // relative to the module, with slashes
	name     string
	comments []string // files that hold a package comment
	imports  []string // packages of the module that the code imports, not its tests
}

// root returns the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// folders returns every folder of the repository, relative to the root, except hidden
// ones and those that .gitignore names.
func folders(t *testing.T) []string {
	t.Helper()
	ignored := ignoredFolders(t)
	var all []string
	base := root(t)
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == base {
			return err
		}
		name := d.Name()
		rel, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if strings.HasPrefix(name, ".") || name == "node_modules" || slices.Contains(ignored, rel) {
			return fs.SkipDir
		}
		all = append(all, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ignoredFolders returns the plain folder names in .gitignore.
func ignoredFolders(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), "/"); ok {
			names = append(names, strings.TrimPrefix(name, "/"))
		}
	}
	return names
}

// packages returns the packages of the root module; folders with their own go.mod are
// other modules.
func packages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	var others []string
	for _, dir := range folders(t) {
		if _, err := os.Stat(filepath.Join(root(t), dir, "go.mod")); err == nil {
			others = append(others, dir+"/")
		}
		other := slices.ContainsFunc(others, func(o string) bool { return strings.HasPrefix(dir+"/", o) })
		if other || strings.Contains("/"+dir+"/", "/testdata/") {
			continue
		}
		if p, ok := read(t, dir); ok {
			all = append(all, p)
		}
	}
	if len(all) < 20 {
		t.Fatalf("found only %d packages: the walk is broken", len(all))
	}
	return all
}

// read reads one folder; ok is false if it has no Go files other than tests.
func read(t *testing.T, dir string) (p pkg, ok bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	p.path = dir
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ok = true
		p.name = tree.Name.Name
		if tree.Doc != nil {
			p.comments = append(p.comments, filepath.Base(file))
		}
		p.imports = append(p.imports, ours(t, tree)...)
	}
	slices.Sort(p.imports)
	p.imports = slices.Compact(p.imports)
	return p, ok
}

// ours returns the imports of a file that are packages of the module.
func ours(t *testing.T, tree *ast.File) []string {
	t.Helper()
	var paths []string
	for _, spec := range tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			paths = append(paths, rest)
		}
	}
	return paths
}
