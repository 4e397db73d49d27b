package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/shape"
)

// violation is an input that breaks one rule of the API's description.
type violation struct {
	path, rule string // the member, and what the refusal must say about it
	in         map[string]any
}

// generator creates violations of an API's rules.
type generator struct{ api shape.API }

// violations returns an input for each rule of each member of an operation that can
// be broken; other members are left out, or sampled.
func (g generator) violations(op shape.Operation) []violation {
	var all []violation
	for _, m := range op.Input {
		if m.Required {
			in := g.others(op.Input, m.Name)
			all = append(all, violation{lower(m.Name), notNull, in})
		}
		for _, b := range g.broken(m.Type, 3) {
			in := g.others(op.Input, m.Name)
			in[m.Name] = b.value
			all = append(all, violation{lower(m.Name) + b.path, b.rule, in})
		}
	}
	return all
}

// others samples the required members except one.
func (g generator) others(members []shape.Member, but string) map[string]any {
	in := map[string]any{}
	for _, m := range members {
		if m.Required && m.Name != but {
			in[m.Name] = g.sample(m.Type)
		}
	}
	return in
}

// sample returns a value of the right form; if it does not match a pattern, that is
// an additional violation and does not hide the intended one.
func (g generator) sample(t shape.Type) any {
	switch t.Kind {
	case shape.Boolean:
		return true
	case shape.Integer, shape.Long, shape.Float, shape.Double, shape.Timestamp:
		if t.Min != nil {
			return number(t, *t.Min)
		}
		return 1
	case shape.List:
		return []any{g.sample(*t.Elem)}
	case shape.Map:
		return map[string]any{"key": g.sample(*t.Elem)}
	case shape.Struct:
		return g.others(g.api.Structures[t.Ref], "")
	}
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	if t.Min != nil {
		return strings.Repeat("a", max(1, int(*t.Min)))
	}
	return "a"
}

// broken is a value that breaks a rule, at a path below its member.
type broken struct {
	path, rule string
	value      any
}

// broken returns values of a type that break its rules, down to a depth.
func (g generator) broken(t shape.Type, depth int) []broken {
	if depth == 0 {
		return nil
	}
	switch t.Kind {
	case shape.String:
		return brokenText(t)
	case shape.Integer, shape.Long, shape.Float, shape.Double:
		return brokenNumber(t)
	case shape.List:
		return append(g.brokenLength(t), g.inside(t, depth)...)
	case shape.Struct:
		return g.brokenStructure(t, depth)
	}
	return nil
}

func brokenText(t shape.Type) []broken {
	var all []broken
	if t.Min != nil && *t.Min >= 1 {
		all = append(all, broken{"", atLeast("length", *t.Min), ""})
	}
	if t.Max != nil && *t.Max <= 5000 {
		all = append(all, broken{"", atMost("length", *t.Max), strings.Repeat("a", int(*t.Max)+1)})
	}
	if len(t.Enum) > 0 {
		all = append(all, broken{"", "Member must satisfy enum value set: [" + t.Enum[0], "NO_SUCH_VALUE"})
	}
	if s, ok := mismatch(t.Pattern); ok {
		all = append(all, broken{"", "Member must satisfy regular expression pattern: ", s})
	}
	return all
}

// mismatch returns a string that does not match a pattern as a whole.
func mismatch(pattern string) (string, bool) {
	if pattern == "" {
		return "", false
	}
	whole, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return "", false
	}
	for _, s := range []string{"§ § §", "\t", " "} {
		if !whole.MatchString(s) {
			return s, true
		}
	}
	return "", false
}

func brokenNumber(t shape.Type) []broken {
	var all []broken
	if t.Min != nil {
		all = append(all, broken{"", atLeast("value", *t.Min), number(t, *t.Min-1)})
	}
	if t.Max != nil && *t.Max < 1<<31-1 {
		all = append(all, broken{"", atMost("value", *t.Max), number(t, *t.Max+1)})
	}
	return all
}

// number returns a number in the form of its type: CBOR distinguishes integers from
// floats.
func number(t shape.Type, n float64) any {
	if t.Kind == shape.Integer || t.Kind == shape.Long {
		return int64(n)
	}
	return n
}

func (g generator) brokenLength(t shape.Type) []broken {
	var all []broken
	list := func(n int) []any {
		items := make([]any, n)
		for i := range items {
			items[i] = g.sample(*t.Elem)
		}
		return items
	}
	if t.Min != nil && *t.Min >= 1 {
		all = append(all, broken{"", atLeast("length", *t.Min), list(0)})
	}
	if t.Max != nil && *t.Max <= 1000 {
		all = append(all, broken{"", atMost("length", *t.Max), list(int(*t.Max) + 1)})
	}
	return all
}

// inside breaks the first element of a list.
func (g generator) inside(t shape.Type, depth int) []broken {
	var all []broken
	for _, b := range g.broken(*t.Elem, depth-1) {
		all = append(all, broken{".1.member" + b.path, b.rule, []any{b.value}})
	}
	return all
}

func (g generator) brokenStructure(t shape.Type, depth int) []broken {
	var all []broken
	members := g.api.Structures[t.Ref]
	for _, m := range members {
		if m.Required {
			all = append(all, broken{"." + lower(m.Name), notNull, g.others(members, m.Name)})
		}
		for _, b := range g.broken(m.Type, depth-1) {
			in := g.others(members, m.Name)
			in[m.Name] = b.value
			all = append(all, broken{"." + lower(m.Name) + b.path, b.rule, in})
		}
	}
	return all
}

// The wording of AWS's services for a broken rule.
const notNull = "Member must not be null"

func atLeast(what string, n float64) string {
	return fmt.Sprintf("Member must have %s greater than or equal to %v", what, n)
}

func atMost(what string, n float64) string {
	return fmt.Sprintf("Member must have %s less than or equal to %s", what, strconv.FormatFloat(n, 'f', -1, 64))
}

// lower returns a member's name as refusals spell it.
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }

func (v violation) String() string { return fmt.Sprintf("%s %s", v.path, v.rule) }
