package ruleset

import "math"

// RuleType is the type of a rule, spelled as in the rule set.
type RuleType string

// The types of rules (developer guide, rule types).
const (
	Comparison    RuleType = "comparison"
	Distance      RuleType = "distance"
	Collection    RuleType = "collection"
	BatchDistance RuleType = "batchDistance"
	Latency       RuleType = "latency"
	DistanceSort  RuleType = "distanceSort"
	AbsoluteSort  RuleType = "absoluteSort"
	Compound      RuleType = "compound"
)

// Operations of comparisons and collections.
const (
	Intersection               = "intersection"
	Contains                   = "contains"
	ReferenceIntersectionCount = "reference_intersection_count"
)

// Rule is one rule with the values that apply at a level. Its type determines which
// members are used.
type Rule struct {
	Name string
	Type RuleType

	// Enforced says that every match must pass the rule: it is not a sort rule, and no
	// compound names it.
	Enforced bool

	Measurements []*Expr
	Operation    string
	Reference    Reference

	Min, Max   Bound  // distances, or counts of a collection
	Party      string // how a party counts: min, max, avg; union, intersection
	PartyGiven bool   // set by the rule set, not by default

	Attribute int // of batchDistance and the sort rules

	MaxLatency Bound
	FromMin    bool // of a latency rule: distances are from the lowest latency, not the average

	Descending bool
	MapKey     string // minValue or maxValue

	Statement *Statement

	sorted AttributeType // of the attribute of a sort rule

	Traits Traits
}

// Limit returns the number that the rule compares with, for people. It is not set if the
// rule has none or computes it.
func (r *Rule) Limit() Bound {
	switch {
	case r.Type == Latency && r.MaxLatency.Set:
		return r.MaxLatency
	case r.Type == Comparison:
		return r.Reference.Number
	case r.Max.Set:
		return r.Max
	}
	return r.Min
}

// Reference is what measurements are compared with: one of its members, or nothing.
type Reference struct {
	Expr    *Expr
	Number  Bound
	Text    *string
	Strings []string
}

// given reports whether there is a reference.
func (r *Reference) given() bool {
	return r.Expr != nil || r.Number.Set || r.Text != nil || r.Strings != nil
}

// draft is a rule and its place in the tree, from which it is read again with the values
// of expansions.
type draft struct {
	rule *Rule
	at   object
	bad  bool // has errors at its declared values
}

// properties returns the properties that a rule of the type may have besides name and
// type.
func properties(t RuleType) []string {
	switch t {
	case Comparison:
		return []string{"measurements", "referenceValue", "operation", "partyAggregation"}
	case Distance:
		return []string{"measurements", "referenceValue", "minDistance", "maxDistance", "partyAggregation"}
	case Collection:
		return []string{"measurements", "referenceValue", "operation", "minCount", "maxCount", "partyAggregation"}
	case BatchDistance:
		return []string{"batchAttribute", "maxDistance", "partyAggregation"}
	case Latency:
		return []string{"maxLatency", "maxDistance", "distanceReference", "partyAggregation"}
	case DistanceSort, AbsoluteSort:
		return []string{"sortDirection", "sortAttribute", "mapKey", "partyAggregation"}
	case Compound:
		return []string{"statement"}
	}
	return nil
}

func (s *scope) rules(root object) {
	for i, item := range root.list("rules") {
		if o, ok := s.object(item, at("rules", i)); ok {
			s.declareRule(o)
		}
	}
	s.enforce()
}

func (s *scope) declareRule(o object) {
	before := len(s.errs)
	r := s.rule(o)
	d := draft{rule: r, at: o, bad: len(s.errs) > before}
	if r.Name == "" {
		return
	}
	for _, other := range s.drafts {
		if other.rule.Name == r.Name {
			o.bad("name", DuplicateRule, "there is another rule %q", r.Name)
			return
		}
	}
	s.drafts = append(s.drafts, d)
	s.rs.HasLatency = s.rs.HasLatency || r.Type == Latency
}

// rule reads a rule from its object.
func (s *scope) rule(o object) *Rule {
	r := &Rule{Name: trim(o.text("name", MissingProperty)), Attribute: -1}
	if o.get("type") == nil {
		o.bad("type", MissingProperty, "is required")
		return r
	}
	r.Type = RuleType(o.word("type", BadRuleType, string(AbsoluteSort), string(BatchDistance), string(Collection),
		string(Comparison), string(Compound), string(Distance), string(DistanceSort), string(Latency)))
	if r.Type == "" {
		return r
	}
	if s.rs.Large {
		s.largeRule(o, r)
	}
	o.only(append([]string{"name", "type"}, properties(r.Type)...)...)
	s.details(o, r)
	return r
}

func (s *scope) details(o object, r *Rule) {
	switch r.Type {
	case Comparison:
		s.comparison(o, r)
	case Distance:
		s.distance(o, r)
	case Collection:
		s.collection(o, r)
	case BatchDistance:
		s.batchDistance(o, r)
	case Latency:
		s.latency(o, r)
	case DistanceSort, AbsoluteSort:
		s.sort(o, r)
	case Compound:
		s.compound(o, r)
	}
}

// largeRule refuses rule types and properties that large matches do not support.
func (s *scope) largeRule(o object, r *Rule) {
	switch r.Type {
	case BatchDistance:
	case Latency:
		for _, name := range []string{"maxDistance", "distanceReference"} {
			if o.get(name) != nil {
				o.bad(name, LargeRule, "is not part of matches of more than %d players", MaxSmall)
			}
		}
	default:
		o.bad("type", LargeRule, "%s rules are not part of matches of more than %d players", r.Type, MaxSmall)
	}
}

// party reads partyAggregation, one of words; the first is the default.
func (s *scope) party(o object, r *Rule, words ...string) {
	r.Party = o.word("partyAggregation", BadPartyAggregation, words...)
	r.PartyGiven = o.get("partyAggregation") != nil
}

// bounds reads a minimum and a maximum.
func (s *scope) bounds(o object, r *Rule, low, high string) {
	r.Min, r.Max = o.limit(low, BadBounds), o.limit(high, BadBounds)
	if r.Min.Set && r.Max.Set && r.Min.Value > r.Max.Value {
		o.bad(low, BadBounds, "must not be above %s: %v is above %v", high, r.Min.Value, r.Max.Value)
	}
}

// attributeOf reads the name of a declared attribute and returns its index, or -1 after
// recording an error.
func (s *scope) attributeOf(o object, name string, missing Code) int {
	text := o.text(name, missing)
	if text == "" {
		return -1
	}
	index := s.rs.attribute(trim(text))
	if index < 0 {
		o.bad(name, ExprAttribute, "no attribute %q is declared", text)
	}
	return index
}

func (s *scope) batchDistance(o object, r *Rule) {
	r.Attribute = s.attributeOf(o, "batchAttribute", MissingProperty)
	r.Max = o.limit("maxDistance", BadBatchDistance)
	if r.Attribute >= 0 {
		switch s.rs.Attributes[r.Attribute].Type {
		case Number:
			if !r.Max.Set {
				o.bad("maxDistance", BadBatchDistance, "is required for a number attribute")
			}
		case String, "":
		default:
			o.bad("batchAttribute", BadBatchDistance, "must be a number or string attribute, not a %s", s.rs.Attributes[r.Attribute].Type)
		}
	}
	s.party(o, r, "avg", "min", "max")
}

func (s *scope) latency(o object, r *Rule) {
	r.MaxLatency = o.limit("maxLatency", BadLatency)
	r.Max = o.limit("maxDistance", BadLatency)
	r.FromMin = o.word("distanceReference", BadLatency, "avg", "min") == "min"
	reference := o.get("distanceReference") != nil
	switch {
	case r.Max.Set && !reference:
		o.bad("distanceReference", BadLatency, "is required with maxDistance")
	case reference && !r.Max.Set:
		o.bad("maxDistance", BadLatency, "is required with distanceReference")
	case !r.MaxLatency.Set && !r.Max.Set:
		o.bad("maxLatency", BadLatency, "maxLatency, or maxDistance with distanceReference, is required")
	}
	s.party(o, r, "avg", "min", "max")
}

func (s *scope) sort(o object, r *Rule) {
	if o.get("sortDirection") == nil {
		o.bad("sortDirection", BadSortRule, "is required: ascending or descending")
	} else {
		r.Descending = o.word("sortDirection", BadSortRule, "ascending", "descending") == "descending"
	}
	r.Attribute = s.attributeOf(o, "sortAttribute", BadSortRule)
	if o.get("mapKey") != nil {
		r.MapKey = o.word("mapKey", BadSortRule, "minValue", "maxValue")
	}
	if r.Attribute >= 0 {
		r.sorted = s.rs.Attributes[r.Attribute].Type
		s.sortable(o, r, s.rs.Attributes[r.Attribute].Type)
	}
	s.party(o, r, "avg", "min", "max")
}

func (s *scope) sortable(o object, r *Rule, t AttributeType) {
	switch t {
	case NumberMap:
		if o.get("mapKey") == nil {
			o.bad("mapKey", BadSortRule, "is required for a map: minValue or maxValue")
		}
	case StringSet:
		o.bad("sortAttribute", BadSortRule, "must not be a list")
	case String:
		if r.Type == DistanceSort {
			o.bad("sortAttribute", BadSortRule, "must be a number or a map: strings have no distance")
		}
	}
}

// within reports whether v is inside both bounds.
func within(v float64, low, high Bound) bool {
	return !math.IsNaN(v) && !(low.Set && v < low.Value) && !(high.Set && v > high.Value)
}
