package filter

import "strings"

// Filter is a parsed FilterExpression. A nil Filter matches every game session.
type Filter struct {
	root expr
}

// Parse parses a FilterExpression. Its error is an InvalidRequestException that lists the
// mistakes, each with its column counted in characters from 1. The caller must check the
// length limit of the API (1 to 1024 characters). Parse refuses more than 512 words,
// values and signs, and nesting deeper than 64.
func Parse(expression string) (*Filter, error) {
	errs := &problems{member: "FilterExpression", src: expression}
	root := parseFilter(expression, errs)
	if err := errs.err(); err != nil {
		return nil, err
	}
	return &Filter{root: root}, nil
}

func parseFilter(expression string, errs *problems) expr {
	tokens, ok := scan(expression, errs)
	if !ok {
		return nil
	}
	p := &parser{tokens: tokens, errs: errs}
	root, ok := p.or()
	if ok && p.peek().kind != tokenEnd {
		p.expected(`"AND", "OR" or the end`)
	}
	return root
}

// Match reports whether the filter matches a game session.
func (f *Filter) Match(s Subject) bool {
	return f == nil || f.root.match(s)
}

// String returns the expression in canonical form: keywords in upper case, single quotes,
// and only the necessary parentheses.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	var b strings.Builder
	f.root.print(&b)
	return b.String()
}
