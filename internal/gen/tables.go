package main

import (
	"fmt"
	"strconv"
	"strings"
)

// apiTable writes the function that returns the whole description.
func (m *model) apiTable() []byte {
	s := newSource("slices", "", "github.com/musterhq/muster/internal/shape")
	s.linef("// API returns a new description of version 2015-10-01.")
	s.linef("func API() shape.API {")
	s.linef("return shape.API{")
	s.linef("Service: %q,", m.Meta.ServiceID)
	s.linef("Target: %q,", m.Meta.TargetPrefix)
	s.linef("Namespace: %q,", "com.amazonaws."+strings.ToLower(m.Meta.ServiceID))
	s.linef("Structures: structures(),")
	s.linef("Operations: slices.Concat(")
	for _, f := range m.families {
		s.linef("%sOperations(),", f.File)
	}
	s.linef("),")
	s.linef("}")
	s.linef("}")
	return s.Bytes()
}

// familyFile writes the operations of a family with their inputs' constraints, and the
// types of their inputs and outputs.
func (m *model) familyFile(f family) []byte {
	s := newSource("github.com/musterhq/muster/internal/fault", "github.com/musterhq/muster/internal/shape")
	s.linef("func %sOperations() []shape.Operation {", f.File)
	s.linef("return shape.Family(%q,", f.Name)
	for _, name := range f.Operations {
		s.operation(name, m.Operations[name])
	}
	s.linef(")")
	s.linef("}")
	s.linef("")
	for _, name := range f.Operations {
		s.operationTypes(name, m.Operations[name])
	}
	return s.Bytes()
}

func (s *source) operation(name string, op operation) {
	s.linef("shape.Of[%sInput, %sOutput](shape.Operation{", name, name)
	s.linef("Name: %q,", name)
	s.linef("Errors: []fault.Kind{%s},", faultKinds(op.Errors))
	s.linef("Input: []shape.Member{")
	s.memberTable(op.Input)
	s.linef("},")
	s.linef("}),")
}

// faultKinds turns NotFoundException, … into fault.NotFound, …
func faultKinds(names []string) string {
	var kinds []string
	for _, n := range names {
		kinds = append(kinds, "fault."+strings.TrimSuffix(n, "Exception"))
	}
	return strings.Join(kinds, ", ")
}

func (s *source) memberTable(ms members) {
	for _, m := range ms {
		required := ""
		if m.Required {
			required = "Required: true, "
		}
		s.linef("{Name: %q, %sType: shape.Type{%s}},", m.Name, required, typeFields(&m.typ))
	}
}

// typeFields returns the fields of a shape.Type literal.
func typeFields(t *typ) string {
	fields := []string{"Kind: shape." + strings.ToUpper(t.Kind[:1]) + t.Kind[1:]}
	add := func(format string, args ...any) { fields = append(fields, fmt.Sprintf(format, args...)) }
	if t.Min != nil {
		add("Min: new(%s)", floatLiteral(*t.Min))
	}
	if t.Max != nil {
		add("Max: new(%s)", floatLiteral(*t.Max))
	}
	if t.Pattern != "" {
		add("Pattern: %s", stringLiteral(t.Pattern))
	}
	switch {
	case t.EnumRef != "":
		add("Enum: %sValues()", t.EnumRef)
	case t.Enum != nil && t.Shape != "":
		add("Enum: %sValues()", t.Shape)
	case t.Enum != nil:
		add("Enum: %#v", t.Enum)
	}
	if t.Key != nil {
		add("Key: &shape.Type{%s}", typeFields(t.Key))
	}
	for _, elem := range []*typ{t.Elem, t.Value} {
		if elem != nil {
			add("Elem: &shape.Type{%s}", typeFields(elem))
		}
	}
	if t.Ref != "" {
		add("Ref: %q", t.Ref)
	}
	if t.Sensitive {
		add("Sensitive: true")
	}
	return strings.Join(fields, ", ")
}

// floatLiteral formats a number so that Go reads it as a float64.
func floatLiteral(f float64) string {
	return "float64(" + strconv.FormatFloat(f, 'f', -1, 64) + ")"
}

func stringLiteral(s string) string {
	if strings.Contains(s, "`") {
		return strconv.Quote(s)
	}
	return "`" + s + "`"
}
