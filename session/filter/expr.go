package filter

import (
	"strconv"
	"strings"
)

// expr is a compiled part of a filter. Parsing the output of print yields the same
// expression.
type expr interface {
	match(Subject) bool
	print(*strings.Builder)
}

// or is two or more expressions, none of them an or.
type or []expr

func (e or) match(s Subject) bool {
	for _, part := range e {
		if part.match(s) {
			return true
		}
	}
	return false
}

func (e or) print(b *strings.Builder) {
	for i, part := range e {
		if i > 0 {
			b.WriteString(" OR ")
		}
		part.print(b)
	}
}

// and is two or more expressions, none of them an and.
type and []expr

func (e and) match(s Subject) bool {
	for _, part := range e {
		if !part.match(s) {
			return false
		}
	}
	return true
}

func (e and) print(b *strings.Builder) {
	for i, part := range e {
		if i > 0 {
			b.WriteString(" AND ")
		}
		_, looser := part.(or)
		printPart(b, part, looser)
	}
}

type not struct{ part expr }

func (e not) match(s Subject) bool { return !e.part.match(s) }

func (e not) print(b *strings.Builder) {
	b.WriteString("NOT ")
	looser := false
	switch e.part.(type) {
	case or, and:
		looser = true
	}
	printPart(b, e.part, looser)
}

func printPart(b *strings.Builder, part expr, parentheses bool) {
	if parentheses {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	part.print(b)
}

type textComparison struct {
	attribute attribute
	op        string
	want      string
}

func (e textComparison) match(s Subject) bool {
	got, ok := e.attribute.text(s)
	return ok && (got == e.want) == (e.op == "=")
}

var quoting = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func (e textComparison) print(b *strings.Builder) {
	b.WriteString(e.attribute.name + " " + e.op + " '")
	b.WriteString(quoting.Replace(e.want))
	b.WriteByte('\'')
}

type numberComparison struct {
	attribute attribute
	op        string
	want      float64
}

func (e numberComparison) match(s Subject) bool {
	got := e.attribute.number(s)
	switch e.op {
	case "=":
		return got == e.want
	case "<>":
		return got != e.want
	case "<":
		return got < e.want
	case ">":
		return got > e.want
	case "<=":
		return got <= e.want
	default:
		return got >= e.want
	}
}

func (e numberComparison) print(b *strings.Builder) {
	b.WriteString(e.attribute.name + " " + e.op + " ")
	b.WriteString(strconv.FormatFloat(e.want, 'f', -1, 64))
}

type flagComparison struct {
	attribute attribute
	op        string
	want      bool
}

func (e flagComparison) match(s Subject) bool {
	return (e.attribute.flag(s) == e.want) == (e.op == "=")
}

func (e flagComparison) print(b *strings.Builder) {
	b.WriteString(e.attribute.name + " " + e.op + " ")
	b.WriteString(strconv.FormatBool(e.want))
}
