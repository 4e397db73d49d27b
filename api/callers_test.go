package api_test

import (
	"io/fs"
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
	form          func(operation string) *regexp.Regexp
}

// callersOf are the clients with which tests call operations.
var callersOf = []caller{
	{"", ".go", "aws-sdk-go-v2/service/gamelift", spelled(func(op string) string { return op + "Input" })},
	{"test/awscli", ".sh", "gl ", spelled(func(op string) string { return words(op, "-") })},
	{"test/boto3", ".py", "import", spelled(func(op string) string { return words(op, "_") })},
	{"test/js", ".mjs", "client-gamelift", spelled(func(op string) string { return op + "Command" })},
	{"test/terraform/testdata", ".jsonl", `"operation"`, func(op string) *regexp.Regexp { return regexp.MustCompile(`"operation": ?"` + op + `"`) }},
}

func spelled(name func(op string) string) func(string) *regexp.Regexp {
	return func(op string) *regexp.Regexp { return regexp.MustCompile(`\b` + regexp.QuoteMeta(name(op)) + `\b`) }
}

var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// words returns an operation's name in lower case with a separator between its words, as the
// AWS CLI and boto3 spell it.
func words(op, between string) string {
	return strings.ToLower(wordStart.ReplaceAllString(op, "${1}${3}"+between+"${2}${4}"))
}

func TestCallers_Words(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]string{
		"AcceptMatch": "accept-match", "DescribeEC2InstanceLimits": "describe-ec2-instance-limits", "GetPlayerConnectionDetails": "get-player-connection-details",
	} {
		if got := words(op, "-"); got != want || words(op, "_") != strings.ReplaceAll(want, "-", "_") {
			t.Errorf("%s is spelled %s, want %s", op, got, want)
		}
	}
}

// callers returns for each operation the folders of tests, below root, whose files call it
// through a client of others.
func callers(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	forms := map[*caller]map[string]*regexp.Regexp{}
	for i := range callersOf {
		c := &callersOf[i]
		forms[c] = map[string]*regexp.Regexp{}
		for _, op := range gamelift.API().Operations {
			forms[c][op.Name] = c.form(op.Name)
		}
	}
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
			for c, operations := range forms {
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
				for op, form := range operations {
					if form.Match(text) {
						found[op] = append(found[op], strings.TrimSuffix(filepath.ToSlash(filepath.Dir(name)), "/testdata"))
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for op, folders := range found {
		slices.Sort(folders)
		found[op] = slices.Compact(folders)
	}
	return found
}
