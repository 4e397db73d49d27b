package ruleset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// A misspelled name is refused with the one that was likely meant.
func TestParse_SuggestsNames(t *testing.T) {
	t.Parallel()
	const right = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
"teams":[{"name":"red","minPlayers":1,"maxPlayers":2,"quantity":2}],"rules":[{"name":"Even","type":"distance","measurements":["avg(teams[red_1].players.attributes[skill])"],"referenceValue":0,"maxDistance":5},
{"name":"Either","type":"compound","statement":"not(Even)"},{"name":"Close","type":"batchDistance","batchAttribute":"skill","maxDistance":1}],
"expansions":[{"target":"rules[Close].maxDistance","steps":[{"waitTimeSeconds":1,"value":2}]},{"target":"teams[red].minPlayers","steps":[{"waitTimeSeconds":1,"value":0}]}]}`
	if _, err := ruleset.Parse(right); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ right, wrong, want string }{
		{"attributes[skill]", "attributes[skil]", `no attribute "skil" is declared (did you mean "skill"?)`},
		{"teams[red_1]", "teams[rd_1]", `no team "rd_1" is declared (did you mean "red_1"?)`},
		{"avg(teams", "avgg(teams", `set_intersection (did you mean "avg"?)`},
		{`"batchAttribute":"skill"`, `"batchAttribute":"skil"`, `no attribute "skil" is declared (did you mean "skill"?)`},
		{`"balancedAttribute":"skill"`, `"balancedAttribut":"skill"`, `is not a property here (did you mean "balancedAttribute"?)`},
		{`"balanced"`, `"balancd"`, `(did you mean "balanced"?)`},
		{"not(Even)", "not(Evn)", `no rule "Evn" stands before this one (did you mean "Even"?)`},
		{"rules[Close]", "rules[Clos]", `no rule "Clos" is declared (did you mean "Close"?)`},
		{"teams[red].minPlayers", "teams[rd].minPlayers", `no team "rd" is declared (did you mean "red"?)`},
		{"teams[red].minPlayers", "teams[zebra].minPlayers", `no team "zebra" is declared`},
	} {
		_, err := ruleset.Parse(strings.Replace(right, c.right, c.wrong, 1))
		var all ruleset.Errors
		if !errors.As(err, &all) || !strings.HasSuffix(all[0].Message, c.want) && !strings.Contains(all[0].Message, c.want+";") {
			t.Errorf("%s: %v; want %s", c.wrong, err, c.want)
		}
	}
}
