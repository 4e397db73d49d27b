package awsrpc

import (
	"fmt"
	"reflect"

	"github.com/musterhq/muster/internal/shape"
)

// rule is a shape.Type compiled to check Go values: patterns are compiled and members
// have their index in the Go struct.
type rule struct {
	shape.Type
	pattern *pattern
	enum    map[string]struct{}
	key     *rule
	elem    *rule
	members []memberRule
	free    bool // no value can break it
}

type memberRule struct {
	name     string
	field    int
	required bool
	*rule
}

// compiler makes rules from a description and the Go types generated with it; it is an
// error if they do not match.
type compiler struct {
	structures map[string][]shape.Member
	structs    map[string]*rule
	patterns   map[string]*pattern
}

func newCompiler(api *shape.API) *compiler {
	return &compiler{structures: api.Structures, structs: map[string]*rule{}, patterns: map[string]*pattern{}}
}

// input compiles the rule of an operation's input.
func (c *compiler) input(op *shape.Operation) (*rule, error) {
	r := &rule{Type: shape.Type{Kind: shape.Struct}}
	err := c.members(r, op.Input, reflect.TypeOf(op.NewInput()).Elem())
	if err != nil {
		return nil, fmt.Errorf("operation %s: %w", op.Name, err)
	}
	return r, nil
}

func (c *compiler) members(r *rule, ms []shape.Member, t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%v is no structure", t)
	}
	r.free = true
	for _, m := range ms {
		f, ok := t.FieldByName(m.Name)
		if !ok {
			return fmt.Errorf("%v has no field %s", t, m.Name)
		}
		sub, err := c.compile(m.Type, f.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if !m.Required && sub.free {
			continue
		}
		r.free = false
		r.members = append(r.members, memberRule{name: m.Name, field: f.Index[0], required: m.Required, rule: sub})
	}
	return nil
}

// compile makes the rule of a type; t is the Go type, or a pointer to it.
func (c *compiler) compile(ty shape.Type, t reflect.Type) (*rule, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if ty.Kind == shape.Struct {
		return c.structure(ty, t)
	}
	if !goKind(ty.Kind, t) {
		return nil, fmt.Errorf("a shape of kind %d cannot be a %v", ty.Kind, t)
	}
	r := &rule{Type: ty}
	var err error
	if ty.Pattern != "" {
		if r.pattern, err = c.pattern(ty.Pattern); err != nil {
			return nil, err
		}
	}
	if ty.Enum != nil {
		r.enum = make(map[string]struct{}, len(ty.Enum))
		for _, v := range ty.Enum {
			r.enum[v] = struct{}{}
		}
	}
	if ty.Key != nil {
		if r.key, err = c.compile(*ty.Key, t.Key()); err != nil {
			return nil, err
		}
	}
	if ty.Elem != nil {
		if r.elem, err = c.compile(*ty.Elem, t.Elem()); err != nil {
			return nil, err
		}
	}
	r.free = r.isFree()
	return r, nil
}

// structure makes the rule of a structure once, however many members refer to it.
func (c *compiler) structure(ty shape.Type, t reflect.Type) (*rule, error) {
	if r := c.structs[ty.Ref]; r != nil {
		return r, nil
	}
	ms, ok := c.structures[ty.Ref]
	if !ok {
		return nil, fmt.Errorf("the description has no structure %q", ty.Ref)
	}
	r := &rule{Type: ty}
	c.structs[ty.Ref] = r
	if err := c.members(r, ms, t); err != nil {
		return nil, fmt.Errorf("structure %s: %w", ty.Ref, err)
	}
	return r, nil
}

func (c *compiler) pattern(source string) (*pattern, error) {
	if p := c.patterns[source]; p != nil {
		return p, nil
	}
	p, err := newPattern(source)
	c.patterns[source] = p
	return p, err
}

// isFree reports whether no value of the Go type can break the rule. For floats some
// always can: NaN and infinities are refused.
func (r *rule) isFree() bool {
	if r.Kind == shape.Float || r.Kind == shape.Double {
		return false
	}
	bounded := r.Min != nil && *r.Min != 0 || r.Max != nil || r.Min != nil && isNumber(r.Kind)
	return !bounded && r.pattern == nil && r.enum == nil &&
		(r.key == nil || r.key.free) && (r.elem == nil || r.elem.free)
}

func isNumber(k shape.Kind) bool {
	return k == shape.Integer || k == shape.Long || k == shape.Float || k == shape.Double
}

// goKind reports whether the Go type represents values of a shape's kind.
func goKind(k shape.Kind, t reflect.Type) bool {
	switch k {
	case shape.Boolean:
		return t.Kind() == reflect.Bool
	case shape.String:
		return t.Kind() == reflect.String
	case shape.Integer:
		return t.Kind() == reflect.Int32
	case shape.Long:
		return t.Kind() == reflect.Int64
	case shape.Float:
		return t.Kind() == reflect.Float32
	case shape.Double:
		return t.Kind() == reflect.Float64
	case shape.Timestamp:
		return t.Implements(reflect.TypeFor[timestamp]())
	case shape.Blob:
		return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	case shape.List:
		return t.Kind() == reflect.Slice
	case shape.Map:
		return t.Kind() == reflect.Map && t.Key().Kind() == reflect.String
	}
	return false
}
