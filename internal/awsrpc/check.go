package awsrpc

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/shape"
)

// maxViolations is how many broken rules a refusal names; the rest is counted.
const maxViolations = 10

// checker collects the rules that one input breaks. A call holds its own, so
// that a valid input costs no memory.
type checker struct {
	path       []segment // where in the input
	steps      [6]segment
	violations []string
	more       int // violations beyond those
}

// segment is one step of a path: a member, a list's index or a map's key.
type segment struct {
	name  string
	index int
	kind  shape.Kind // Struct, List or Map: what the step goes into
}

// check tells which rules an input breaks, all of them in one fault of kind
// fault.InvalidRequest; in points to the operation's input.
func (c *checker) check(r *rule, in any) error {
	c.path = c.steps[:0] // deeper paths grow it
	c.structure(r, reflect.ValueOf(in).Elem())
	return c.fault()
}

func (c *checker) fault() error {
	if len(c.violations) == 0 {
		return nil
	}
	text := strings.Join(c.violations, "; ")
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
			c.report("is required")
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
		c.length(r, v.Len(), "bytes")
	case shape.List:
		c.list(r, v)
	case shape.Map:
		c.mapping(r, v)
	}
}

func (c *checker) list(r *rule, v reflect.Value) {
	n := v.Len()
	c.length(r, n, "elements")
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
	c.length(r, v.Len(), "elements")
	if r.key.free && r.elem.free {
		return
	}
	for it := v.MapRange(); it.Next(); {
		key := it.Key().String()
		c.path = append(c.path, segment{name: key, kind: shape.Map})
		c.text(r.key, key)
		c.value(r.elem, it.Value())
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) text(r *rule, s string) {
	if r.Min != nil || r.Max != nil {
		c.length(r, codePoints(r, s), "characters")
	}
	if r.enum != nil {
		if _, ok := r.enum[s]; !ok {
			c.report(enumRule(r.Enum))
		}
	}
	if r.pattern != nil && !r.pattern.match(s) {
		c.report("must match " + r.pattern.source)
	}
}

// codePoints counts the code points of s where the bytes alone do not tell that
// the bounds are kept.
func codePoints(r *rule, s string) int {
	n := len(s)
	if r.Max != nil && float64(n) > *r.Max || r.Min != nil && *r.Min > 1 {
		return utf8.RuneCountInString(s)
	}
	return n
}

func (c *checker) length(r *rule, n int, unit string) {
	if r.Min != nil && float64(n) < *r.Min || r.Max != nil && float64(n) > *r.Max {
		bounds := boundsRule(r)
		if strings.HasSuffix(bounds, " 1") {
			unit = strings.TrimSuffix(unit, "s")
		}
		c.report("must have " + bounds + " " + unit)
	}
}

func (c *checker) number(r *rule, n float64) {
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		c.report("must be a finite number")
	case r.Min != nil && n < *r.Min || r.Max != nil && n > *r.Max:
		c.report("must be " + boundsRule(r))
	}
}

// report notes that the value at the current path breaks a rule.
func (c *checker) report(rule string) {
	if len(c.violations) == maxViolations {
		c.more++
		return
	}
	c.violations = append(c.violations, c.where()+": "+rule)
}

// where spells the current path: Players[0].PlayerAttributes["skill"].N.
func (c *checker) where() string {
	var b strings.Builder
	for i, s := range c.path {
		switch s.kind {
		case shape.List:
			fmt.Fprintf(&b, "[%d]", s.index)
		case shape.Map:
			fmt.Fprintf(&b, "[%q]", clip(s.name))
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// boundsRule spells bounds: "1 to 25", "at least 1", "at most 300".
func boundsRule(r *rule) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case r.Max == nil:
		return "at least " + number(*r.Min)
	case r.Min == nil || *r.Min == 0 && !isNumber(r.Kind):
		return "at most " + number(*r.Max)
	case *r.Min == *r.Max:
		return "exactly " + number(*r.Min)
	}
	return number(*r.Min) + " to " + number(*r.Max)
}

// enumRule spells the values that are allowed, where that is readable.
func enumRule(values []string) string {
	const most = 30
	if len(values) > most {
		return fmt.Sprintf("must be one of the API's %d values, like %s", len(values), values[0])
	}
	if len(values) == 1 {
		return "must be " + values[0]
	}
	return "must be one of " + strings.Join(values, ", ")
}
