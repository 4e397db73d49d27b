package ruleset_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// FuzzParse checks that the parser terminates, that errors have a code and a position
// inside the body, and that a valid rule set can be evaluated.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("../testdata/cases.json")
	if err != nil {
		f.Fatal(err)
	}
	var file struct {
		Cases []struct{ RuleSet json.RawMessage }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		f.Fatal(err)
	}
	for _, c := range file.Cases {
		if len(c.RuleSet) > 0 {
			f.Add(string(c.RuleSet))
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		rs, err := ruleset.Parse(body)
		var errs ruleset.Errors
		if errors.As(err, &errs) {
			for _, e := range errs {
				if e.Code == "" || e.Line < 1 || e.Column < 1 || e.Message == "" {
					t.Fatalf("error %+v", e)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		judge(rs)
	})
}

// FuzzExpression does the same for expressions.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{"teams[red].players", "avg(flatten(teams[*].players.attributes[skill]))", "count (team[a,b].players)",
		"set_intersection(flatten(teams[*].players.attributes[modes]))", "teams[ red ].players[ playerid ]", "teams[*].players.attributes[w][k]", "min(", "teams[]"} {
		f.Add(seed)
	}
	rs, err := ruleset.Parse(with(`"rules":[]`))
	if err != nil {
		f.Fatal(err)
	}
	party := &ruleset.Party{Players: []ruleset.Player{{ID: "p", Values: make([]ruleset.Value, 4)}}}
	l := &ruleset.Lineup{Parties: []*ruleset.Party{party}, Teams: [][]ruleset.Member{{{Party: party}}, nil}}
	f.Fuzz(func(t *testing.T, expression string) {
		if v, err := rs.Evaluate(expression, l); err != nil && v != nil {
			t.Fatalf("%q gives %v and %v", expression, v, err)
		}
	})
}

// judge evaluates an empty match and one of one player at every level.
func judge(rs *ruleset.RuleSet) {
	party := &ruleset.Party{Players: []ruleset.Player{{ID: "p", Values: make([]ruleset.Value, len(rs.Attributes))}}}
	empty := &ruleset.Lineup{Teams: make([][]ruleset.Member, len(rs.Instances))}
	one := &ruleset.Lineup{Parties: []*ruleset.Party{party}, Teams: make([][]ruleset.Member, len(rs.Instances))}
	one.Teams[0] = []ruleset.Member{{Party: party}}
	for i, level := range rs.Levels() {
		if i > 20 {
			break
		}
		level.Judge(empty)
		level.Judge(one)
	}
	for i := range rs.Level(0).Rules {
		rs.Reads([]int{i})
	}
}
