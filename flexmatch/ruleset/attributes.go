package ruleset

import (
	"math"
	"strings"
)

// AttributeType is the declared type of a player attribute.
type AttributeType string

// The types of attributes; on the wire they are N, S, SL and SDM.
const (
	Number    AttributeType = "number"
	String    AttributeType = "string"
	StringSet AttributeType = "string_list"
	NumberMap AttributeType = "string_number_map"
)

// Attribute is a declared player attribute.
type Attribute struct {
	Name    string
	Type    AttributeType // "" if the declared type is not valid
	Default *Value        // nil if players must provide a value
	At      Position
}

// Value is the value of a player attribute, in the member for its type.
type Value struct {
	Number  float64
	String  string
	Strings []string
	Map     map[string]float64
}

// absent returns the value that stands for none.
func absent() Value { return Value{Number: math.NaN()} }

// isAbsent reports whether v is absent(). No player's value is: their numbers are finite.
func (v *Value) isAbsent() bool { return math.IsNaN(v.Number) }

func trim(s string) string { return strings.TrimSpace(s) }

func (s *scope) attributes(root object) {
	for i, item := range root.list("playerAttributes") {
		if o, ok := s.object(item, at("playerAttributes", i)); ok {
			s.declareAttribute(o)
		}
	}
}

func (s *scope) declareAttribute(o object) {
	o.only("name", "type", "default")
	a := Attribute{Name: trim(o.text("name", MissingProperty)), At: o.here()}
	if o.get("type") == nil {
		o.bad("type", MissingProperty, "is required")
	} else {
		a.Type = AttributeType(o.word("type", BadAttributeType, string(Number), string(String), string(StringSet), string(NumberMap)))
	}
	if n := o.get("default"); n != nil && a.Type != "" {
		a.Default = o.defaultOf(a.Type, n)
	}
	switch {
	case a.Name == "":
	case s.rs.attribute(a.Name) >= 0:
		o.bad("name", DuplicateAttribute, "there is another attribute %q", a.Name)
	default:
		s.rs.Attributes = append(s.rs.Attributes, a)
	}
}

// defaultOf reads a default. For every type the empty string means none.
func (o object) defaultOf(t AttributeType, n *node) *Value {
	if n.kind == isText && n.text == "" {
		return nil
	}
	v, ok := &Value{}, false
	switch t {
	case Number:
		v.Number, ok = n.asNumber()
	case String:
		v.String, ok = n.text, n.kind == isText
	case StringSet:
		v.Strings, ok = n.asStrings()
	case NumberMap:
		v.Map, ok = n.asMap()
	}
	if !ok {
		o.bad("default", BadAttributeDefault, "must be a value of the type %s", t)
		return nil
	}
	return v
}

func (n *node) asStrings() ([]string, bool) {
	if n.kind != isList {
		return nil, false
	}
	out := make([]string, 0, len(n.items))
	for _, item := range n.items {
		if item.kind != isText {
			return nil, false
		}
		out = append(out, item.text)
	}
	return out, true
}

func (n *node) asMap() (map[string]float64, bool) {
	if n.kind != isObject {
		return nil, false
	}
	out := make(map[string]float64, len(n.members))
	for _, m := range n.members {
		v, ok := m.value.asNumber()
		if !ok {
			return nil, false
		}
		out[m.name] = v
	}
	return out, true
}
