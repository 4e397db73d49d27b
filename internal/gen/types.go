package main

import "fmt"

// familyTypes writes the inputs and outputs of a family's operations.
func (m *model) familyTypes(f family) []byte {
	s := newSource()
	for _, name := range f.Operations {
		op := m.Operations[name]
		s.structType(name+"Input", fmt.Sprintf("is what %s takes.", name), op.Input)
		switch {
		case op.Output == nil:
			s.structType(name+"Output", fmt.Sprintf("is empty: %s models no output.", name), nil)
		default:
			s.structType(name+"Output", fmt.Sprintf("is what %s answers.", name), *op.Output)
		}
	}
	return s.Bytes()
}

// structureFiles writes the shared structures and the constraints of those that
// inputs refer to.
func (m *model) structureFiles(files map[string][]byte) {
	types, table := newSource(), newSource("github.com/musterhq/muster/internal/shape")
	reached := m.reachable()
	table.linef("// structures returns the members of the structures that inputs refer to.")
	table.linef("func structures() map[string][]shape.Member {")
	table.linef("return map[string][]shape.Member{")
	for _, name := range sortedKeys(m.Structures) {
		ms := m.Structures[name].Members
		types.structType(name, "is a structure of the API.", ms)
		if reached[name] {
			table.linef("%q: {", name)
			table.memberTable(ms)
			table.linef("},")
		}
	}
	table.linef("}")
	table.linef("}")
	files["structures.go"] = types.Bytes()
	files["structures_table.go"] = table.Bytes()
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
