package ruleset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/nearest"
)

// textError is an error in the text of the body, of an expression or of a statement.
type textError struct {
	at   int // byte offset
	code Code
	text string
}

// maxNesting limits how deeply functions nest. Useful expressions nest far less.
const maxNesting = 64

type textParser struct {
	text  string
	pos   int
	depth int

	bad   *textError // the first syntax error
	other *textError // the first other error: a name that is not declared, or not allowed there
}

// fail records the first syntax error and moves to the end of the text, so that nothing
// more is read.
func (p *textParser) fail(at int, code Code, format string, args ...any) {
	if p.bad == nil {
		p.bad = &textError{at: at, code: code, text: fmt.Sprintf(format, args...)}
	}
	p.pos = len(p.text)
}

// note records the first error that is not one of syntax. Parsing continues.
func (p *textParser) note(at int, code Code, format string, args ...any) {
	if p.other == nil {
		p.other = &textError{at: at, code: code, text: fmt.Sprintf(format, args...)}
	}
}

func (p *textParser) blanks() {
	p.pos = len(p.text) - len(strings.TrimLeft(p.text[p.pos:], " \t\r\n"))
}

func (p *textParser) has(s string) bool { return strings.HasPrefix(p.text[p.pos:], s) }

func (p *textParser) take(s string) bool {
	if !p.has(s) {
		return false
	}
	p.pos += len(s)
	return true
}

// takeNext is like take, after blanks.
func (p *textParser) takeNext(s string) bool {
	p.blanks()
	return p.take(s)
}

// until reads up to one of some characters or the end.
func (p *textParser) until(chars string) string {
	length := strings.IndexAny(p.text[p.pos:], chars)
	if length < 0 {
		length = len(p.text) - p.pos
	}
	p.pos += length
	return p.text[p.pos-length : p.pos]
}

type exprParser struct {
	textParser
	rs *RuleSet
}

// functions lists the functions of the language.
var functions = []function{fnMin, fnMax, fnAvg, fnMedian, fnSum, fnCount, fnStddev, fnFlatten, fnIntersection}

// isExpression reports whether a string is meant as an expression: it begins with teams[,
// team[ or a word and a parenthesis. Only a word of the language may be followed by
// space: "hard (ranked)" is a plain string.
func isExpression(s string) bool {
	p := &exprParser{textParser: textParser{text: s}}
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
func (rs *RuleSet) parseExpr(text string) (*Expr, *textError) {
	p := &exprParser{textParser: textParser{text: text}, rs: rs}
	e := p.expression()
	if p.pos < len(text) {
		p.fail(p.pos, ExprSyntax, "nothing may follow the expression; found %q", text[p.pos:])
	}
	return e, cmp.Or(p.bad, p.other)
}

func (p *exprParser) expression() *Expr {
	p.depth++
	if p.depth > maxNesting {
		p.fail(p.pos, ExprSyntax, "more than %d functions inside each other", maxNesting)
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
		names := []string{"teams"}
		for _, f := range functions {
			names = append(names, string(f))
		}
		p.fail(start, ExprSyntax, "expected teams[…] or a function: min, max, avg, median, sum, count, stddev, flatten, set_intersection%s", nearest.DidYouMean(word, names))
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
		p.note(start, ExprType, "%s takes %s, not %s", f, lacks, e.argument.typ)
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

// teams reads names up to the closing bracket and finds their instances. A name means one
// team of the match, or all those of a declaration.
func (p *exprParser) teams(e *Expr) {
	chosen, many := make([]bool, len(p.rs.Instances)), false
	for first := true; ; first = false {
		start := p.pos
		name := p.name()
		all, team, found := first && name == "*", p.rs.team(name), 0
		for i, instance := range p.rs.Instances {
			if all || instance.Name == name || instance.Team == team {
				chosen[i] = true
				found++
			}
		}
		if found == 0 && team < 0 && !all {
			p.note(start, ExprTeam, "no team %q is declared%s", name, like(name, p.rs.teamNames()))
		}
		many = many || all || found > 1
		if !p.take(",") {
			break
		}
		many = true
		if name == "*" {
			p.fail(p.pos, ExprSyntax, "* stands alone")
		}
	}
	p.expect("]")
	for i, in := range chosen {
		if in {
			e.instances = append(e.instances, i)
		}
	}
	if many {
		e.typ.depth = 1
	}
}

func (p *exprParser) playerID(e *Expr) {
	start := p.pos
	if name := p.name(); name != "playerId" && name != "playerid" {
		p.fail(start, ExprSyntax, "expected playerId, found %q", name)
	}
	p.expect("]")
	e.part, e.typ.base = partIDs, strs
}

func (p *exprParser) attribute(e *Expr) {
	start := p.pos
	name := p.name()
	e.part, e.attribute = partAttribute, p.rs.attribute(name)
	p.expect("]")
	e.typ.base = unknown
	if e.attribute < 0 {
		p.note(start, ExprAttribute, "no attribute %q is declared%s", name, like(name, p.rs.attributeNames()))
	} else {
		e.typ = e.typ.of(p.rs.Attributes[e.attribute].Type)
	}
	key := p.pos
	if p.take("[") {
		p.mapKey(e, key)
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
	if e.typ.base == mapped {
		e.typ.base = numbers
	} else if e.typ.base != unknown {
		p.note(start, ExprType, "only maps have keys")
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
	start := p.pos
	name := trim(p.until("[],\r\n"))
	if name == "" {
		p.fail(start, ExprSyntax, "expected a name")
	}
	return name
}

func (p *exprParser) expect(s string) {
	if !p.take(s) {
		found := "the end"
		if p.pos < len(p.text) {
			found = fmt.Sprintf("%q", p.text[p.pos:])
		}
		p.fail(p.pos, ExprSyntax, "expected %q, found %s", s, found)
	}
}
