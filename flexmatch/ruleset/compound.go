package ruleset

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// compounds are rules whose verdict follows from those of rules before them.
var compounds = ruleType{
	properties: []string{"statement"},
	fixed:      []string{"statement"},
	read:       readCompound,
}

type compound struct {
	plain
	statement *statement
}

// statement is an operator over statements, or the name of a rule.
type statement struct {
	operator string // and, or, not, xor; "" for a rule
	parts    []*statement
	rule     int // the rule's index, if there is no operator
}

// statementParser reads
//
//	node = operator "(" node { "," node } ")" | rule name
type statementParser struct {
	textParser
	before []draft
}

func readCompound(o *ruleObject) kind {
	k := &compound{}
	if n := o.get("statement"); n != nil && n.kind == isText && trim(n.text) == "" {
		o.bad("statement", CompoundSyntax, "must not be empty")
		return k
	}
	text := o.text("statement", MissingProperty)
	if text == "" {
		return k
	}
	p := &statementParser{textParser: textParser{text: text}, before: o.before}
	k.statement = p.node()
	if p.pos < len(text) {
		p.fail(p.pos, CompoundSyntax, "nothing may follow the statement; found %q", text[p.pos:])
	}
	bad := cmp.Or(p.bad, p.other)
	if bad != nil {
		o.failIn(o.get("statement"), bad, o.place("statement"))
	}
	return k
}

func (p *statementParser) node() *statement {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxNesting {
		p.fail(p.pos, CompoundSyntax, "more than %d operators inside each other", maxNesting)
	}
	start := p.pos
	word := trim(p.until("(),"))
	switch {
	case p.take("("):
		return p.operator(word, start)
	case word == "":
		p.fail(start, CompoundSyntax, "expected the name of a rule or an operator")
		return &statement{}
	}
	return &statement{rule: p.rule(word, start)}
}

func (p *statementParser) operator(word string, start int) *statement {
	st := &statement{operator: word}
	if !slices.Contains([]string{"and", "or", "not", "xor"}, word) {
		p.fail(start, CompoundSyntax, "%q is no operator; there are and, or, not, xor", word)
		return st
	}
	st.parts = append(st.parts, p.node())
	for p.takeNext(",") {
		st.parts = append(st.parts, p.node())
	}
	if !p.takeNext(")") {
		p.fail(p.pos, CompoundSyntax, `expected "," or ")"`)
		return st
	}
	p.blanks()
	n := len(st.parts)
	if word == "not" && n != 1 || word == "xor" && n != 2 || (word == "and" || word == "or") && n < 2 {
		p.fail(start, CompoundSyntax, "%s cannot take %d arguments: not takes 1, xor 2, and and or at least 2", word, n)
	}
	return st
}

// rule returns the index of a rule that precedes this one in the list.
func (p *statementParser) rule(name string, start int) int {
	i := slices.IndexFunc(p.before, func(d draft) bool { return d.rule.Name == name })
	if i < 0 {
		p.note(start, CompoundReference, "no rule %q stands before this one%s", name, like(name, namesOf(p.before)))
		return 0
	}
	t := p.before[i].typ
	if t != nil && t.unnamed.code != "" {
		p.note(start, t.unnamed.code, "rule %q %s", name, t.unnamed.text)
	}
	return i
}

func (k *compound) holds(l *Level, lineup *Lineup, notes Notes) bool {
	return k.statement.holds(func(i int) bool {
		held := l.Rules[i].holds(l, lineup, notes)
		if notes != nil {
			notes.Note(i, held)
		}
		return held
	})
}

// holds evaluates the tree, given the verdict on each rule.
func (st *statement) holds(rule func(int) bool) bool {
	passed := 0
	for _, part := range st.parts {
		if part.holds(rule) {
			passed++
		}
	}
	switch st.operator {
	case "and":
		return passed == len(st.parts)
	case "or":
		return passed > 0
	case "not":
		return passed == 0
	case "xor":
		return passed == 1
	}
	return rule(st.rule)
}

// traits returns the traits that all named rules have at all levels, because a level can
// change them without changing the compound. Shrinks is not set even if they all shrink,
// because a broken rule can make the compound pass.
func (k *compound) traits(rs *RuleSet) Traits {
	t := rs.independent()
	t.names = k.statement.names(nil)
	for _, i := range t.names {
		t.join(&rs.traits[i])
	}
	t.Marks = k.statement.operator == "or" && slices.ContainsFunc(k.statement.parts, func(part *statement) bool { return part.operator == "" && rs.marked(part.rule) })
	t.OnlyMarks = false // parts without marks can make it pass, and several together
	return t
}

// marked reports whether a rule of a compound has marks: those that a ticket passes alone, or that
// require equal strings.
func (rs *RuleSet) marked(rule int) bool {
	switch rs.traits[rule].Column.(type) {
	case Partition, PerTicket:
		return true
	}
	return false
}

// Marks returns a mark for each part of the statement that a party passes alone, with the string
// that must be equal if the part requires that.
func (k *compound) Marks(l *Level, p *Party) (out []string) {
	lineup := &Lineup{Teams: make([][]Member, len(l.Sizes))}
	lineup.Add(p, 0)
	for n, part := range k.statement.parts {
		if part.operator != "" {
			continue
		}
		mark := strconv.Itoa(n)
		switch column := l.Rules[part.rule].Traits.Column.(type) {
		case Partition:
			mark += "=" + p.FirstString(column.Attribute)
		case PerTicket:
		default:
			continue
		}
		if l.Holds(part.rule, lineup) {
			out = append(out, mark)
		}
	}
	return out
}

// names appends the rules that the statement names.
func (st *statement) names(list []int) []int {
	if st.operator == "" {
		return append(list, st.rule)
	}
	for _, part := range st.parts {
		list = part.names(list)
	}
	return list
}

// maxOpen is the most rules of a compound whose verdicts are tried in all combinations.
const maxOpen = 10

func (k *compound) certain(l *Level) (Verdict, string) {
	var open []int
	known, why := map[int]bool{}, "it follows from its statement"
	for _, i := range k.statement.names(nil) {
		switch v, _ := l.Certain(i); v {
		case Always, Never:
			known[i] = v == Always
			why = fmt.Sprintf("rule %s %s", l.Rules[i].Name, map[bool]string{true: "always holds", false: "never holds"}[known[i]])
		default:
			if !slices.Contains(open, i) {
				open = append(open, i)
			}
		}
	}
	if len(open) > maxOpen {
		return Open, ""
	}
	held := 0
	for n := range 1 << len(open) {
		if k.statement.holds(func(i int) bool {
			if at := slices.Index(open, i); at >= 0 {
				return n>>at&1 == 1
			}
			return known[i]
		}) {
			held++
		}
	}
	return order(held == 1<<len(open), held == 0), why
}

// cheaper splits a conjunction: rules that no compound names are enforced one by one, and so are
// all compounds. Only of latency rules must one location qualify for all that are enforced.
func (k *compound) cheaper(rs *RuleSet, l *Level) Cheaper {
	if k.statement.operator != "and" {
		return Cheaper{}
	}
	for _, i := range k.statement.names(nil) {
		others := 0
		for n, r := range l.Rules {
			if o, ok := r.kind.(*compound); ok && o != k && slices.Contains(o.statement.names(nil), i) || rs.traits[n].Located() && n != i && rs.traits[i].Located() {
				others++
			}
		}
		if others > 0 {
			return Cheaper{}
		}
	}
	if slices.ContainsFunc(k.statement.parts, func(st *statement) bool { return st.operator != "" }) {
		return Cheaper{Instead: "a compound for each part of the and that has an operator, and none for its rules, which are enforced then,", Gain: gainApart}
	}
	return Cheaper{Instead: "leaving out the compound, so that its rules are enforced one by one,", Gain: gainApart}
}

// picky is false for a compound that alternatives, or the opposite of a rule, make easy to pass.
func (k *compound) picky() bool { return k.statement.operator != "not" }

// Signs returns how a rule enters a compound, once for each time that it is named: 1 if it must
// hold so that the compound does, -1 if it must not. In an xor it is both. Of other rules the
// result is empty.
func (r *Rule) Signs(rule int) []int {
	k, ok := r.kind.(*compound)
	if !ok {
		return nil
	}
	return k.statement.signs(rule, 1, nil)
}

func (st *statement) signs(rule, sign int, out []int) []int {
	if st.operator == "" {
		if st.rule == rule {
			out = append(out, sign)
		}
		return out
	}
	for _, part := range st.parts {
		switch st.operator {
		case "not":
			out = part.signs(rule, -sign, out)
		case "xor":
			out = part.signs(rule, -sign, part.signs(rule, sign, out))
		default:
			out = part.signs(rule, sign, out)
		}
	}
	return out
}
