package ruleset

import (
	"maps"
	"slices"
	"strings"
)

// Rule is one rule with the values that apply at a level.
type Rule struct {
	Name string
	Type string // as in the rule set

	// Enforced says that every match must pass the rule: it is not a sort rule, and no
	// compound names it.
	Enforced bool

	Traits Traits // at this level

	At Position

	kind
}

// Measured is the number that a rule compares with its limit. It shows by how much a
// lineup passes or fails.
type Measured struct {
	Value   float64 // the lineup's worst
	Limit   float64
	AtLeast bool // Value must be at least Limit, else at most
}

// Breaks reports whether the value is beyond the limit. A rule with two limits can be
// broken even if Breaks returns false, because Measured has only one of them.
func (m Measured) Breaks() bool {
	return m.AtLeast && m.Value < m.Limit || !m.AtLeast && m.Value > m.Limit
}

// ruleType is a type of rules (developer guide, rule types). Each has a file of its own,
// with the kind that its read function returns.
type ruleType struct {
	properties []string               // that a rule may have besides name and type
	fixed      []string               // of these, the ones that expansions cannot change
	large      []string               // of these, the ones that large matches support; nil if they do not support the type
	unnamed    textError              // why compounds cannot name such a rule; without code if they can
	read       func(*ruleObject) kind // reads a rule and records its errors
}

// ruleTypes is the table of all types, by their names in rule sets.
var ruleTypes = map[string]*ruleType{
	"absoluteSort":  &absoluteSort,
	"batchDistance": &batchDistances,
	"collection":    &collections,
	"comparison":    &comparisons,
	"compound":      &compounds,
	"distance":      &distances,
	"distanceSort":  &distanceSort,
	"latency":       &latencies,
}

// kind is a rule as its type reads it. A new kind embeds plain and defines holds, which
// makes it correct. Each other method that it defines makes searches faster or explanations
// better.
type kind interface {
	// holds reports whether a complete match passes. It is the definition, with which
	// every other method must agree.
	holds(l *Level, lineup *Lineup, notes Notes) bool
	// traits returns what a search may rely on.
	traits(rs *RuleSet) Traits
	// qualifies judges a match at a location, if the rule is located.
	qualifies(location string, lineup *Lineup) bool
	// order returns the number that orders parties, ascending, relative to an anchor, if
	// the rule sorts.
	order(anchor *Party) func(*Party) float64

	// Measured returns the rule's number for a lineup, and false if it has none, as when
	// it compares strings.
	Measured(lineup *Lineup) (Measured, bool)
	// Limit returns the number that the rule compares with. It is not set if the rule has
	// none or computes it from the lineup.
	Limit() Bound

	// Possible reports whether a lineup with number attributes in the given ranges and
	// teams of the level's sizes could pass. False is certain; true means only that the
	// ranges do not rule it out.
	Possible(l *Level, ranges []Range) bool
	// Averages returns the limit that the rule sets on averages of teams, and false if it
	// sets none.
	Averages() (Averages, bool)
	// Counts returns the limit that the rule sets on how many players of a team have a
	// string, and false if it sets none.
	Counts() (Counts, bool)
	// Marks returns the marks of a party, at a level, if the rule has the trait Marks.
	Marks(l *Level, p *Party) []string
	// cheaper returns a form of the same meaning that a search can use earlier, if it can judge this
	// one only on whole matches.
	cheaper(rs *RuleSet, l *Level) Cheaper
	// picky reports whether it may be that few matches pass which the other rules allow, if a search
	// judges the rule on whole matches only.
	picky() bool
	// rising returns 1 if a greater value of a property allows fewer matches, -1 if it allows more,
	// and 0 if neither is certain.
	rising(property string) int
	// values returns the values of an attribute that each player of a team must have, and false if
	// the rule does not limit them one by one.
	values(attribute, team int) (Values, bool)
	// certain returns the verdict on all matches of a level, and why, if it is known without their
	// players.
	certain(l *Level) (Verdict, string)
	// Total is like Counts for a limit on how many players of the match have a string.
	Total() (Counts, bool)
}

// plain is a kind that promises nothing.
type plain struct{}

func (plain) traits(*RuleSet) Traits            { return Traits{} }
func (plain) qualifies(string, *Lineup) bool    { return false }
func (plain) order(*Party) func(*Party) float64 { return nil }
func (plain) Measured(*Lineup) (Measured, bool) { return Measured{}, false }
func (plain) Limit() Bound                      { return Bound{} }
func (plain) Possible(*Level, []Range) bool     { return true }
func (plain) Averages() (Averages, bool)        { return Averages{}, false }
func (plain) Counts() (Counts, bool)            { return Counts{}, false }
func (plain) Total() (Counts, bool)             { return Counts{}, false }
func (plain) Marks(*Level, *Party) []string     { return nil }
func (plain) cheaper(*RuleSet, *Level) Cheaper  { return Cheaper{} }
func (plain) picky() bool                       { return true }
func (plain) values(int, int) (Values, bool)    { return Values{}, false }
func (plain) certain(*Level) (Verdict, string)  { return Open, "" }

func (plain) rising(property string) int {
	switch {
	case strings.HasPrefix(property, "min"):
		return 1
	case strings.HasPrefix(property, "max"):
		return -1
	}
	return 0
}

// draft is a rule and its place in the tree, from which it is read again with the values
// of expansions.
type draft struct {
	rule *Rule
	typ  *ruleType // nil if it is unknown
	at   object
	bad  bool // has errors at its declared values
}

func (s *scope) rules(root object) {
	for i, item := range root.list("rules") {
		o, ok := s.object(item, at("rules", i))
		if !ok {
			continue
		}
		before := len(s.errs)
		r := s.rule(o)
		switch {
		case r.Name == "":
		case slices.ContainsFunc(s.drafts, func(d draft) bool { return d.rule.Name == r.Name }):
			o.bad("name", DuplicateRule, "there is another rule %q", r.Name)
		default:
			r.At = o.here()
			s.drafts = append(s.drafts, draft{rule: r, typ: ruleTypes[r.Type], at: o, bad: len(s.errs) > before})
		}
	}
}

func (s *scope) rule(o object) *Rule {
	r := &Rule{Name: trim(o.text("name", MissingProperty))}
	if o.get("type") == nil {
		o.bad("type", MissingProperty, "is required")
		return r
	}
	r.Type = o.word("type", BadRuleType, slices.Sorted(maps.Keys(ruleTypes))...)
	t := ruleTypes[r.Type]
	if t == nil {
		return r
	}
	if s.rs.Large {
		t.checkLarge(o, r.Type)
	}
	o.only(append([]string{"name", "type"}, t.properties...)...)
	r.kind = t.read(&ruleObject{object: o, rs: s.rs, before: s.drafts})
	return r
}

// checkLarge refuses types and properties that large matches do not support.
func (t *ruleType) checkLarge(o object, name string) {
	if t.large == nil {
		o.bad("type", LargeRule, "%s rules are not part of matches of more than %d players", name, MaxSmall)
		return
	}
	for _, p := range t.properties {
		if o.get(p) != nil && !slices.Contains(t.large, p) {
			o.bad(p, LargeRule, "is not part of matches of more than %d players", MaxSmall)
		}
	}
}

// expandable returns the properties that may change: all but those that identify a rule
// or select what it measures.
func (t *ruleType) expandable() []string {
	return slices.DeleteFunc(slices.Clone(t.properties), func(p string) bool { return slices.Contains(t.fixed, p) })
}

// ruleObject is the object of one rule, with what the rule may refer to.
type ruleObject struct {
	object
	rs     *RuleSet
	before []draft // the rules before it
}

// aggregation reads partyAggregation, one of words; the first is the default.
func (o *ruleObject) aggregation(words ...string) string {
	return o.word("partyAggregation", BadPartyAggregation, words...)
}

func (o *ruleObject) bounds(low, high string) (least, most Bound) {
	least, most = o.limit(low, BadBounds), o.limit(high, BadBounds)
	if least.Set && most.Set && least.Value > most.Value {
		o.bad(low, BadBounds, "must not be above %s: %v is above %v", high, least.Value, most.Value)
	}
	return least, most
}

// attribute reads the name of a declared attribute and returns its index and type, or -1
// after recording an error.
func (o *ruleObject) attribute(name string, missing Code) (int, AttributeType) {
	text := o.text(name, missing)
	if text == "" {
		return -1, ""
	}
	index := o.rs.attribute(trim(text))
	if index < 0 {
		o.bad(name, ExprAttribute, "no attribute %q is declared%s", text, like(trim(text), o.rs.attributeNames()))
		return -1, ""
	}
	return index, o.rs.Attributes[index].Type
}
