package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/search"
	"github.com/musterhq/muster/flexmatch/search/pool"
	"github.com/musterhq/muster/internal/plain"
)

// expensive finds what a search in a crowd cannot use.
func (c *checked) expensive() {
	rules, levels := pool.Blind(c.rs)
	first := c.rs.Levels()[0]
	late := false
	for _, i := range rules {
		name := "rules[" + first.Rules[i].Name + "]"
		if c.said(Impossible, name) || c.said(Idle, name) {
			continue
		}
		instead := c.rs.Cheaper(i, first)
		gain := ""
		if instead.Gain != "" {
			gain = " (measured with two teams of five: " + instead.Gain + ")"
		}
		switch {
		case first.Rules[i].Traits.Located():
			if !late {
				c.rule(Expensive, i, "the rule set has %d levels, and with more than %d the search does not know which locations are allowed at which: players are tried set by set (measured for steps of maxLatency: over 100 times the processor time a ticket). Use fewer wait times: expansions may share them", len(c.rs.Levels()), pool.MaxLocated)
			}
			late = true
		case instead.Instead != "":
			c.rule(Expensive, i, "it is judged only on whole matches, of which few pass where many tickets wait. %s means the same, and is searched for directly%s", capital(instead.Instead), gain)
		case instead.Besides != "":
			c.rule(Expensive, i, "it is judged only on whole matches, of which few pass where many tickets wait. Write %s besides: it follows from this rule, so the meaning stays, and it is searched for directly%s", instead.Besides, gain)
		case first.Rules[i].Picky():
			c.rule(Expensive, i, "it is judged only on whole matches: where many tickets wait and few matches pass it, players are left unmatched, and a ticket takes 0.4 to 3 ms of processor time in place of 20 to 100 µs (measured for such rules); try it with 'muster simulate'")
		}
	}
	if len(levels) > 0 {
		c.states(levels)
	}
}

func capital(text string) string {
	return string(text[0]-'a'+'A') + text[1:]
}

// states says that there are too many ways to fill the teams.
func (c *checked) states(levels []int) {
	l := c.rs.Levels()[levels[0]]
	var names []string
	rule := -1
	for _, of := range search.AllCountsAt(l) {
		if rule = max(rule, of.Number); !slices.Contains(names, of.Name) {
			names = append(names, of.Name)
		}
	}
	when := ""
	if levels[0] > 0 {
		when = fmt.Sprintf(" from %s on", l.From.Round(time.Millisecond))
	}
	what := "rule " + names[0]
	if len(names) > 1 {
		what = "rules " + strings.Join(names, ", ")
	}
	c.rule(Expensive, rule, "with the %s, %s can be filled in more than %d ways%s, so players are chosen without regard to the last of them: where many tickets wait, that leaves players unmatched. Fewer or smaller limits help",
		what, plain.Count(len(l.Sizes), "team"), pool.MaxStates, when)
}
