package pool_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
)

// Where states count only what rules need, players who are older but of whom rules allow few do not
// keep those out with whom teams can be filled: neither in a complete search nor in a crowd.
func TestPool_LimitsOutsideStates(t *testing.T) {
	rules, separator := "", ""
	for _, limited := range []string{"tank", "healer"} {
		rules += fmt.Sprintf(`%s{"name":"%s","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":%[2]q,"minCount":2,"maxCount":6}`, separator, limited)
		separator = ","
	}
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"role","type":"string"},{"name":"lane","type":"string","default":"top"}],
		"teams":[{"name":"t","minPlayers":16,"maxPlayers":20,"quantity":2}],
		"rules":[`+rules+`,{"name":"top","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[lane]"],"referenceValue":"top","minCount":2}]}`)
	for _, exact := range []int{40, -1} {
		p := pool.New(rs, search.Options{}, pool.Limits{Exact: exact})
		n := 0
		add := func(roles ...string) {
			ticket := &search.Ticket{ID: fmt.Sprint("t", n), Created: second(1), Arrival: uint64(n)}
			for i, role := range roles {
				ticket.Players = append(ticket.Players, search.Player{ID: fmt.Sprint(n, "-", i),
					Attributes: map[string]ruleset.Given{"role": {Type: ruleset.String, Value: ruleset.Value{String: role}}}})
			}
			n++
			p.Add(ticket)
		}
		for range 12 {
			add("tank")
		}
		for range 8 {
			add("tank", "healer", "damage", "damage")
		}
		players := 0
		passes(p, second(1), func(m *search.Match) { players += m.NewPlayers() })
		if players < 32 {
			t.Errorf("with Exact %d, %d players are matched, want at least 32", exact, players)
		}
	}
}
