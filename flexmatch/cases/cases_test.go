package cases_test

import (
	"os"
	"strings"
	"testing"

	"github.com/musterhq/muster/flexmatch/cases"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// Every written case must pass with the reference search.
func TestCases_Exact(t *testing.T) { runAll(t, cases.Exact) }

// Every written case must also pass with the search for many tickets, without bounds and
// with them.
func TestCases_Indexed(t *testing.T) { runAll(t, cases.Indexed(pool.Limits{})) }

func TestCases_IndexedBounded(t *testing.T) { runAll(t, cases.Indexed(pool.Limits{Exact: -1})) }

func runAll(t *testing.T, matcher cases.Matcher) {
	for _, name := range []string{"cases.json", "examples.json", "corners.json"} {
		data, err := os.ReadFile("../testdata/" + name)
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

// A case that is not understood fails, and does not prevent others from running.
func TestCases_NotUnderstood(t *testing.T) {
	const sets = `"ruleSet":{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":1}]},`
	const plays = `"tickets":[{"TicketId":"t","at":0,"Players":[{"PlayerId":"p"}]}],"passes":[0],`
	for why, text := range map[string]string{
		"unknown field \"machtes\"":          `"kind":"match",` + sets + plays + `"expect":{"machtes":[]}`,
		"unknown field \"until\"":            `"kind":"match",` + sets + plays + `"until":9,"expect":{"matches":[]}`,
		"unknown field \"teamSize\"":         `"kind":"match",` + sets + plays + `"expect":{"matches":[{"teamSize":{"a":1}}]}`,
		"kind match cannot expect \"valid\"": `"kind":"match",` + sets + plays + `"expect":{"valid":true,"matches":[]}`,
		"expect.matches is absent":           `"kind":"match",` + sets + plays + `"expect":{}`,
		"expect.value is absent":             `"kind":"eval",` + sets + `"expression":"count(teams[*])","expect":{}`,
		"expect.valid is absent":             `"kind":"validate",` + sets + `"expect":{"error":"E_TYPE"}`,
		"unknown kind \"matching\"":          `"kind":"matching",` + sets + plays + `"expect":{"matches":[]}`,
		"there is no rule set":               `"kind":"match",` + plays + `"expect":{"matches":[]}`,
		"no rule set \"none\"":               `"kind":"match","ruleSetRef":"none",` + plays + `"expect":{"matches":[]}`,
		"unknown operation \"Stop\"":         `"kind":"match",` + sets + plays + `"actions":[{"at":0,"op":"Stop","TicketId":"t"}],"expect":{"matches":[]}`,
		"unknown placement result \"LOST\"":  `"kind":"match",` + sets + plays + `"config":{"placement":{"result":"LOST"}},"expect":{"matches":[]}`,
	} {
		file, err := cases.Read([]byte(`{"schemaVersion":1,"cases":[{"id":"X-1",` + text + `},{"id":"X-2","kind":"validate",` + sets + `"expect":{"valid":true}}]}`))
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		if err := file.Cases[0].Run(cases.Exact); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: gives %v", why, err)
		}
		if err := file.Cases[1].Run(cases.Exact); file.Cases[0].ID != "X-1" || err != nil {
			t.Errorf("%s: case %s, then %v", why, file.Cases[0].ID, err)
		}
	}
}
