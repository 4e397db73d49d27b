package awsrpc

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// pattern matches whole strings against a member's pattern. Most of the API's patterns
// are a fixed prefix and a class of characters: such strings are recognized without the
// regular expression, which decides about all others.
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
	many  bool      // takes as many characters as possible, else exactly one
}

// newPattern compiles a pattern as published. It counts as anchored at both ends, as
// the service's error messages suggest.
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

// goSyntax rewrites Java's syntax as Go's: \uXXXX escapes, and the surrogate range that
// means every character beyond U+FFFF.
func goSyntax(source string) string {
	source = strings.ReplaceAll(source, `\uD800\uDC00-\uDBFF\uDFFF`, `\x{10000}-\x{10FFFF}`)
	return regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`).ReplaceAllString(source, `\x{$1}`)
}

// alternatives returns the quick forms of an expression, if any: each matches a subset
// of what the expression matches.
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

// sequence returns the parts of a concatenation, if all are simple. It omits leading
// classes that may be empty: being greedy, they could take characters that the next
// part needs.
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

// simple returns the part for fixed text, a class, or a class repeated with + or *.
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

// asciiOf returns the ASCII characters of a class.
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

// fits reports whether parts, each taking as much as it can, match the whole of s.
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

// take returns how many characters at the beginning of s the part takes.
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
