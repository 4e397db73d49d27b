package ruleset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Cheaper is a form of a rule that a search can use before it has a whole match.
type Cheaper struct {
	Instead string // what to write in place of the rule: it means the same; "" if there is nothing
	Besides string // else, what to write besides it: it follows from the rule
	Gain    string // what that was measured to gain
}

// Gains of cheaper forms, for two teams of five at 1,800 tickets a minute (docs/flexmatch-rules.md,
// "What is expensive").
const (
	gainWindow   = "97 % of the players matched in place of 2 %, with 1/60 of the processor time"
	gainEach     = "86 % of the players matched in place of 2 %, with 1/27 of the processor time"
	gainSpread   = "99 % of the players matched in place of 6 %, with 1/6 of the processor time"
	gainEqual    = "1/50 of the processor time"
	gainMarks    = "99 % of the players matched in place of 6 %, with 1/60 of the processor time"
	gainCommon   = "1/4 of the processor time"
	gainCounts   = "97 % of the players matched in place of 9 %, with 1/25 of the processor time"
	gainApart    = "88 % of the players matched in place of 3 %, with 1/70 of the processor time"
	gainAverages = "half of the processor time"
)

// Cheaper returns a cheaper form of a rule at a level, as the rule language has it.
func (rs *RuleSet) Cheaper(rule int, l *Level) Cheaper { return l.Rules[rule].cheaper(rs, l) }

// render returns an expression as the rule language has it.
func (rs *RuleSet) render(e *Expr) string {
	if e.function != "" {
		return fmt.Sprintf("%s(%s)", e.function, rs.render(e.argument))
	}
	names := "*"
	if len(e.instances) < len(rs.Instances) {
		names = strings.Join(each(e.instances, func(i int) string { return rs.Instances[i].Name }), ",")
	}
	out := "teams[" + names + "]"
	switch e.part {
	case partPlayers:
		out += ".players"
	case partIDs:
		out += ".players[playerId]"
	case partAttribute:
		out += ".players.attributes[" + rs.Attributes[e.attribute].Name + "]"
	}
	if e.hasKey {
		out += "[" + e.key + "]"
	}
	return out
}

// ofAll reports whether an expression lists one number or string of each player of the match.
func (rs *RuleSet) ofAll(e *Expr) bool {
	return e.listsPlayers() && e.leaf().part == partAttribute && !e.leaf().hasKey && len(e.leaf().instances) == len(rs.Instances)
}

// batch returns a batchDistance on the attribute of an expression as a phrase.
func (rs *RuleSet) batch(e *Expr, limit float64, party string) string {
	text := fmt.Sprintf("a batchDistance on %s with maxDistance %v", rs.Attributes[e.leaf().attribute].Name, limit)
	if cmp.Or(party, "avg") != "avg" {
		text += " and partyAggregation " + party
	}
	return text
}

// forEach is the cheaper form of a rule with several measurements each of which a search can use
// alone.
func (m *measures) forEach(known func(measures) bool, gain string) Cheaper {
	if len(m.measurements) < 2 || slices.ContainsFunc(m.measurements, func(e *Expr) bool {
		one := *m
		one.measurements = []*Expr{e}
		return !known(one)
	}) {
		return Cheaper{}
	}
	return Cheaper{Instead: "a rule for each of the measurements", Gain: gain}
}

// fixed returns how many players each team of a level has, and false unless that is one number.
func (l *Level) fixed() (int, bool) {
	n := l.Sizes[0].Max
	return n, !slices.ContainsFunc(l.Sizes, func(s Size) bool { return s.Min != n || s.Max != n })
}

// roundedUp returns a limit that is no smaller, with few digits.
func roundedUp(v float64) float64 { return math.Ceil(v*100) / 100 }

// Picky reports whether it may be that few of the matches pass a rule which the other rules allow.
func (r *Rule) Picky() bool { return r.picky() }

// Rising returns 1 if a greater value of a property of a rule allows fewer matches, -1 if it allows
// more, and 0 if neither is certain.
func (r *Rule) Rising(property string) int { return r.rising(property) }
