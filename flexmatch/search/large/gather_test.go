package large_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/large"
)

// A young ticket, to which smaller teams apply, does not end the gathering of older ones.
func TestPass_YoungTicketNear(t *testing.T) {
	t.Parallel()
	rs := ruleSet(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},
		"teams":[{"name":"A","minPlayers":20,"maxPlayers":25},{"name":"B","minPlayers":20,"maxPlayers":25}],
		"expansions":[{"target":"teams[A].maxPlayers","steps":[{"waitTimeSeconds":10,"value":50}]},
			{"target":"teams[B].maxPlayers","steps":[{"waitTimeSeconds":10,"value":50}]}]}`)
	var tickets []*search.Ticket
	add := func(n int, created int64, skill float64) {
		for range n {
			id := fmt.Sprint("ticket-", len(tickets))
			given := ruleset.Given{Type: ruleset.Number, Value: ruleset.Value{Number: skill}}
			tickets = append(tickets, &search.Ticket{
				ID: id, Created: time.Unix(created, 0), Arrival: uint64(len(tickets)),
				Players: []search.Player{{ID: id, Attributes: map[string]ruleset.Given{"skill": given}}},
			})
		}
	}
	add(60, 0, 5)
	add(20, 0, 6)
	add(1, 19, 5.5) // nearer than the last 20
	matches := large.Pass(rs, search.Options{}, tickets, time.Unix(20, 0))
	if len(matches) != 1 || len(matches[0].Teams) != 80 {
		t.Errorf("%d matches, want one of 80 tickets: %v", len(matches), matches)
	}
}
