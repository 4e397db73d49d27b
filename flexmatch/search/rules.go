package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Rules is a rule set with the options of a configuration. It lists the enforced rules by
// how early a search can judge them.
type Rules struct {
	Set     *ruleset.RuleSet
	Options Options
	Least   int // the fewest players in a match at any age
	Most    int // the most

	Equal     []int       // string attributes that must be equal for all players
	Shrinking []int       // rules that stay broken as the match grows
	Flat      []int       // rules that do not depend on who is in which team
	Teams     []int       // the other rules
	Counts    [][]Counted // by level: those of both about how many players of a team have a string
	Quotas    []Quota

	balanced  []balanced    // by level
	counted   [][]Counted   // by level: those of Teams about counts
	uncounted [][]int       // by level: the others of Teams
	symmetric bool          // no rule distinguishes teams of equal sizes
	reads     ruleset.Reads // what all rules depend on
	teamReads ruleset.Reads // what those of Teams depend on
}

// RulesOf classifies the rules of a rule set.
func RulesOf(rs *ruleset.RuleSet, opts Options) *Rules {
	r := &Rules{Set: rs, Options: opts, Least: math.MaxInt, symmetric: true}
	for i, rule := range rs.Level(0).Rules {
		if !rule.Enforced {
			continue
		}
		traits := rs.Traits(i)
		if traits.Flat {
			r.Flat = append(r.Flat, i)
		} else {
			r.Teams = append(r.Teams, i)
			r.symmetric = r.symmetric && traits.Symmetric
		}
		if equal, ok := traits.Column.(ruleset.Partition); ok {
			r.Equal = append(r.Equal, equal.Attribute)
		}
		if traits.Shrinks {
			r.Shrinking = append(r.Shrinking, i)
		}
	}
	r.Quotas = quotasOf(rs)
	r.reads, r.teamReads = rs.Reads(append(r.Flat[:len(r.Flat):len(r.Flat)], r.Teams...)), rs.Reads(r.Teams)
	for _, l := range rs.Levels() {
		r.Least, r.Most = min(r.Least, l.Least()), max(r.Most, l.Capacity())
		r.Counts = append(r.Counts, CountsAt(l))
		r.balanced = append(r.balanced, balancedAt(rs, l, r.Teams))
		counts, others := countedAt(l, r.Teams)
		r.counted, r.uncounted = append(r.counted, counts), append(r.uncounted, others)
	}
	return r
}

// Apart reports whether all rules about teams at a level are about counts, or among some given
// ones, and teams need not be even.
func (r *Rules) Apart(level int, given []int) bool {
	return r.Set.Algorithm.Strategy != ruleset.Balanced && !slices.ContainsFunc(r.uncounted[level], func(i int) bool { return !slices.Contains(given, i) })
}

// Partition joins the ticket's values that must be equal in a match. It returns false if
// its players differ in them.
func (r *Rules) Partition(c *Candidate) (key string, ok bool) {
	parts := make([]string, 0, 4)
	for _, attribute := range r.Equal {
		first := c.Party.FirstString(attribute)
		for i := range c.Party.Players {
			if c.Party.Players[i].Values[attribute].String != first {
				return "", false
			}
		}
		parts = append(parts, first)
	}
	return strings.Join(parts, "\x00"), true
}

// Alike returns a number for each candidate, equal for those that no enforced rule
// distinguishes at a time.
func (r *Rules) Alike(candidates []*Candidate, now time.Time) []int {
	return r.alike(candidates, &r.reads, now)
}

// alike returns a number for each candidate, equal for those that are equal in everything
// read. Of their ages only the level matters. Game sessions are told apart only if players of a
// candidate are in one.
func (r *Rules) alike(candidates []*Candidate, reads *ruleset.Reads, now time.Time) []int {
	out, seen := make([]int, len(candidates)), map[string]int{}
	apart := slices.ContainsFunc(candidates, func(c *Candidate) bool { return len(c.Ticket.PlaysIn) > 0 })
	for i, c := range candidates {
		key := signature(c, c.LevelAt(r.Set, now), reads)
		if apart {
			key += fmt.Sprintf("%q %q", c.Ticket.Session, c.Ticket.PlaysIn)
		}
		n, ok := seen[key]
		if !ok {
			n = len(seen)
			seen[key] = n
		}
		out[i] = n
	}
	return out
}

func signature(c *Candidate, level int, reads *ruleset.Reads) string {
	var b strings.Builder
	fmt.Fprint(&b, level, c.Ticket.Backfill, c.Teams, c.Most)
	for i := range c.Party.Players {
		p := &c.Party.Players[i]
		b.WriteByte('|')
		for n, read := range reads.Attributes {
			if read {
				fmt.Fprintf(&b, "%#v ", p.Values[n])
			}
		}
		if reads.Latency {
			fmt.Fprint(&b, p.Latency)
		}
		if reads.IDs {
			fmt.Fprintf(&b, "%q", p.ID)
		}
	}
	return b.String()
}

// Judge judges sets of candidates by the rules at a time. It counts the verdicts and
// reuses memory, so each goroutine needs its own.
type Judge struct {
	Rules *Rules
	Now   time.Time
	Tally Tally

	lineups lineups
}

// NewJudge returns a judge that has counted nothing yet.
func NewJudge(rules *Rules) *Judge {
	return &Judge{Rules: rules, Tally: make(Tally, len(rules.Set.Level(0).Rules))}
}

// LevelOf returns the index of the level that applies to a match of a set.
func (j *Judge) LevelOf(set []*Candidate) int {
	return j.Rules.Set.LevelAt(Age(j.Rules.Set, set, j.Now))
}

// Keeps reports whether a set passes rules that do not depend on teams at one of the
// levels from low to high.
func (j *Judge) Keeps(set []*Candidate, rules []int, low, high int) bool {
	l := j.lineups.together(j.Rules.Set, set)
	for _, level := range j.Rules.Set.Levels()[low : high+1] {
		if level.Keeps(rules, l, &j.Tally) {
			return true
		}
	}
	return false
}

// Form returns the match of a set in its teams, or nil if the definition refuses it.
func (j *Judge) Form(set []*Candidate, teams []int, level int) *Match {
	m := newMatch(set, teams, level)
	var err error
	if m.Locations, err = verify(j.Rules.Set, j.Rules.Options, m.candidates, m.Teams, j.Now, &j.lineups); err != nil {
		return nil
	}
	return m
}
