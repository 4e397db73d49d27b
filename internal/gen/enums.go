package main

import (
	"strings"
	"unicode"
)

// Enumerations whose values get no constants: hundreds of labels that code never
// names.
func isCatalogue(name string) bool { return strings.HasSuffix(name, "InstanceType") }

// enumFiles writes the values of every enumeration, and constants for those that code
// may need to name.
func (m *model) enumFiles(files map[string][]byte) {
	enums, catalogues := newSource(), newSource()
	found := m.enums()
	for _, name := range sortedKeys(found) {
		if isCatalogue(name) {
			catalogues.enumValues(name, found[name])
			continue
		}
		enums.enumConstants(name, found[name])
		enums.enumValues(name, found[name])
	}
	files["enums.go"] = enums.Bytes()
	files["instance_types.go"] = catalogues.Bytes()
}

// enums collects the enumerations that members refer to, and names the unnamed ones
// inside lists after their lists.
func (m *model) enums() map[string][]string {
	found := map[string][]string{}
	var visit func(t *typ)
	visit = func(t *typ) {
		if t == nil {
			return
		}
		if t.Elem != nil && t.Elem.Enum != nil && t.Elem.Shape == "" {
			t.Elem.Shape = singular(t.Shape)
		}
		switch {
		case t.EnumRef != "":
			found[t.EnumRef] = m.Enums[t.EnumRef]
		case t.Enum != nil:
			found[t.Shape] = t.Enum
		}
		visit(t.Elem)
		visit(t.Key)
		visit(t.Value)
	}
	for _, ms := range m.allMembers() {
		for _, mem := range ms {
			visit(&mem.typ)
		}
	}
	return found
}

func (m *model) allMembers() []members {
	var all []members
	for _, op := range m.Operations {
		all = append(all, op.Input)
		if op.Output != nil {
			all = append(all, *op.Output)
		}
	}
	for _, st := range m.Structures {
		all = append(all, st.Members)
	}
	return all
}

// singular returns the name of a list's element: FleetActionList → FleetAction,
// Statuses → Status.
func singular(list string) string {
	list = strings.TrimSuffix(list, "List")
	if strings.HasSuffix(list, "uses") {
		return strings.TrimSuffix(list, "es")
	}
	return strings.TrimSuffix(list, "s")
}

func (s *source) enumConstants(name string, values []string) {
	s.linef("// Values of %s.", name)
	s.linef("const (")
	for _, v := range values {
		s.linef("%s%s = %q", name, camel(v), v)
	}
	s.linef(")")
	s.linef("")
}

func (s *source) enumValues(name string, values []string) {
	s.linef("// %sValues returns every value of %s, in the API's order.", name, name)
	s.linef("func %sValues() []string {", name)
	s.linef("return []string{")
	for _, v := range values {
		s.linef("%q,", v)
	}
	s.linef("}")
	s.linef("}")
	s.linef("")
}

// camel converts a value to the end of a Go name: PENDING_UPDATE → PendingUpdate;
// FullProtection stays.
func camel(value string) string {
	if strings.ContainsFunc(value, unicode.IsLower) {
		return value
	}
	var b strings.Builder
	for word := range strings.SplitSeq(value, "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}
