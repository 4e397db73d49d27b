package main

import "fmt"

// operationTypes writes the input and the output of an operation.
func (s *source) operationTypes(name string, op operation) {
	s.structType(name+"Input", fmt.Sprintf("is what %s takes.", name), op.Input)
	if op.Output == nil {
		s.structType(name+"Output", fmt.Sprintf("is empty: %s models no output.", name), nil)
		return
	}
	s.structType(name+"Output", fmt.Sprintf("is what %s answers.", name), *op.Output)
}

// structureFile writes the constraints of the shared structures that inputs refer to, and
// the types of all.
func (m *model) structureFile() []byte {
	s := newSource("github.com/musterhq/muster/internal/shape")
	reached := m.reachable()
	s.linef("// structures returns the members of the structures that inputs refer to.")
	s.linef("func structures() map[string][]shape.Member {")
	s.linef("return map[string][]shape.Member{")
	names := sortedKeys(m.Structures)
	for _, name := range names {
		if reached[name] {
			s.linef("%q: {", name)
			s.memberTable(m.Structures[name].Members)
			s.linef("},")
		}
	}
	s.linef("}")
	s.linef("}")
	s.linef("")
	for _, name := range names {
		s.structType(name, "is a structure of the API.", m.Structures[name].Members)
	}
	return s.Bytes()
}

// structType writes one Go struct; every member may be absent.
func (s *source) structType(name, what string, ms members) {
	s.linef("// %s %s", name, what)
	s.linef("type %s struct {", name)
	for _, m := range ms {
		note := ""
		if m.Required {
			note = " // required"
		}
		s.linef("%s %s `json:\",omitzero\"`%s", m.Name, goType(&m.typ), note)
	}
	s.linef("}")
	s.linef("")
}

// goType returns the Go type of a member: a pointer if absent and zero differ.
func goType(t *typ) string {
	switch t.Kind {
	case "list":
		return "[]" + elemType(t.Elem)
	case "map":
		return "map[string]" + elemType(t.Value)
	case "blob":
		return "[]byte"
	}
	return "*" + elemType(t)
}

// elemType returns the Go type of a value inside a list or map.
func elemType(t *typ) string {
	switch t.Kind {
	case "struct":
		return t.Ref
	case "list", "map", "blob":
		return goType(t)
	}
	names := map[string]string{
		"string": "string", "integer": "int32", "long": "int64", "float": "float32",
		"double": "float64", "boolean": "bool", "timestamp": "Time",
	}
	return names[t.Kind]
}
