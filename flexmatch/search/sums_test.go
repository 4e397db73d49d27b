package search

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Teams of equal sums are found among many different numbers without judging every set
// and every split of it. No two teams of 18 powers of two have equal sums; with a number
// that is the sum of two others, some do.
func TestPass_EqualSums(t *testing.T) {
	rs, err := ruleset.Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
"teams":[{"name":"red","minPlayers":1,"maxPlayers":9},{"name":"blue","minPlayers":1,"maxPlayers":9}],
"rules":[{"name":"Equal","type":"comparison","measurements":["sum(teams[red].players.attributes[skill])"],"operation":"=","referenceValue":"sum(teams[blue].players.attributes[skill])"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var powers []float64
	for n := range 18 {
		powers = append(powers, float64(int(1)<<n))
	}
	for _, c := range []struct {
		skills []float64
		want   []string // ids of the only match
	}{{powers, nil}, {append(slices.Clone(powers[:17]), 40), []string{"8", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "40"}}} {
		r := newReference(rs, Options{}, time.Unix(1, 0))
		var tickets []*Ticket
		for i, skill := range c.skills {
			id := fmt.Sprint(skill)
			tickets = append(tickets, &Ticket{ID: id, Created: time.Unix(0, 0), Arrival: uint64(i), Players: []Player{{ID: id, Attributes: map[string]ruleset.Given{
				"skill": {Type: ruleset.Number, Value: ruleset.Value{Number: skill}},
			}}}})
		}
		var got []string
		for _, m := range r.pass(tickets) {
			for _, k := range m.Tickets {
				got = append(got, k.ID)
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if judged := r.judge.Tally[0].passed + r.judge.Tally[0].failed; !slices.Equal(got, c.want) || judged > 10 {
			t.Errorf("formed %v after judging %d times; want %v", got, judged, c.want)
		}
	}
}
