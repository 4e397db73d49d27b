package awsrpc

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern tells whether a whole string matches a member's pattern. Most of the
// API's patterns are a fixed beginning and a class of characters; those strings
// are recognised without the regular expression, which stays the judge of all
// others.
type pattern struct {
	source string
	re     *regexp.Regexp
	quick  [][]part // alternatives; a string that fits one matches
}

// part is a piece of an alternative: fixed text, or characters of a class.
type part struct {
	text  string
	class [2]uint64 // of ASCII
	least int       // 0 or 1
	many  bool      // as many as there are, else exactly one
}

// newPattern compiles a pattern as published. It is taken as anchored at both
// ends, as the service's own refusals suggest.
func newPattern(source string) (*pattern, error) {
	text := goSyntax(source)
	re, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", source, err)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", source, err)
	}
	return &pattern{source: source, re: re, quick: alternatives(tree)}, nil
}

func (p *pattern) match(s string) bool {
	for _, parts := range p.quick {
		if fits(parts, s) {
			return true
		}
	}
	return p.re.MatchString(s)
}

// goSyntax rewrites what Java's patterns spell differently: \uXXXX escapes, and
// the surrogate range that means every character beyond U+FFFF.
func goSyntax(source string) string {
	source = strings.ReplaceAll(source, `\uD800\uDC00-\uDBFF\uDFFF`, `\x{10000}-\x{10FFFF}`)
	return regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`).ReplaceAllString(source, `\x{$1}`)
}

// alternatives gives the quick forms of an expression: each matches a part of
// what the expression matches, never more. It may give none.
func alternatives(tree *syntax.Regexp) [][]part {
	if tree.Op != syntax.OpAlternate {
		if parts, ok := sequence(tree); ok {
			return [][]part{parts}
		}
		return nil
	}
	var all [][]part
	for _, sub := range tree.Sub {
		all = append(all, alternatives(sub)...)
	}
	return all
}

// sequence gives the parts of a concatenation, if all are simple. Classes that
// may be empty are left out at the beginning, where being greedy would eat what
// the next part needs.
func sequence(tree *syntax.Regexp) ([]part, bool) {
	subs := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpConcat {
		subs = tree.Sub
	}
	var parts []part
	for i, sub := range subs {
		switch sub.Op {
		case syntax.OpBeginText:
			if i != 0 {
				return nil, false
			}
			continue
		case syntax.OpEndText:
			if i != len(subs)-1 {
				return nil, false
			}
			continue
		}
		p, ok := simple(sub)
		if !ok {
			return nil, false
		}
		if p.least == 0 && len(parts) == 0 && i < len(subs)-1 {
			continue
		}
		parts = append(parts, p)
	}
	return parts, true
}

// simple reads fixed text, a class, or a class repeated with + or *.
func simple(re *syntax.Regexp) (part, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return part{text: string(re.Rune), least: 1}, re.Flags&syntax.FoldCase == 0
	case syntax.OpPlus, syntax.OpStar:
		p, ok := simple(re.Sub[0])
		if !ok || p.text != "" {
			return part{}, false
		}
		p.many = true
		if re.Op == syntax.OpStar {
			p.least = 0
		}
		return p, true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return part{class: asciiOf(re), least: 1}, true
	}
	return part{}, false
}

// asciiOf gives the ASCII characters of a class.
func asciiOf(re *syntax.Regexp) [2]uint64 {
	var set [2]uint64
	for c := range rune(utf8.RuneSelf) {
		in := re.Op == syntax.OpAnyChar || re.Op == syntax.OpAnyCharNotNL && c != '\n'
		for i := 0; i+1 < len(re.Rune); i += 2 {
			in = in || re.Rune[i] <= c && c <= re.Rune[i+1]
		}
		if in {
			set[c/64] |= 1 << (c % 64)
		}
	}
	return set
}

// fits tells whether parts, each taking as much as it can, take the whole of s.
func fits(parts []part, s string) bool {
	for i := range parts {
		p := &parts[i]
		if p.text != "" {
			rest, ok := strings.CutPrefix(s, p.text)
			if !ok {
				return false
			}
			s = rest
			continue
		}
		n := p.take(s)
		if n < p.least {
			return false
		}
		s = s[n:]
	}
	return s == ""
}

// take counts the characters of the class that s begins with.
func (p *part) take(s string) int {
	n := 0
	for n < len(s) && (p.many || n == 0) {
		c := s[n]
		if c >= utf8.RuneSelf || p.class[c/64]&(1<<(c%64)) == 0 {
			break
		}
		n++
	}
	return n
}
