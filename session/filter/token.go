package filter

import (
	"strconv"
	"strings"
	"unicode"
)

// maxTokens is the most words, comparators, values and parentheses in an expression.
const maxTokens = 512

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenOpen
	tokenClose
	tokenComparator
	tokenString
	tokenNumber
	tokenWord
)

// token is one token of an expression. text is a string's content without quotes and
// escapes, else the token as written.
type token struct {
	kind   tokenKind
	text   string
	number float64
	at     int // byte offset
}

// is reports whether the token is the keyword, in either case.
func (t token) is(keyword string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, keyword)
}

// value returns the value that the token stands for and its type, "" if it is not a value.
func (t token) value() (value, kind) {
	switch {
	case t.kind == tokenString:
		return value{text: t.text}, text
	case t.kind == tokenNumber:
		return value{number: t.number}, number
	case t.is("true"), t.is("false"):
		return value{number: truth(t.is("true"))}, flag
	}
	return value{}, ""
}

// describe returns a description of the token for an error.
func (t token) describe() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenString:
		return "a string"
	}
	return strconv.Quote(t.text)
}

// scanner splits an expression into tokens.
type scanner struct {
	src  string
	pos  int
	errs *problems
}

// scan returns all tokens, the last being tokenEnd, and false after an error.
func scan(src string, errs *problems) ([]token, bool) {
	s := scanner{src: src, errs: errs}
	var tokens []token
	for {
		t, ok := s.next()
		if !ok {
			return nil, false
		}
		if len(tokens) == maxTokens && t.kind != tokenEnd {
			errs.add(t.at, "an expression holds at most %d words, values and signs", maxTokens)
			return nil, false
		}
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens, true
		}
	}
}

func (s *scanner) next() (token, bool) {
	s.skipSpace()
	if s.pos == len(s.src) {
		return token{kind: tokenEnd, at: s.pos}, true
	}
	switch c := s.src[s.pos]; c {
	case '(':
		return s.take(tokenOpen, 1), true
	case ')':
		return s.take(tokenClose, 1), true
	case '\'', '"':
		return s.quoted(c)
	case '=', '<', '>', '!':
		return s.comparator()
	}
	return s.word()
}

func (s *scanner) take(kind tokenKind, length int) token {
	t := token{kind: kind, text: s.src[s.pos : s.pos+length], at: s.pos}
	s.pos += length
	return t
}

func (s *scanner) skipSpace() {
	rest := strings.TrimLeftFunc(s.src[s.pos:], unicode.IsSpace)
	s.pos = len(s.src) - len(rest)
}

func (s *scanner) comparator() (token, bool) {
	rest := s.src[s.pos:]
	for _, foreign := range []struct{ sign, ours string }{{"!=", "<>"}, {"==", "="}} {
		if strings.HasPrefix(rest, foreign.sign) {
			s.errs.add(s.pos, "%q is not a comparator; write %q", foreign.sign, foreign.ours)
			return token{}, false
		}
	}
	for _, sign := range []string{"<>", "<=", ">=", "=", "<", ">"} {
		if strings.HasPrefix(rest, sign) {
			return s.take(tokenComparator, len(sign)), true
		}
	}
	s.errs.add(s.pos, "unexpected %q", rest[:1])
	return token{}, false
}

// quoted reads a string that opens with quote.
func (s *scanner) quoted(quote byte) (token, bool) {
	start := s.pos
	var content strings.Builder
	for i := start + 1; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == quote:
			s.pos = i + 1
			return token{kind: tokenString, text: content.String(), at: start}, true
		case c == '\\' && i+1 < len(s.src):
			i++
			content.WriteByte(s.src[i])
		default:
			content.WriteByte(c)
		}
	}
	s.errs.add(start, "the string has no closing %c", quote)
	return token{}, false
}

// word reads an attribute, a keyword or a number. A property's key may contain quotes and
// parentheses: it ends only at a space or a comparator.
func (s *scanner) word() (token, bool) {
	ends := "=<>!()'\""
	if strings.HasPrefix(s.src[s.pos:], propertyPrefix) {
		ends = "=<>"
	}
	length := strings.IndexFunc(s.src[s.pos:], func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(ends, r)
	})
	if length < 0 {
		length = len(s.src) - s.pos
	}
	if strings.HasSuffix(s.src[:s.pos+length], "!") && strings.HasPrefix(s.src[s.pos+length:], "=") {
		length-- // "key!='x'" is the comparator of other languages, not a key "key!"
	}
	t := s.take(tokenWord, length)
	if strings.IndexByte("+-.0123456789", t.text[0]) < 0 {
		return t, true
	}
	return s.number(t)
}

// number reads a decimal number: digits with an optional sign and fraction.
func (s *scanner) number(t token) (token, bool) {
	value, err := strconv.ParseFloat(t.text, 64)
	if err != nil || strings.Trim(t.text, "+-.0123456789") != "" {
		s.errs.add(t.at, "%q is not a decimal number", t.text)
		return token{}, false
	}
	t.kind, t.number = tokenNumber, value
	return t, true
}
