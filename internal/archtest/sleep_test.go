package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"testing"
)

// sleeps lists the tests' files that call time.Sleep, or only receive from time.After, how often,
// and why nothing else will do.
// The list only ever gets shorter; wait.For, wait.Pass and channels are how tests wait.
var sleeps = map[string]struct {
	calls int
	why   string
}{
	"agent/engine/outage_test.go":          {1, "the time between a line of dockerd's log and a kill is what varies"},
	"agent/supervise/puppet_test.go":       {1, "TestMain looks for goroutines that are left, which end without a sign"},
	"sdk/gameserver/server_test.go":        {1, "virtual time; the module has no internal/wait"},
	"sdk/session/async/async_test.go":      {1, "virtual time; the module has no internal/wait"},
	"sdk/session/poller_test.go":           {1, "virtual time; the module has no internal/wait"},
	"test/console/size_test.go":            {2, "the length of a measurement"},
	"test/guides/pictures_test.go":         {2, "what a picture shows takes that long"},
	"test/load/placement_test.go":          {1, "requests have planned times"},
	"test/load/workload_test.go":           {1, "requests have planned times"},
	"test/placement/network_linux_test.go": {1, "a network has a delay"},
	"test/placement/wire_test.go":          {1, "a network has a delay"},
	"test/scenario/kill_test.go":           {1, "the moment of a kill is what varies"},
	"test/scenario/matchmaking_test.go":    {1, "players go on for a while before a kill"},
	"test/scenario/outage_test.go":         {2, "an outage has a length, and requests have planned times"},
	"test/scenario/regions_test.go":        {1, "a disturbance has a length"},
}

func TestSleeps(t *testing.T) {
	found := map[string]int{}
	for _, folder := range folders(t) {
		files, err := filepath.Glob(filepath.Join(root(t), folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if n := sleepsOf(t, file); n > 0 {
				found[path.Join(folder, filepath.Base(file))] = n
			}
		}
	}
	for file, n := range found {
		if allowed := sleeps[file].calls; n > allowed {
			t.Errorf("%s sleeps %d times, and may %d times: wait by internal/wait", file, n, allowed)
		}
	}
	for file, allowed := range sleeps {
		if n := found[file]; n < allowed.calls {
			t.Errorf("%s sleeps %d times: let the list say so, not %d", file, n, allowed.calls)
		}
	}
}

// sleepsOf returns how many times a file sleeps.
func sleepsOf(t *testing.T, name string) (n int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[*ast.ExprStmt]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if isCallOf(node, "time", "Sleep") {
				n++
			}
		case *ast.CommClause: // there time.After is a limit
			if limit, ok := node.Comm.(*ast.ExprStmt); ok {
				limits[limit] = true
			}
		case *ast.ExprStmt:
			if limits[node] {
				return true
			}
			if receive, ok := node.X.(*ast.UnaryExpr); ok && receive.Op == token.ARROW && isCallOf(receive.X, "time", "After") {
				n++
			}
		}
		return true
	})
	return n
}

// isCallOf reports whether an expression calls a function of a package.
func isCallOf(e ast.Expr, pkg, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg
}
