package search

import (
	"math"
	"slices"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Quota is how many players of a match may and must have a string, by rules that count those
// of each team: the loosest limits of all levels. So a set is left out before anybody is
// seated.
type Quota struct {
	Rule  int // the first rule that counts the string
	Most  int // math.MaxInt if there is no limit
	Needs int

	counted   Counted
	attribute int
	single    bool // a player has one string of the attribute
}

// Single returns the attribute that is counted, and whether no player counts for two of its
// quotas.
func (q *Quota) Single() (attribute int, single bool) { return q.attribute, q.single }

// Of returns how many players of a ticket count, those of a game session included.
func (q *Quota) Of(c *Candidate) int { return q.counted.Of(&c.Party) }

// quotasOf returns the quotas of a rule set, those of an attribute one after another.
func quotasOf(rs *ruleset.RuleSet) (out []Quota) {
	for i, rule := range rs.Level(0).Rules {
		q, ok := quotaOf(rs, i)
		if !ok || !rule.Enforced {
			continue
		}
		at := slices.IndexFunc(out, func(o Quota) bool { return o.counted.Same(&q.counted.Counts) })
		if at < 0 {
			out = append(out, q)
			continue
		}
		out[at].Most, out[at].Needs = min(out[at].Most, q.Most), max(out[at].Needs, q.Needs)
	}
	slices.SortStableFunc(out, func(a, b Quota) int { return a.attribute - b.attribute })
	return out
}

// quotaOf returns the quota of a rule. It returns false if the rule does not count one string
// at all levels.
func quotaOf(rs *ruleset.RuleSet, rule int) (q Quota, ok bool) {
	for n, level := range rs.Levels() {
		of, ok := level.Rules[rule].Counts()
		if !ok || n > 0 && !of.Same(&q.counted.Counts) {
			return Quota{}, false
		}
		c := Counted{rule, level.Rules[rule].Name, of}
		needs := c.Needed(level)
		most, limited := c.Allowed(len(rs.Instances))
		if !limited {
			most = math.MaxInt
		}
		if n == 0 {
			q = Quota{Rule: rule, Most: most, Needs: needs, counted: c}
			q.attribute, q.single = c.Attribute()
			continue
		}
		q.Most, q.Needs = max(q.Most, most), min(q.Needs, needs)
	}
	return q, true
}

// Missing returns how many more players a match needs at least for its quotas, given how many
// count for each.
func (r *Rules) Missing(has []int) (most int) {
	for i := 0; i < len(r.Quotas); {
		sum, largest, of := 0, 0, &r.Quotas[i]
		for ; i < len(r.Quotas) && r.Quotas[i].attribute == of.attribute; i++ {
			missing := max(0, r.Quotas[i].Needs-has[i])
			sum, largest = sum+missing, max(largest, missing)
		}
		if of.single { // no player counts for two
			largest = sum
		}
		most = max(most, largest)
	}
	return most
}
