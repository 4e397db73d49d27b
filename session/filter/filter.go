package filter

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/fault"
)

// Filter is a parsed FilterExpression. A nil Filter matches every game session.
type Filter struct{ root expr }

// Parse parses a FilterExpression. Its error is an InvalidRequestException that lists the
// mistakes, each with its column counted in characters from 1. The caller must check the
// length limit of the API (1 to 1024 characters). Parse refuses more than 512 words,
// values and signs, and nesting deeper than 64.
func Parse(expression string) (*Filter, error) {
	errs := &problems{member: "FilterExpression", src: expression}
	f := &Filter{}
	if tokens, ok := scan(expression, errs); ok {
		p := &parser{tokens: tokens, errs: errs}
		if f.root, ok = p.or(); ok {
			p.end(`"AND", "OR" or the end`)
		}
	}
	return f, errs.err()
}

// Match reports whether the filter matches a game session.
func (f *Filter) Match(s Subject) bool { return f == nil || f.root(s) }

// Sort is a parsed SortExpression. Under a nil Sort all game sessions are equal.
type Sort struct {
	by         attribute
	descending bool
}

// ParseSort parses a SortExpression: an attribute, then optionally ASC (the default) or
// DESC. Its error is an InvalidRequestException like Parse's.
func ParseSort(expression string) (*Sort, error) {
	errs := &problems{member: "SortExpression", src: expression}
	o := &Sort{}
	if tokens, ok := scan(expression, errs); ok {
		p := &parser{tokens: tokens, errs: errs}
		if o.by, ok = p.attribute(); ok {
			o.descending = p.peek().is("DESC")
			if o.descending || p.peek().is("ASC") {
				p.advance()
			}
			p.end("ASC, DESC or the end")
		}
	}
	return o, errs.err()
}

// Compare returns a negative number if a comes first, a positive one if b does, and zero
// if they are equal. Use it with a stable sort. A game session without the property comes
// last in both directions. Ascending, false comes before true. Property values compare as
// strings.
func (o *Sort) Compare(a, b Subject) int {
	if o == nil {
		return 0
	}
	left, hasLeft := o.by.of(a)
	right, hasRight := o.by.of(b)
	switch {
	case !hasLeft || !hasRight:
		return cmp.Compare(truth(!hasLeft), truth(!hasRight))
	case o.descending:
		return right.compare(left)
	}
	return left.compare(right)
}

// maxProblems is the most mistakes listed in one error.
const maxProblems = 8

// problems collects the mistakes of one expression, so that all can be fixed together. A
// syntax error ends parsing; mistakes in names and types do not.
type problems struct {
	member string // FilterExpression or SortExpression
	src    string
	list   []string
}

// add records a mistake at a byte offset, which is reported as a column counted in
// characters from 1.
func (p *problems) add(at int, format string, args ...any) {
	if len(p.list) == maxProblems {
		return
	}
	column := utf8.RuneCountInString(p.src[:at]) + 1
	p.list = append(p.list, fmt.Sprintf("column %d: %s", column, fmt.Sprintf(format, args...)))
}

// err returns all mistakes as one fault, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return fault.Invalid("%s: %s", p.member, strings.Join(p.list, "; "))
}
