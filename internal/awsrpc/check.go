package awsrpc

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/shape"
)

// maxViolations is how many violations an error lists; the rest are counted.
const maxViolations = 10

// checker collects the violations of one input. Checking a valid input allocates nothing.
type checker struct {
	path       []segment // current position in the input
	steps      [6]segment
	violations []string
	more       int // violations beyond those
}

// segment is one step of a path: a member, a list's index or a map's key.
type segment struct {
	name  string
	index int
	kind  shape.Kind // Struct, List or Map: the kind that contains the step
}

// check returns all violations of an input as one fault of kind fault.InvalidRequest,
// or nil; in points to the operation's input.
func (c *checker) check(r *rule, in any) error {
	c.path = c.steps[:0] // append grows it for deeper paths
	c.structure(r, reflect.ValueOf(in).Elem())
	return c.fault()
}

// fault returns the violations in the format of AWS's services, which programs parse.
func (c *checker) fault() error {
	n := len(c.violations) + c.more
	if n == 0 {
		return nil
	}
	errors := "errors"
	if n == 1 {
		errors = "error"
	}
	text := fmt.Sprintf("%d validation %s detected: %s", n, errors, strings.Join(c.violations, "; "))
	if c.more > 0 {
		text += fmt.Sprintf("; and %d more", c.more)
	}
	return fault.Invalid("%s", text)
}

func (c *checker) structure(r *rule, v reflect.Value) {
	for i := range r.members {
		m := &r.members[i]
		f := v.Field(m.field)
		absent := f.IsNil()
		if absent && !m.required || !absent && m.free {
			continue
		}
		c.path = append(c.path, segment{name: m.name, kind: shape.Struct})
		switch {
		case absent:
			c.report(m.rule, null, "Member must not be null")
		case f.Kind() == reflect.Pointer:
			c.value(m.rule, f.Elem())
		default:
			c.value(m.rule, f)
		}
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) value(r *rule, v reflect.Value) {
	switch r.Kind {
	case shape.Struct:
		c.structure(r, v)
	case shape.String:
		c.text(r, v.String())
	case shape.Integer, shape.Long:
		c.number(r, float64(v.Int()))
	case shape.Float, shape.Double:
		c.number(r, v.Float())
	case shape.Blob:
		c.size(r, v.Len(), "bytes")
	case shape.List:
		c.list(r, v)
	case shape.Map:
		c.mapping(r, v)
	}
}

func (c *checker) list(r *rule, v reflect.Value) {
	n := v.Len()
	c.size(r, n, "elements")
	if r.elem.free {
		return
	}
	for i := range n {
		c.path = append(c.path, segment{index: i, kind: shape.List})
		c.value(r.elem, v.Index(i))
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) mapping(r *rule, v reflect.Value) {
	c.size(r, v.Len(), "elements")
	if r.key.free && r.elem.free {
		return
	}
	for it := v.MapRange(); it.Next(); {
		key := it.Key().String()
		if broken := textRule(r.key, key); broken != "" {
			c.report(r.key, quoted(key), "Map keys must satisfy constraint: ["+broken+"]")
		}
		if r.key.Sensitive {
			key = "*"
		}
		c.path = append(c.path, segment{name: key, kind: shape.Map})
		c.value(r.elem, it.Value())
		c.path = c.path[:len(c.path)-1]
	}
}

// text reports every rule that a string breaks.
func (c *checker) text(r *rule, s string) {
	for broken := range broken(r, s) {
		c.report(r, quoted(s), broken)
	}
}

// textRule returns the first rule that a string breaks, or "".
func textRule(r *rule, s string) string {
	for rule := range broken(r, s) {
		return rule
	}
	return ""
}

// broken yields the rules that a string breaks.
func broken(r *rule, s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if r.Min != nil || r.Max != nil {
			if rule := lengthRule(r, codePoints(r, s)); rule != "" && !yield(rule) {
				return
			}
		}
		if r.enum != nil {
			if _, ok := r.enum[s]; !ok && !yield(enumRule(r.Enum)) {
				return
			}
		}
		if r.pattern != nil && !r.pattern.match(s) {
			yield("Member must satisfy regular expression pattern: " + r.pattern.source)
		}
	}
}

// codePoints returns the number of code points in s, or of its bytes if that suffices
// to see that the bounds are met.
func codePoints(r *rule, s string) int {
	n := len(s)
	if r.Max != nil && float64(n) > *r.Max || r.Min != nil && *r.Min > 1 {
		return utf8.RuneCountInString(s)
	}
	return n
}

// size checks the length of a list or a map.
func (c *checker) size(r *rule, n int, unit string) {
	if rule := lengthRule(r, n); rule != "" {
		c.report(r, fmt.Sprintf(" '[%d %s]'", n, unit), rule)
	}
}

func (c *checker) number(r *rule, n float64) {
	broken := ""
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		broken = "Member must be a finite number"
	case r.Min != nil && n < *r.Min:
		broken = "Member must have value greater than or equal to " + decimal(*r.Min)
	case r.Max != nil && n > *r.Max:
		broken = "Member must have value less than or equal to " + decimal(*r.Max)
	default:
		return
	}
	c.report(r, " '"+decimal(n)+"'", broken)
}

// report records that the value at the current path breaks a rule. The value of a
// sensitive member is not shown.
func (c *checker) report(r *rule, value, rule string) {
	if len(c.violations) == maxViolations {
		c.more++
		return
	}
	if r.Sensitive && value != null {
		value = ""
	}
	c.violations = append(c.violations, "Value"+value+" at '"+c.where()+"' failed to satisfy constraint: "+rule)
}

// where returns the current path as AWS's services write it: members begin in lower
// case and elements are counted from 1, as in
// players.1.member.playerAttributes.skill.member.n.
func (c *checker) where() string {
	var b strings.Builder
	for i, s := range c.path {
		if i > 0 {
			b.WriteByte('.')
		}
		switch s.kind {
		case shape.List:
			fmt.Fprintf(&b, "%d.member", s.index+1)
		case shape.Map:
			b.WriteString(printable(s.name) + ".member")
		default:
			b.WriteString(strings.ToLower(s.name[:1]) + s.name[1:])
		}
	}
	return b.String()
}

// lengthRule returns the bound that a length breaks, or "".
func lengthRule(r *rule, n int) string {
	switch {
	case r.Min != nil && float64(n) < *r.Min:
		return "Member must have length greater than or equal to " + decimal(*r.Min)
	case r.Max != nil && float64(n) > *r.Max:
		return "Member must have length less than or equal to " + decimal(*r.Max)
	}
	return ""
}

// enumRule lists the allowed values, at most the first 30.
func enumRule(values []string) string {
	const most = 30
	rest := ""
	if len(values) > most {
		rest = fmt.Sprintf(", and %d more", len(values)-most)
		values = values[:most]
	}
	return "Member must satisfy enum value set: [" + strings.Join(values, ", ") + rest + "]"
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// null is shown for a missing value; quoted formats one that is present.
const null = " null"

func quoted(s string) string { return " '" + printable(s) + "'" }

// printable makes a caller's text safe to show: shortened, and with control characters
// escaped.
func printable(s string) string {
	text := strconv.Quote(strings.ToValidUTF8(clip(s), ""))
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text[1 : len(text)-1])
}
