package filter

// maxDepth is how deep parentheses and NOT may nest.
const maxDepth = 64

// expr is a compiled part of a filter.
type expr func(Subject) bool

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

// end records an error unless all tokens have been parsed.
func (p *parser) end(expected string) {
	if p.peek().kind != tokenEnd {
		p.expected(expected)
	}
}

func (p *parser) or() (expr, bool) {
	return p.joined("OR", p.and, func(a, b expr) expr { return func(s Subject) bool { return a(s) || b(s) } })
}

func (p *parser) and() (expr, bool) {
	return p.joined("AND", p.not, func(a, b expr) expr { return func(s Subject) bool { return a(s) && b(s) } })
}

// joined parses one or more parts with a keyword between them, and combines them with join.
func (p *parser) joined(keyword string, part func() (expr, bool), join func(a, b expr) expr) (expr, bool) {
	all, ok := part()
	for ok && p.peek().is(keyword) {
		p.advance()
		var next expr
		if next, ok = part(); ok {
			all = join(all, next)
		}
	}
	return all, ok
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
	return func(s Subject) bool { return !part(s) }, ok
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
	given := p.peek()
	want, got := given.value()
	if got == "" {
		p.expected("a number, true, false or a quoted string")
		return nil, false
	}
	p.advance()
	if named.kind != "" {
		if !named.allows(op.text) {
			p.errs.add(op.at, "%s is a %s and has no comparator %q; it has \"=\" and \"<>\"", named.name, named.kind, op.text)
		}
		if got != named.kind {
			p.errs.add(given.at, "%s is a %s and cannot be compared with a %s", named.name, named.kind, got)
		}
	}
	holds := comparators[op.text]
	return func(s Subject) bool {
		is, has := named.of(s)
		return has && holds(is.compare(want))
	}, true
}

// attribute parses an attribute's name. An unknown one is recorded and returned without a
// kind.
func (p *parser) attribute() (attribute, bool) {
	t := p.peek()
	if _, kind := t.value(); t.kind != tokenWord || t.is("AND") || t.is("OR") || t.is("NOT") || kind != "" {
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
