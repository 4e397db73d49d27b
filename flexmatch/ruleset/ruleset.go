package ruleset

import (
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
	Name       string // a label only
	Attributes []Attribute
	Teams      []Team     // as declared
	Instances  []Instance // the teams of a match: each declaration repeated by its quantity
	Algorithm  Algorithm
	Large      bool // more than 40 players at the declared sizes
	HasLatency bool // it has a latency rule, so tickets without latencies match nobody

	levels []*Level
	traits []Traits // by rule: at all levels
}

// Options change how bodies are read.
type Options struct {
	IgnoreUnknown bool // unknown properties are skipped instead of refused
}

// Parse reads and checks a body. A non-nil error is of type Errors and lists every
// problem found.
func Parse(body string) (*RuleSet, error) { return ParseWith(body, Options{}) }

// ParseWith is Parse with options.
func ParseWith(body string, opts Options) (*RuleSet, error) {
	c := &checker{text: []byte(body), ignore: opts.IgnoreUnknown}
	rs := c.ruleSet(body)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	rs.deriveTraits()
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
		c.fail(bad.at, "", JSONSyntax, "%s", bad.text)
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
	} else if n != nil {
		rs.Name = n.text
	}
	c.version(root)
	s := &scope{checker: c, rs: rs}
	s.teams(root)
	s.attributes(root)
	s.algorithm(root)
	s.rules(root)
	s.expansions(root)
	return rs
}

func (c *checker) version(root object) {
	n := root.get("ruleLanguageVersion")
	switch {
	case n == nil:
		root.bad("ruleLanguageVersion", MissingProperty, `is required: "1.0"`)
	case n.kind != isText || n.text != "1.0":
		root.bad("ruleLanguageVersion", BadVersion, `must be the string "1.0"`)
	}
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
	for i := range rs.Attributes {
		if rs.Attributes[i].Name == name {
			return i
		}
	}
	return -1
}

// Level returns the rules and sizes for a match of the given age.
func (rs *RuleSet) Level(age time.Duration) *Level { return rs.levels[rs.LevelAt(age)] }

// LevelAt returns the index of the level for a match of the given age: the number of wait
// times reached. A step applies when the age equals its wait time.
func (rs *RuleSet) LevelAt(age time.Duration) int {
	low, high := 0, len(rs.levels)-1
	for low < high {
		mid := (low + high + 1) / 2
		if rs.levels[mid].From <= age {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// Levels returns all levels; the first applies from age 0. The caller must not modify
// them.
func (rs *RuleSet) Levels() []*Level { return rs.levels }
