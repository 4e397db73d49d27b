package api_test

import (
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

	"github.com/musterhq/muster/gamelift"
)

// caller recognizes the operations that one kind of file calls.
type caller struct {
	under, suffix string // of the file's path
	needs         string // what its text contains if it calls operations at all
	calls         func(t *testing.T, text string) func(operation string) bool
}

// callersOf are the clients with which tests call operations.
var callersOf = []caller{
	{"", ".go", "aws-sdk-go-v2/service/gamelift", goCalls},
	{"test/awscli", ".sh", "gl ", spelled("#", func(op string) string { return words(op, "-") })},
	{"test/boto3", ".py", "import", spelled("#", func(op string) string { return words(op, "_") })},
	{"test/js", ".mjs", "client-gamelift", spelled("//", func(op string) string { return op + "Command" })},
	{"test/terraform/testdata", ".jsonl", `"operation"`, spelled("", func(op string) string { return `"operation": "` + op + `"` })},
}

// spelled recognizes an operation by a word outside of comments, which begin with a mark.
func spelled(comment string, name func(op string) string) func(*testing.T, string) func(string) bool {
	return func(_ *testing.T, text string) func(string) bool {
		var code strings.Builder
		for line := range strings.Lines(text) {
			if comment == "" || !strings.HasPrefix(strings.TrimSpace(line), comment) {
				code.WriteString(line)
			}
		}
		said := code.String()
		return func(op string) bool {
			word := regexp.QuoteMeta(name(op))
			if comment != "" {
				word = `\b` + word + `\b`
			} else {
				word = strings.Replace(word, ": ", ": ?", 1)
			}
			return regexp.MustCompile(word).MatchString(said)
		}
	}
}

// goCalls recognizes the operations for which a file makes a request of AWS's client for Go; a
// type that is only named makes none.
func goCalls(t *testing.T, text string) func(string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, is := n.(*ast.CompositeLit)
		if !is {
			return true
		}
		if name, is := literal.Type.(*ast.SelectorExpr); is {
			made[name.Sel.Name] = true
		}
		return true
	})
	return func(op string) bool { return made[op+"Input"] }
}

var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// words returns an operation's name in lower case with a separator between its words, as the
// AWS CLI and boto3 spell it.
func words(op, between string) string {
	return strings.ToLower(wordStart.ReplaceAllString(op, "${1}${3}"+between+"${2}${4}"))
}

// callers returns for each operation the folders of tests, below root, whose files call it
// through a client of others, each as a link from docs to one of these files: the one to which
// the document links, as long as that is true, and else the first.
func callers(t *testing.T, root, document string) map[string][]string {
	t.Helper()
	chosen := map[string]map[string]string{} // the file, by operation and folder
	for _, top := range []string{"app", "test"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if strings.Contains(filepath.ToSlash(path), "test/load/") { // measures, and does not check
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			for _, c := range callersOf {
				if !strings.HasPrefix(name, c.under) || !strings.HasSuffix(name, c.suffix) {
					continue
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				if !strings.Contains(string(text), c.needs) {
					continue
				}
				calls := c.calls(t, string(text))
				folder := strings.TrimSuffix(filepath.ToSlash(filepath.Dir(name)), "/testdata")
				for _, op := range gamelift.API().Operations {
					if !calls(op.Name) {
						continue
					}
					if chosen[op.Name] == nil {
						chosen[op.Name] = map[string]string{}
					}
					if chosen[op.Name][folder] == "" || inRow(document, op.Name, "](../"+name+")") { // files come in their order
						chosen[op.Name][folder] = name
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := map[string][]string{}
	for op, files := range chosen {
		for _, folder := range slices.Sorted(maps.Keys(files)) {
			found[op] = append(found[op], "["+folder+"](../"+files[folder]+")")
		}
	}
	return found
}

// inRow reports whether a document has a text in the row of an operation.
func inRow(document, op, text string) bool {
	_, row, _ := strings.Cut(document, "\n| "+op+" | ")
	row, _, _ = strings.Cut(row, "\n")
	return strings.Contains(row, text)
}

// Requests count; names in comments and types of parameters do not.
func TestCallers_OnlyCalls(t *testing.T) {
	t.Parallel()
	calls := goCalls(t, `package p
import "github.com/aws/aws-sdk-go-v2/service/gamelift"
// DeleteFleetInput is made elsewhere: &gamelift.DeleteFleetInput{}.
func f(in *gamelift.CreateFleetInput) { c.ListFleets(ctx, &gamelift.ListFleetsInput{}) }`)
	if !calls("ListFleets") || calls("CreateFleet") || calls("DeleteFleet") {
		t.Error("what a Go file calls is not what is made in it")
	}
	calls = callersOf[1].calls(t, "gl create-fleet --name x\n# gl delete-fleet\ngl list-fleets\n")
	if !calls("CreateFleet") || !calls("ListFleets") || calls("DeleteFleet") || calls("ListFleet") {
		t.Error("what a script calls is not what is typed in it")
	}
}
