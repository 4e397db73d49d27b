package ruleset

import (
	"slices"
	"sort"
	"time"
	"unicode/utf8"
)

// MaxBody is the greatest length of a body in characters (API reference,
// CreateMatchmakingRuleSet).
const MaxBody = 65535

// Sizes of matches (developer guide, FlexMatch rule set components).
const (
	MaxSmall = 40  // the most players in a match that is not large
	MaxLarge = 200 // the most players in any match
)

// RuleSet is a checked and compiled rule set.
type RuleSet struct {
	Attributes []Attribute
	Teams      []Team     // as declared
	Instances  []Instance // the teams of a match: each declaration repeated by its quantity
	Algorithm  Algorithm
	Large      bool // more than 40 players at the declared sizes
	HasLatency bool // it has a latency rule, so tickets without latencies match nobody

	Steps []Step // of expansions, one for each rule or team that a step changes

	levels []*Level
	traits []Traits // by rule: at all levels
}

// Parse reads and checks a body. A non-nil error is of type Errors and lists every
// problem found.
func Parse(body string) (*RuleSet, error) {
	c := &checker{text: []byte(body)}
	rs := c.ruleSet(body)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	rs.finish()
	return rs, nil
}

// ruleSet runs the stages in the order in which errors are reported.
func (c *checker) ruleSet(body string) *RuleSet {
	if n := utf8.RuneCountInString(body); n > MaxBody {
		c.fail(0, "", BodyTooLarge, "the body has %d characters; at most %d are allowed", n, MaxBody)
		return nil
	}
	root, bad := readJSON(blankComments(c.text))
	if bad != nil {
		c.fail(bad.at, "", bad.code, "%s", bad.text)
		return nil
	}
	if root.kind != isObject {
		c.fail(root.at, "", JSONSyntax, "the body must be one JSON object, not %s", root.kind)
		return nil
	}
	return c.sections(object{checker: c, node: root})
}

func (c *checker) sections(root object) *RuleSet {
	rs := &RuleSet{}
	root.only("name", "ruleLanguageVersion", "playerAttributes", "algorithm", "teams", "rules", "expansions")
	if n := root.get("name"); n != nil && n.kind != isText {
		root.bad("name", WrongType, "must be a string, not %s", n.kind)
	}
	version := root.get("ruleLanguageVersion")
	if version == nil {
		root.bad("ruleLanguageVersion", MissingProperty, `is required: "1.0"`)
	} else if version.kind != isText || version.text != "1.0" {
		root.bad("ruleLanguageVersion", BadVersion, `must be the string "1.0"`)
	}
	s := &scope{checker: c, rs: rs}
	s.teams(root)
	s.attributes(root)
	s.algorithm(root)
	s.rules(root)
	s.expansions(root)
	return rs
}

// scope is what later stages use from earlier ones.
type scope struct {
	*checker
	rs     *RuleSet
	sized  bool    // the teams have no error
	drafts []draft // the rules that could be read, in order
}

// attribute returns the index of a declared attribute, or -1.
func (rs *RuleSet) attribute(name string) int {
	return slices.IndexFunc(rs.Attributes, func(x Attribute) bool { return x.Name == name })
}

// attributeNames returns the names of the declared attributes.
func (rs *RuleSet) attributeNames() (names []string) {
	for _, a := range rs.Attributes {
		names = append(names, a.Name)
	}
	return names
}

// teamNames returns the names by which expressions know teams.
func (rs *RuleSet) teamNames() (names []string) {
	for _, t := range rs.Teams {
		names = append(names, t.Name)
	}
	for _, i := range rs.Instances {
		names = append(names, i.Name)
	}
	return names
}

// Level returns the rules and sizes for a match of the given age.
func (rs *RuleSet) Level(age time.Duration) *Level { return rs.levels[rs.LevelAt(age)] }

// LevelAt returns the index of the level for a match of the given age: the number of wait
// times reached. A step applies when the age equals its wait time.
func (rs *RuleSet) LevelAt(age time.Duration) int {
	later := sort.Search(len(rs.levels), func(i int) bool { return rs.levels[i].From > age })
	return max(0, later-1)
}

// Levels returns all levels; the first applies from age 0. The caller must not modify
// them.
func (rs *RuleSet) Levels() []*Level { return rs.levels }
