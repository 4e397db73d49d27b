package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// supported are what docs/support.md names, by the modules that the tests use.
var supported = map[string]string{
	"github.com/aws/aws-sdk-go-v2/service/gamelift":                       "AWS SDK for Go 2",
	"@aws-sdk/client-gamelift":                                            "AWS SDK for JavaScript 3",
	"github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5": "AWS's Server SDK for Go",
	"modernc.org/sqlite":                                                  "SQLite",
	"k8s.io/kubernetes":                                                   "Kubernetes",
}

// The versions in docs/support.md are those that the tests are built with.
func TestDocuments_SupportedVersions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "support.md"))
	if err != nil {
		t.Fatal(err)
	}
	required := requirements(t)
	for module, name := range supported {
		version := strings.TrimPrefix(required[module], "v")
		if version == "" {
			t.Errorf("nothing requires %s any more, which docs/support.md calls %s", module, name)
		} else if row := "\n| " + name + " | " + version + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/support.md has no row %q; the sources require %s %s", row[1:], module, version)
		}
	}
}

// requirement is a line of a go.mod that requires a module.
var requirement = regexp.MustCompile(`(?m)^\t?(?:require )?([a-z0-9./-]+\.[a-z0-9./-]+) (v[0-9][^ \n]*)`)

// requirements returns the versions of modules and packages that tests use.
func requirements(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range []string{"kubernetes/programs/go.mod", "test/serversdk/go.mod", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = m[2]
		}
	}
	text, err := os.ReadFile(filepath.Join(root(t), "test", "js", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var npm struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &npm); err != nil {
		t.Fatal(err)
	}
	for name, version := range npm.Dependencies {
		all[name] = strings.TrimPrefix(version, "^")
	}
	return all
}
