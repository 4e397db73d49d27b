package filter

// maxDepth is how deep parentheses and NOT may nest.
const maxDepth = 64

// parser parses tokens by recursive descent. Methods that parse a part return false after
// a syntax error, which ends parsing.
type parser struct {
	tokens []token
	next   int
	depth  int
	errs   *problems
}

func (p *parser) peek() token { return p.tokens[p.next] }

// advance returns the next token and moves past it, but never past the end.
func (p *parser) advance() token {
	t := p.tokens[p.next]
	if t.kind != tokenEnd {
		p.next++
	}
	return t
}

func (p *parser) expected(what string) {
	t := p.peek()
	p.errs.add(t.at, "expected %s, found %s", what, t.describe())
}

func (p *parser) or() (expr, bool) {
	first, ok := p.and()
	if !ok || !p.peek().is("OR") {
		return first, ok
	}
	parts := flattenOr(nil, first)
	for p.peek().is("OR") {
		p.advance()
		part, ok := p.and()
		if !ok {
			return nil, false
		}
		parts = flattenOr(parts, part)
	}
	return parts, true
}

func flattenOr(parts or, part expr) or {
	if inner, ok := part.(or); ok {
		return append(parts, inner...)
	}
	return append(parts, part)
}

func (p *parser) and() (expr, bool) {
	first, ok := p.not()
	if !ok || !p.peek().is("AND") {
		return first, ok
	}
	parts := flattenAnd(nil, first)
	for p.peek().is("AND") {
		p.advance()
		part, ok := p.not()
		if !ok {
			return nil, false
		}
		parts = flattenAnd(parts, part)
	}
	return parts, true
}

func flattenAnd(parts and, part expr) and {
	if inner, ok := part.(and); ok {
		return append(parts, inner...)
	}
	return append(parts, part)
}

func (p *parser) not() (expr, bool) {
	if !p.peek().is("NOT") {
		return p.primary()
	}
	if !p.enter() {
		return nil, false
	}
	defer p.leave()
	p.advance()
	part, ok := p.not()
	return not{part}, ok
}

func (p *parser) primary() (expr, bool) {
	if p.peek().kind != tokenOpen {
		return p.comparison()
	}
	if !p.enter() {
		return nil, false
	}
	defer p.leave()
	p.advance()
	inner, ok := p.or()
	if !ok {
		return nil, false
	}
	if p.peek().kind != tokenClose {
		p.expected(`"AND", "OR" or ")"`)
		return nil, false
	}
	p.advance()
	return inner, true
}

func (p *parser) enter() bool {
	if p.depth == maxDepth {
		p.errs.add(p.peek().at, "parentheses and NOT nest at most %d deep", maxDepth)
		return false
	}
	p.depth++
	return true
}

func (p *parser) leave() { p.depth-- }

// comparison parses attribute, comparator and value. A wrong name or type is recorded and
// parsing continues; the result is then not used.
func (p *parser) comparison() (expr, bool) {
	named, ok := p.attribute()
	if !ok {
		return nil, false
	}
	if p.peek().kind != tokenComparator {
		p.expected("a comparator (=, <>, <, >, <=, >=)")
		return nil, false
	}
	op := p.advance()
	value := p.peek()
	if value.valueKind() == "" {
		p.expected("a number, true, false or a quoted string")
		return nil, false
	}
	p.advance()
	if named.kind == "" {
		return and{}, true
	}
	if !named.allows(op.text) {
		p.errs.add(op.at, "%s is a %s and has no comparator %q; it has \"=\" and \"<>\"", named.name, named.kind, op.text)
	}
	if got := value.valueKind(); got != named.kind {
		p.errs.add(value.at, "%s is a %s and cannot be compared with a %s", named.name, named.kind, got)
	}
	return compare(named, op.text, value), true
}

// attribute parses an attribute's name. An unknown one is recorded and returned without a
// kind.
func (p *parser) attribute() (attribute, bool) {
	t := p.peek()
	if t.kind != tokenWord || t.is("AND") || t.is("OR") || t.is("NOT") || t.valueKind() != "" {
		p.expected("an attribute")
		return attribute{}, false
	}
	p.advance()
	named, ok := lookupAttribute(t.text)
	if !ok {
		p.errs.add(t.at, "unknown attribute %q; known are %s", t.text, knownAttributes)
		return attribute{}, true
	}
	return named, true
}

// valueKind returns the type of a value, or "" if the token is not a value.
func (t token) valueKind() kind {
	switch {
	case t.kind == tokenString:
		return text
	case t.kind == tokenNumber:
		return number
	case t.is("true"), t.is("false"):
		return flag
	}
	return ""
}

func compare(a attribute, op string, value token) expr {
	switch a.kind {
	case text:
		return textComparison{a, op, value.text}
	case number:
		return numberComparison{a, op, value.number}
	default:
		return flagComparison{a, op, value.is("true")}
	}
}
