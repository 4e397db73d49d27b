package large_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/large"
)

// The developer guide says how teams fill: first 10 for each Hunters team, then two for
// each team, then Monsters, then Hunters.
func TestLarge_TeamsFillAsTheGuideTells(t *testing.T) {
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":5}],
"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
"teams":[{"name":"Hunters","minPlayers":12,"maxPlayers":15,"quantity":10},{"name":"Monsters","minPlayers":5,"maxPlayers":5}]}`)
	for n, want := range map[int][]int{124: nil, 125: {12, 5}, 135: {13, 5}, 155: {15, 5}} {
		matches := large.Pass(rs, search.Options{}, solos(n), time.Unix(1, 0))
		var got []int
		if len(matches) == 1 {
			sizes := make([]int, len(rs.Instances))
			for _, team := range matches[0].Teams {
				sizes[team]++
			}
			got = []int{sizes[0], sizes[10]}
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%d players: Hunters and Monsters %v, want %v", n, got, want)
		}
	}
}

func ruleSet(t *testing.T, body string) *ruleset.RuleSet {
	t.Helper()
	rs, err := ruleset.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// solos returns n tickets of one player each, in order of age.
func solos(n int) []*search.Ticket {
	var out []*search.Ticket
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		out = append(out, &search.Ticket{ID: id, Created: time.Unix(0, 0), Arrival: uint64(i), Players: []search.Player{{ID: id}}})
	}
	return out
}
