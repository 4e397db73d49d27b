package backend

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/backend/protocol"
)

// Every operation that is described is served, with the access it says, and the
// other way round.
func TestRoutes_AreTheDescription(t *testing.T) {
	t.Parallel()
	var d struct {
		Paths map[string]map[string]yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(protocol.Description, &d); err != nil {
		t.Fatal(err)
	}
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
	names := map[access]string{open: "open", players: "player", operator: "operator"}
	for _, rt := range (&Backend{}).routes() {
		served = append(served, rt.pattern()+" "+names[rt.access])
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("(-described +served):\n%s", diff)
	}
}

// Each code that is refused with has a status.
func TestProblems_HaveAStatus(t *testing.T) {
	t.Parallel()
	for code, status := range statuses {
		if status < 400 || status > 599 {
			t.Errorf("%s: %d", code, status)
		}
	}
	if p := refuse("no-such-code", ""); p.status != 0 {
		t.Errorf("an unknown code has the status %d", p.status)
	}
}
