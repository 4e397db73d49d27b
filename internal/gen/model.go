package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
)

//go:embed gamelift-2015-10-01.json
var apiFacts []byte

//go:embed documented.json
var documentedFacts []byte

//go:embed families.json
var familyFacts []byte

// model is the published API description: names, types, constraints and errors,
// without any documentation text.
type model struct {
	Meta struct {
		ServiceID    string `json:"serviceId"`
		TargetPrefix string `json:"targetPrefix"`
	} `json:"meta"`
	Operations map[string]operation `json:"operations"`
	Enums      map[string][]string  `json:"enums"`
	Structures map[string]structure `json:"structures"`
	Errors     map[string]struct{}  `json:"errors"`
	families   []family             // in the order of the documents
}

// operation is one operation; a null output means that the API models none.
type operation struct {
	Input  members  `json:"input"`
	Output *members `json:"output"`
	Errors []string `json:"errors"`
}

type structure struct {
	Members members `json:"members"`
}

// family is a group of related operations, for documents.
type family struct {
	Name       string   `json:"name"`
	File       string   `json:"file"`
	Operations []string `json:"operations"`
}

// typ is a member's type and constraints.
type typ struct {
	Shape    string   `json:"s"`
	Kind     string   `json:"t"`
	Min      *float64 `json:"min"`
	Max      *float64 `json:"max"`
	Pattern  string   `json:"pattern"`
	Enum     []string `json:"enum"`
	EnumRef  string   `json:"enumRef"`
	Elem     *typ     `json:"of"`
	Key      *typ     `json:"key"`
	Value    *typ     `json:"value"`
	Ref      string   `json:"ref"`
	Required bool     `json:"req"`

	Sensitive bool `json:"sensitive"`
}

// member is one named member; members keep the description's order.
type member struct {
	Name string
	typ
}

type members []member

// UnmarshalJSON decodes an object and keeps the order of its members.
func (ms *members) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		m := member{Name: name.(string)}
		if err := dec.Decode(&m.typ); err != nil {
			return fmt.Errorf("member %s: %w", m.Name, err)
		}
		*ms = append(*ms, m)
	}
	return nil
}

// load reads the committed facts and checks that every operation has a family.
func load() (*model, error) {
	m := new(model)
	if err := json.Unmarshal(apiFacts, m); err != nil {
		return nil, fmt.Errorf("read API facts: %w", err)
	}
	if err := json.Unmarshal(familyFacts, &m.families); err != nil {
		return nil, fmt.Errorf("read families: %w", err)
	}
	if err := m.document(); err != nil {
		return nil, fmt.Errorf("read documented facts: %w", err)
	}
	var placed []string
	for _, f := range m.families {
		placed = append(placed, f.Operations...)
	}
	slices.Sort(placed)
	if want := sortedKeys(m.Operations); !slices.Equal(placed, want) {
		return nil, fmt.Errorf("families name %d operations, the API has %d: they must be the same", len(placed), len(want))
	}
	return m, nil
}

// document replaces constraints of members with what the API's documentation says, or
// what its clients rely on, if that differs from the model. The facts are listed by
// operation or structure, then by member.
func (m *model) document() error {
	var facts map[string]map[string]json.RawMessage
	if err := json.Unmarshal(documentedFacts, &facts); err != nil {
		return err
	}
	for owner, changes := range facts {
		ms := m.Structures[owner].Members
		if op, ok := m.Operations[owner]; ok {
			ms = op.Input
		}
		for name, change := range changes {
			at := slices.IndexFunc(ms, func(m member) bool { return m.Name == name })
			if at < 0 {
				return fmt.Errorf("%s has no member %s", owner, name)
			}
			if err := json.Unmarshal(change, &ms[at].typ); err != nil {
				return fmt.Errorf("%s.%s: %w", owner, name, err)
			}
		}
	}
	return nil
}

// reachable returns the names of the structures that inputs refer to, directly or
// through others: only these are ever checked.
func (m *model) reachable() map[string]bool {
	seen := map[string]bool{}
	var visit func(t *typ)
	visit = func(t *typ) {
		if t == nil {
			return
		}
		visit(t.Elem)
		visit(t.Value)
		if t.Ref == "" || seen[t.Ref] {
			return
		}
		seen[t.Ref] = true
		for _, sub := range m.Structures[t.Ref].Members {
			visit(&sub.typ)
		}
	}
	for _, op := range m.Operations {
		for _, in := range op.Input {
			visit(&in.typ)
		}
	}
	return seen
}
