package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Only tests and their kit know feature levels that no release has.
func TestLevels_ExtendedByTestsOnly(t *testing.T) {
	extended := 0
	for _, folder := range folders(t) {
		files, err := filepath.Glob(filepath.Join(root(t), folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && isCallOf(call, "feature", "Extend") {
					extended++
					if !strings.HasSuffix(name, "_test.go") && folder != "internal/store/storetest" {
						t.Errorf("%s calls feature.Extend, which is for tests", name)
					}
				}
				return true
			})
		}
	}
	if extended == 0 {
		t.Error("no test extends the levels: their mechanism is not proved")
	}
}
