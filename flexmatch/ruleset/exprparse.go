package ruleset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// exprError is an error in an expression.
type exprError struct {
	at   int // byte offset in the expression
	code Code
	text string
}

// maxNesting limits how deeply functions nest. No useful expression comes near it.
const maxNesting = 64

// exprParser reads one expression from left to right.
type exprParser struct {
	rs    *RuleSet
	text  string
	pos   int
	depth int

	bad  *exprError // the first syntax error
	vain *exprError // the first thing that is not declared or has the wrong type
}

// functions lists the functions of the language.
var functions = []function{fnMin, fnMax, fnAvg, fnMedian, fnSum, fnCount, fnStddev, fnFlatten, fnIntersection}

// isExpression reports whether a string is meant as an expression: it begins with teams[,
// team[ or a word and a parenthesis. Only a word of the language may be followed by
// space: "hard (ranked)" is a plain string.
func isExpression(s string) bool {
	p := &exprParser{text: s}
	p.blanks()
	word := p.word()
	if word == "teams" || word == "team" {
		p.blanks()
		return p.has("[")
	}
	if slices.Contains(functions, function(word)) {
		p.blanks()
	}
	return word != "" && p.has("(")
}

// parseExpr parses an expression and checks its types. Of several errors it returns the
// syntax error, if there is one.
func (rs *RuleSet) parseExpr(text string) (*Expr, *exprError) {
	p := &exprParser{rs: rs, text: text}
	e := p.expression()
	if p.pos < len(text) {
		p.fail(ExprSyntax, "nothing may follow the expression; found %q", text[p.pos:])
	}
	e.Text = text
	return e, cmp.Or(p.bad, p.vain)
}

// fail records the first syntax error and moves to the end of the text, so that nothing
// more is read.
func (p *exprParser) fail(code Code, format string, args ...any) {
	if p.bad == nil {
		p.bad = &exprError{at: p.pos, code: code, text: fmt.Sprintf(format, args...)}
	}
	p.pos = len(p.text)
}

// doubt records the first error that is not one of syntax. Parsing continues.
func (p *exprParser) doubt(at int, code Code, format string, args ...any) {
	if p.vain == nil {
		p.vain = &exprError{at: at, code: code, text: fmt.Sprintf(format, args...)}
	}
}

func (p *exprParser) expression() *Expr {
	if p.depth++; p.depth > maxNesting {
		p.fail(ExprSyntax, "more than %d functions inside each other", maxNesting)
	}
	p.blanks()
	start := p.pos
	word := p.word()
	e := &Expr{}
	switch {
	case word == "teams" || word == "team":
		e = p.path()
	case slices.Contains(functions, function(word)):
		e = p.call(function(word), start)
	default:
		p.pos = start
		p.fail(ExprSyntax, "expected teams[…] or a function: min, max, avg, median, sum, count, stddev, flatten, set_intersection")
	}
	p.blanks()
	return e
}

func (p *exprParser) call(f function, start int) *Expr {
	p.blanks()
	p.expect("(")
	e := &Expr{function: f, argument: p.expression()}
	p.expect(")")
	typ, lacks := f.apply(e.argument.typ)
	if lacks != "" {
		p.doubt(start, ExprType, "%s takes %s, not %s", f, lacks, e.argument.typ)
	}
	e.typ = typ
	return e
}

func (p *exprParser) path() *Expr {
	p.blanks()
	p.expect("[")
	e := &Expr{part: partTeams, typ: exprType{base: teams}}
	p.teams(e)
	if !p.take(".players") {
		return e
	}
	e.part, e.typ.base, e.typ.depth = partPlayers, players, e.typ.depth+1
	switch {
	case p.take("["):
		p.playerID(e)
	case p.take(".attributes["):
		p.attribute(e)
	}
	return e
}

// teams reads names up to the closing bracket and finds their instances.
func (p *exprParser) teams(e *Expr) {
	var chosen []bool
	names := 0
	for {
		start := p.pos
		name := p.name()
		if name == "*" && names == 0 {
			chosen = append(chosen[:0], slices.Repeat([]bool{true}, len(p.rs.Instances))...)
			names = 2 // always a list
		} else {
			found := p.find(name, start)
			chosen = either(chosen, found)
			names += min(2, count(found))
		}
		if !p.take(",") {
			break
		}
		if names++; name == "*" {
			p.fail(ExprSyntax, "* stands alone")
		}
	}
	p.expect("]")
	for i, in := range chosen {
		if in {
			e.instances = append(e.instances, i)
		}
	}
	if names > 1 {
		e.typ.depth = 1
	}
}

// find returns, by instance, which teams a name means: one team, or all instances of a
// declaration with a quantity.
func (p *exprParser) find(name string, start int) []bool {
	out := make([]bool, len(p.rs.Instances))
	team := p.rs.team(name)
	any := team >= 0
	for i, instance := range p.rs.Instances {
		out[i] = instance.Name == name || instance.Team == team
		any = any || out[i]
	}
	if !any {
		p.doubt(start, ExprTeam, "no team %q is declared", name)
	}
	return out
}

func either(a, b []bool) []bool {
	for i := range a {
		b[i] = b[i] || a[i]
	}
	return b
}

func count(set []bool) int {
	n := 0
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

func (p *exprParser) playerID(e *Expr) {
	start := p.pos
	if name := p.name(); name != "playerId" && name != "playerid" {
		p.pos = start
		p.fail(ExprSyntax, "expected playerId, found %q", name)
	}
	p.expect("]")
	e.part, e.typ.base = partIDs, strs
}

func (p *exprParser) attribute(e *Expr) {
	start := p.pos
	name := p.name()
	e.part, e.attribute = partAttribute, p.rs.attribute(name)
	p.expect("]")
	if e.typ.base = unknown; e.attribute < 0 {
		p.doubt(start, ExprAttribute, "no attribute %q is declared", name)
	} else {
		e.typ = e.typ.of(p.rs.Attributes[e.attribute].Type)
	}
	if start = p.pos; p.take("[") {
		p.mapKey(e, start)
	}
}

// of returns the type that results when the players in t are replaced by an attribute.
func (t exprType) of(a AttributeType) exprType {
	switch a {
	case Number:
		t.base = numbers
	case String:
		t.base = strs
	case StringSet:
		return exprType{base: strs, depth: t.depth + 1, set: true}
	case NumberMap:
		t.base = mapped
	}
	return t
}

func (p *exprParser) mapKey(e *Expr, start int) {
	e.key, e.hasKey = p.name(), true
	p.expect("]")
	switch e.typ.base {
	case mapped:
		e.typ.base = numbers
	case unknown:
	default:
		p.doubt(start, ExprType, "only maps have keys")
	}
}

func (p *exprParser) blanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// word reads letters, underscores and, after the first character, digits.
func (p *exprParser) word() string {
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || p.pos > start && c >= '0' && c <= '9') {
			break
		}
		p.pos++
	}
	return p.text[start:p.pos]
}

// name reads up to a bracket, a comma or a line end, and trims space.
func (p *exprParser) name() string {
	length := strings.IndexAny(p.text[p.pos:], "[],\r\n")
	if length < 0 {
		length = len(p.text) - p.pos
	}
	name := strings.TrimSpace(p.text[p.pos : p.pos+length])
	if name == "" {
		p.fail(ExprSyntax, "expected a name")
	}
	p.pos += length
	return name
}

func (p *exprParser) has(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

func (p *exprParser) take(s string) bool {
	if !p.has(s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *exprParser) expect(s string) {
	if !p.take(s) {
		found := "the end"
		if p.pos < len(p.text) {
			found = fmt.Sprintf("%q", p.text[p.pos:])
		}
		p.fail(ExprSyntax, "expected %q, found %s", s, found)
	}
}
