package backend

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/internal/refusal"
)

// Every operation in the description is served with the access it states, and every
// route is described.
func TestRoutes_AreTheDescription(t *testing.T) {
	t.Parallel()
	var d struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	read(t, Description, &d)
	var described, served []string
	for path, operations := range d.Paths {
		for method, operation := range operations {
			if method == "parameters" {
				continue
			}
			var o struct {
				Security *[]map[string][]string `yaml:"security"`
			}
			if err := operation.Decode(&o); err != nil {
				t.Fatal(err)
			}
			who := "player"
			if o.Security != nil {
				who = "open"
				for _, s := range *o.Security {
					for scheme := range s {
						who = scheme
					}
				}
			}
			described = append(described, strings.ToUpper(method)+" "+path+" "+who)
		}
	}
	names := map[who]string{anybody: "open", anyPage: "open", player: "player", operator: "operator"}
	for _, rt := range (&Backend{}).routes() {
		served = append(served, rt.pattern()+" "+names[rt.access.who])
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("(-described +served):\n%s", diff)
	}
}

// The codes of problems that the description lists, with their status, are all there are.
func TestProblems_AreTheDescription(t *testing.T) {
	t.Parallel()
	var d struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Codes map[refusal.Code]int `yaml:"x-codes"`
				}
			}
		}
	}
	read(t, Description, &d)
	if diff := cmp.Diff(d.Components.Schemas["Problem"].Properties["code"].Codes, statuses); diff != "" {
		t.Errorf("(-described +refused):\n%s", diff)
	}
}

// Each code that occurs in the sources of this package or in identity's or lobby's refusals has a
// status.
func TestProblems_HaveAStatus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	coded := regexp.MustCompile(`(?:refuse|limited)\("([a-z-]+)"|Code = "([a-z-]+)"`)
	found := map[refusal.Code]bool{}
	for _, file := range append(files, "../identity/refusal.go", "../lobby/refusal.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range coded.FindAllStringSubmatch(string(text), -1) {
			code := refusal.Code(m[1] + m[2])
			found[code] = true
			if status := statuses[code]; status < 400 || status > 599 {
				t.Errorf("%s: %s has the status %d", file, code, status)
			}
		}
	}
	for code := range statuses {
		if !found[code] {
			t.Errorf("%s is refused with nowhere", code)
		}
	}
}
