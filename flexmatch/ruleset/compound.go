package ruleset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Statement is a compound rule's tree: an operator over statements, or the name
// of an earlier rule.
type Statement struct {
	Operator string // and, or, not, xor; "" for a rule
	Parts    []*Statement
	Rule     int // the rule's index, if there is no operator
}

// statementParser reads
//
//	node = operator "(" node { "," node } ")" | rule name
type statementParser struct {
	s     *scope
	text  string
	pos   int
	depth int

	bad  *exprError // the first syntax error
	vain *exprError // the first name that a statement cannot contain
}

func (s *scope) compound(o object, r *Rule) {
	if n := o.get("statement"); n != nil && n.kind == isText && trim(n.text) == "" {
		o.bad("statement", CompoundSyntax, "must not be empty")
		return
	}
	text := o.text("statement", MissingProperty)
	if text == "" {
		return
	}
	p := &statementParser{s: s, text: text}
	r.Statement = p.node()
	if p.pos < len(text) {
		p.fail(p.pos, CompoundSyntax, "nothing may follow the statement; found %q", text[p.pos:])
	}
	if bad := cmp.Or(p.bad, p.vain); bad != nil {
		s.failIn(o.get("statement"), bad, o.place("statement"))
	}
}

// fail records the first syntax error and ends parsing.
func (p *statementParser) fail(at int, code Code, format string, args ...any) {
	if p.bad == nil {
		p.bad = &exprError{at: at, code: code, text: fmt.Sprintf(format, args...)}
	}
	p.pos = len(p.text)
}

// doubt records the first error that is not one of syntax. Parsing continues.
func (p *statementParser) doubt(at int, code Code, format string, args ...any) {
	if p.vain == nil {
		p.vain = &exprError{at: at, code: code, text: fmt.Sprintf(format, args...)}
	}
}

func (p *statementParser) node() *Statement {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.pos, CompoundSyntax, "more than %d operators inside each other", maxNesting)
	}
	defer func() { p.depth-- }()
	start, length := p.pos, strings.IndexAny(p.text[p.pos:], "(),")
	if length < 0 {
		length = len(p.text) - p.pos
	}
	word := strings.TrimSpace(p.text[start : start+length])
	p.pos += length
	switch {
	case p.take("("):
		return p.operator(word, start)
	case word == "":
		p.fail(start, CompoundSyntax, "expected the name of a rule or an operator")
		return &Statement{}
	}
	return &Statement{Rule: p.rule(word, start)}
}

func (p *statementParser) operator(word string, start int) *Statement {
	st := &Statement{Operator: word}
	if !slices.Contains([]string{"and", "or", "not", "xor"}, word) {
		p.fail(start, CompoundSyntax, "%q is no operator; there are and, or, not, xor", word)
		return st
	}
	st.Parts = append(st.Parts, p.node())
	for p.take(",") {
		st.Parts = append(st.Parts, p.node())
	}
	if !p.take(")") {
		p.fail(p.pos, CompoundSyntax, `expected "," or ")"`)
		return st
	}
	p.blanks()
	n := len(st.Parts)
	if word == "not" && n != 1 || word == "xor" && n != 2 || (word == "and" || word == "or") && n < 2 {
		p.fail(start, CompoundSyntax, "%s cannot take %d arguments: not takes 1, xor 2, and and or at least 2", word, n)
	}
	return st
}

// rule returns the index of a rule that precedes this one in the list.
func (p *statementParser) rule(name string, start int) int {
	for i, d := range p.s.drafts {
		if d.rule.Name != name {
			continue
		}
		switch d.rule.Type {
		case BatchDistance:
			p.doubt(start, CompoundBatch, "rule %q is a batchDistance, which compounds cannot name", name)
		case DistanceSort, AbsoluteSort:
			p.doubt(start, CompoundReference, "rule %q sorts and cannot pass or fail", name)
		}
		return i
	}
	p.doubt(start, CompoundReference, "no rule %q stands before this one", name)
	return 0
}

func (p *statementParser) take(s string) bool {
	p.blanks()
	if !strings.HasPrefix(p.text[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *statementParser) blanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// enforce marks the rules that every match must pass: compounds, and the rules
// that no compound names.
func (s *scope) enforce() {
	named := make([]bool, len(s.drafts))
	for _, d := range s.drafts {
		if d.rule.Statement != nil {
			d.rule.Statement.mark(named)
		}
	}
	for i, d := range s.drafts {
		sorts := d.rule.Type == DistanceSort || d.rule.Type == AbsoluteSort
		d.rule.Enforced = d.rule.Type == Compound || !named[i] && !sorts
	}
}

func (st *Statement) mark(named []bool) {
	if st.Operator == "" && st.Rule < len(named) {
		named[st.Rule] = true
	}
	for _, part := range st.Parts {
		part.mark(named)
	}
}

// holds evaluates the tree, given the verdict on each rule.
func (st *Statement) holds(rule func(int) bool) bool {
	passed := 0
	for _, part := range st.Parts {
		if part.holds(rule) {
			passed++
		}
	}
	switch st.Operator {
	case "and":
		return passed == len(st.Parts)
	case "or":
		return passed > 0
	case "not":
		return passed == 0
	case "xor":
		return passed == 1
	}
	return rule(st.Rule)
}
