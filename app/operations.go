package app

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/shape"
)

// operationRow describes an operation of the API to people.
type operationRow struct {
	Name   string      `json:"name"`
	Family string      `json:"family"`
	Input  []memberRow `json:"input"`
	Errors []string    `json:"errors"`
}

// memberRow describes a member of an input.
type memberRow struct {
	Name     string   `json:"name"`
	Required bool     `json:"required,omitempty"`
	Type     string   `json:"type"`
	Values   []string `json:"values,omitempty"` // the allowed ones
	Rule     string   `json:"rule,omitempty"`   // what else it must be
}

// operations returns every operation, by name.
func operations() []operationRow {
	out := []operationRow{}
	for _, o := range gamelift.API().Operations {
		row := operationRow{Name: o.Name, Family: o.Family, Input: []memberRow{}, Errors: []string{}}
		for _, m := range o.Input {
			row.Input = append(row.Input, memberRow{Name: m.Name, Required: m.Required, Type: typeName(&m.Type), Values: m.Type.Enum, Rule: ruleOf(&m.Type)})
		}
		for _, kind := range o.Errors {
			row.Errors = append(row.Errors, string(kind))
		}
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b operationRow) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// typeName returns the name of a type, in words.
func typeName(t *shape.Type) string {
	switch t.Kind {
	case shape.Boolean:
		return "boolean"
	case shape.String:
		return "string"
	case shape.Integer:
		return "integer"
	case shape.Long:
		return "long"
	case shape.Float, shape.Double:
		return "number"
	case shape.Timestamp:
		return "timestamp"
	case shape.Blob:
		return "blob"
	case shape.List:
		return "list of " + typeName(t.Elem)
	case shape.Map:
		return "map of " + typeName(t.Elem)
	}
	return cmp.Or(t.Ref, "structure")
}

// ruleOf returns the limits of a type, in words.
func ruleOf(t *shape.Type) string {
	what := ""
	switch t.Kind {
	case shape.String:
		what = " characters"
	case shape.Blob:
		what = " bytes"
	case shape.List, shape.Map:
		what = " elements"
	}
	number := func(v *float64) string { return strconv.FormatFloat(*v, 'f', -1, 64) }
	var rules []string
	switch {
	case t.Min != nil && t.Max != nil:
		rules = append(rules, fmt.Sprintf("%s to %s%s", number(t.Min), number(t.Max), what))
	case t.Min != nil:
		rules = append(rules, "at least "+number(t.Min)+what)
	case t.Max != nil:
		rules = append(rules, "at most "+number(t.Max)+what)
	}
	if t.Pattern != "" {
		rules = append(rules, "matches "+t.Pattern)
	}
	return strings.Join(rules, "; ")
}
