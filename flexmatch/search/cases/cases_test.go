package cases_test

import (
	"os"
	"testing"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/cases"
)

// Every written case must come out by the reference search.
func TestCases_Exact(t *testing.T) { runAll(t, cases.Exact) }

// And by the search for many tickets, both without bounds and with them.
func TestCases_Indexed(t *testing.T) { runAll(t, cases.Indexed(search.Limits{})) }

func TestCases_IndexedBounded(t *testing.T) { runAll(t, cases.Indexed(search.Limits{Exact: -1})) }

func runAll(t *testing.T, matcher cases.Matcher) {
	for _, name := range []string{"cases.json", "examples.json"} {
		data, err := os.ReadFile("../../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := cases.Read(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(file.Cases) == 0 {
			t.Fatalf("%s holds no case", name)
		}
		for _, c := range file.Cases {
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				if err := c.Run(matcher); err != nil {
					t.Errorf("%s: %v", c.Title, err)
				}
			})
		}
	}
}
