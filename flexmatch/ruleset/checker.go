package ruleset

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/nearest"
)

// checker collects errors while the stages read the tree.
type checker struct {
	text []byte
	errs Errors
}

// Position is a place in the body.
type Position struct {
	Line   int // from 1
	Column int // in characters, from 1
}

// placeOf returns the position of a byte offset.
func (c *checker) placeOf(offset int) Position {
	line, column := c.position(offset)
	return Position{line, column}
}

// fail records an error at a byte offset of the body.
func (c *checker) fail(at int, path string, code Code, format string, args ...any) {
	line, column := c.position(at)
	c.errs = append(c.errs, Error{Code: code, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...)})
}

// failIn records an error inside a string of the body.
func (c *checker) failIn(n *node, e *textError, path string) {
	c.fail(c.inside(n, e.at), path, e.code, "%s", e.text)
}

// inside converts a byte offset in a string's value to one in the body, where escapes are
// longer than the characters they stand for.
func (c *checker) inside(n *node, at int) int {
	raw := c.text[n.at+1:]
	i, u16 := 0, []uint16(nil)
	for meant := 0; meant < at && i < len(raw); {
		switch {
		case raw[i] != '\\':
			i++
			meant++
			continue
		case raw[i+1] != 'u':
			i += 2
			meant++
			continue
		}
		v, _ := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		i += 6
		u16 = append(u16, uint16(v))
		if len(u16) == 1 && utf16.IsSurrogate(rune(v)) && bytes.HasPrefix(raw[i:], []byte(`\u`)) {
			continue // the other half follows
		}
		meant += len(string(utf16.Decode(u16)))
		u16 = u16[:0]
	}
	return n.at + 1 + i
}

// position returns the line and column, in characters, of a byte offset; both count from
// 1.
func (c *checker) position(at int) (line, column int) {
	before := c.text[:min(max(at, 0), len(c.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// object is an object of the tree and its path.
type object struct {
	*checker
	*node
	path string
}

// object returns n as an object. If n is not an object, it records an error and returns
// false.
func (c *checker) object(n *node, path string) (object, bool) {
	if n.kind != isObject {
		c.fail(n.at, path, WrongType, "must be an object, not %s", n.kind)
		return object{}, false
	}
	return object{checker: c, node: n, path: path}, true
}

// here returns the position of the object: that of its name, if it has one.
func (o object) here() Position {
	for _, m := range o.members {
		if m.name == "name" {
			return o.placeOf(m.at)
		}
	}
	return o.placeOf(o.node.at)
}

// place returns the path of a member of the object.
func (o object) place(name string) string {
	return strings.TrimPrefix(o.path+"."+name, ".")
}

// bad records an error about a member. Its position is that of the member's value, or of
// the object if the member is absent.
func (o object) bad(name string, code Code, format string, args ...any) {
	at := o.at
	if n := o.get(name); n != nil {
		at = n.at
	}
	o.fail(at, o.place(name), code, format, args...)
}

// only records an error for every member not in names. Every object may have a
// description.
func (o object) only(names ...string) {
	for _, m := range o.members {
		if m.name != "description" && !slices.Contains(names, m.name) {
			o.fail(m.at, o.place(m.name), UnknownProperty, "is not a property here%s; known are %s", nearest.DidYouMean(m.name, names), strings.Join(names, ", "))
		}
	}
}

// text reads a string member. If it is absent, empty or of another type, text records an
// error and returns "".
func (o object) text(name string, missing Code) string {
	n := o.get(name)
	switch {
	case n == nil:
		o.bad(name, missing, "is required")
	case n.kind != isText:
		o.bad(name, WrongType, "must be a string, not %s", n.kind)
	case strings.TrimSpace(n.text) == "":
		o.bad(name, missing, "must not be empty")
	default:
		return n.text
	}
	return ""
}

// word reads an optional string member that must be one of words. The first is the
// default.
func (o object) word(name string, code Code, words ...string) string {
	n := o.get(name)
	if n == nil {
		return words[0]
	}
	if n.kind != isText || !slices.Contains(words, n.text) {
		o.bad(name, code, "must be one of %s%s", strings.Join(words, ", "), nearest.DidYouMean(n.text, words))
		return ""
	}
	return n.text
}

// list reads a member that must be a list. It returns nil if the member is absent.
func (o object) list(name string) []*node {
	n := o.get(name)
	if n == nil {
		return nil
	}
	if n.kind != isList {
		o.bad(name, WrongType, "must be a list, not %s", n.kind)
		return nil
	}
	return n.items
}

// Bound is a limit that may be absent.
type Bound struct {
	Value float64
	Set   bool
}

// within reports whether v is inside both bounds.
func within(v float64, low, high Bound) bool {
	return !math.IsNaN(v) && !(low.Set && v < low.Value) && !(high.Set && v > high.Value)
}

// upper returns the upper of two bounds, or the lower if only that is set.
func upper(low, high Bound) Bound {
	if high.Set {
		return high
	}
	return low
}

// limit reads an optional number of at least 0.
func (o object) limit(name string, code Code) Bound {
	n := o.get(name)
	if n == nil {
		return Bound{}
	}
	v, ok := n.asNumber()
	if !ok || v < 0 {
		o.bad(name, code, "must be a number of at least 0")
		return Bound{Set: true, Value: math.NaN()}
	}
	return Bound{Value: v, Set: true}
}

// asNumber reads a number, which may be in quotes, like "500" in the developer guide.
func (n *node) asNumber() (float64, bool) {
	switch n.kind {
	case isNumber:
		return n.number, !math.IsInf(n.number, 0)
	case isText:
		return parseNumber(n.text)
	}
	return 0, false
}

// parseNumber reads a finite decimal number and ignores space around it.
func parseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0)
}

// asWhole reads a whole number from low to high.
func (n *node) asWhole(low, high int) (int, bool) {
	v, ok := n.asNumber()
	if !ok || v != math.Trunc(v) || v < float64(low) || v > float64(high) {
		return 0, false
	}
	return int(v), true
}

// at returns the path of an element of a list.
func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// like returns " (did you mean …?)" for the declared name that is nearest to one, or "". It
// looks at the first of many names only, since a body can have an error for each.
func like(name string, declared []string) string {
	return nearest.DidYouMean(name, declared[:min(len(declared), 100)])
}
