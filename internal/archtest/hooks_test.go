package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hookOwners are the packages behind the names of fields and variables at which hooks
// are registered.
var hookOwners = map[string]string{
	"events": "event", "keys": "auth", "fleets": "fleet", "computes": "compute", "sessions": "session", "instances": "instance", "hosts": "instance", "placements": "placement",
	"queues": "placement", "accounts": "identity", "matches": "flexmatch", "builds": "build", "containers": "build/container", "identity": "identity", "lobby": "lobby", "store": "internal/store", "st": "internal/store", "blobs": "internal/blob",
}

// registers matches methods with which a higher package registers what a lower one calls.
var registers = regexp.MustCompile(`^(On[A-Z]\w*|SetInUse|HostedBy|AddLauncher)$`)

// top is the root of the repository.
const top = "../.."

// Every registration is a row of the table of docs/flows.md, and every row exists.
func TestHooks(t *testing.T) {
	code := registrations(t)
	documented := map[string]bool{}
	text, err := os.ReadFile(filepath.Join(top, "docs/flows.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Calls upward\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		for _, by := range strings.Split(row[2], ",") {
			documented[row[1]+" by "+strings.Trim(by, " `")] = true
		}
	}
	for _, r := range slices.Sorted(maps.Keys(code)) {
		if !documented[r] {
			t.Errorf("%s (%s) is no row of the table in docs/flows.md", r, code[r])
		}
		delete(documented, r)
	}
	for r := range documented {
		t.Errorf("docs/flows.md has a row for %s, which no code registers", r)
	}
}

// registrations returns each registration of a hook as "package.Hook by package", with
// its position.
func registrations(t *testing.T) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		name = filepath.ToSlash(name)
		if d.IsDir() {
			switch name {
			case ".git", "agent", "bin", "docs", "examples", "sdk", "test", "tools":
				return fs.SkipDir // no part of the server
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			hook, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !registers.MatchString(hook.Sel.Name) || hook.Sel.Name == "OnCommit" || hook.Sel.Name == "OnEnd" { // OnEnd is of OpenTelemetry
				return true
			}
			at := files.Position(call.Pos())
			owner, known := hookOwners[strings.ToLower(lastName(hook.X))]
			if !known {
				t.Errorf("%s:%d: %s.%s: hookOwners does not name its package", name, at.Line, lastName(hook.X), hook.Sel.Name)
			}
			all[fmt.Sprintf("%s.%s by %s", owner, hook.Sel.Name, filepath.ToSlash(filepath.Dir(name)))] = fmt.Sprintf("%s:%d", name, at.Line)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lastName returns the last name of an expression such as d.Computes.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
