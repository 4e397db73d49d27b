package filter

import (
	"cmp"
	"strings"
)

// Sort is a parsed SortExpression. Under a nil Sort all game sessions are equal.
type Sort struct {
	by         attribute
	descending bool
}

// ParseSort parses a SortExpression: an attribute, then optionally ASC (the default) or
// DESC. Its error is an InvalidRequestException like Parse's.
func ParseSort(expression string) (*Sort, error) {
	errs := &problems{member: "SortExpression", src: expression}
	sort := parseSort(expression, errs)
	if err := errs.err(); err != nil {
		return nil, err
	}
	return sort, nil
}

func parseSort(expression string, errs *problems) *Sort {
	tokens, ok := scan(expression, errs)
	if !ok {
		return nil
	}
	p := &parser{tokens: tokens, errs: errs}
	by, ok := p.attribute()
	if !ok {
		return nil
	}
	descending := p.peek().is("DESC")
	if descending || p.peek().is("ASC") {
		p.advance()
	}
	if p.peek().kind != tokenEnd {
		p.expected("ASC, DESC or the end")
	}
	return &Sort{by: by, descending: descending}
}

// Compare returns a negative number if a comes first, a positive one if b does, and zero
// if they are equal. Use it with a stable sort. A game session without the property comes
// last in both directions. Ascending, false comes before true. Property values compare as
// strings.
func (o *Sort) Compare(a, b Subject) int {
	if o == nil {
		return 0
	}
	switch o.by.kind {
	case number:
		return o.directed(cmp.Compare(o.by.number(a), o.by.number(b)))
	case flag:
		return o.directed(cmp.Compare(rank(o.by.flag(a)), rank(o.by.flag(b))))
	}
	left, hasLeft := o.by.text(a)
	right, hasRight := o.by.text(b)
	if !hasLeft || !hasRight {
		return cmp.Compare(rank(!hasLeft), rank(!hasRight))
	}
	return o.directed(strings.Compare(left, right))
}

func (o *Sort) directed(order int) int {
	if o.descending {
		return -order
	}
	return order
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// String returns the expression with an explicit direction.
func (o *Sort) String() string {
	switch {
	case o == nil:
		return ""
	case o.descending:
		return o.by.name + " DESC"
	}
	return o.by.name + " ASC"
}
