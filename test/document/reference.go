package document

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Written fails the test if a document in docs is not the text that is made of the code; with
// update it writes the text. `make generate` does that.
func Written(t testing.TB, name, want string, update bool) {
	t.Helper()
	path := filepath.Join(Top(t), "docs", name)
	if update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("docs/%s is not what the code says; run make generate (-written +said):\n%s", name, diff)
	}
}

// Constant is a string constant with its comment.
type Constant struct{ Name, Value, Comment string }

// Constants returns the constants of a type that a Go file declares with a value, in order. It
// fails the test for one without a comment on its line, which says what the value means.
func Constants(t testing.TB, file, kind string) []Constant {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(Top(t), file), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var all []Constant
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || spec.Type == nil || nameOf(spec.Type) != kind {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		c := Constant{Name: spec.Names[0].Name, Value: value, Comment: strings.TrimSpace(spec.Comment.Text())}
		if c.Comment == "" {
			t.Errorf("%s: %s has no comment on its line: say what it means, for the reference", file, c.Name)
		}
		all = append(all, c)
		return true
	})
	if len(all) == 0 {
		t.Fatalf("%s has no constants of type %s", file, kind)
	}
	return all
}

// nameOf returns the name of a type, without its package.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// Table writes a table in Markdown.
func Table(heads []string, rows [][]string) string {
	var b bytes.Buffer
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell) + " ")
		}
		b.WriteString("|\n")
	}
	line(heads)
	b.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
