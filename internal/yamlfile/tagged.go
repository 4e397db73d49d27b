package yamlfile

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// ReadTagged decodes a file into v, a pointer, as go.yaml.in/yaml does: keys are named by tags
// "yaml". The error joins an *Error for each mistake.
func ReadTagged(file string, text []byte, v any) error {
	doc, err := parse(file, text)
	if err != nil || doc == nil {
		return err
	}
	if err := check(file, doc, reflect.TypeOf(v).Elem(), "yaml"); err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return located(file, d.Decode(v))
}

// CheckJSON returns what is wrong with a file, in YAML or JSON, whose values are decoded into a
// value of the type of v as JSON is. The error joins an *Error for each mistake; it is nil if
// only the type itself can say what is wrong.
func CheckJSON(file string, text []byte, v any) error {
	doc, err := parse(file, text)
	if err != nil || doc == nil {
		return err
	}
	return check(file, doc, reflect.TypeOf(v), "json")
}

// Entry is a key of a file, and its value.
type Entry struct {
	Key   string
	Line  int
	Value *yaml.Node // never an alias
}

// Entries returns the keys at the top of a file, in their order, without those whose value is
// null.
func Entries(file string, text []byte) (all []Entry, err error) {
	doc, err := parse(file, text)
	if err != nil || doc == nil {
		return nil, err
	}
	r := &reader{file: file}
	r.pairs(doc, "", func(key, value *yaml.Node, _ string) {
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.Kind != yaml.ScalarNode || value.ShortTag() != "!!null" {
			all = append(all, Entry{key.Value, key.Line, value})
		}
	})
	return all, errors.Join(r.errs...)
}

// parse returns the first document of a file, nil if it has none.
func parse(file string, text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, located(file, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// located returns an error of the parser with the file and the line.
func located(file string, err error) error {
	if err == nil {
		return nil
	}
	var at *yaml.LoadError
	if errors.As(err, &at) && at.Mark.Line > 0 {
		return &Error{file, at.Mark.Line, "this is not YAML: " + at.Message}
	}
	return fmt.Errorf("%s: %w", file, err)
}

func check(file string, doc *yaml.Node, t reflect.Type, tag string) error {
	c := &checker{reader{file: file, merges: true}, tag}
	c.value(doc, t, "")
	return errors.Join(c.errs...)
}

// checker compares a file with a type whose keys are in tags.
type checker struct {
	reader
	tag string // "yaml" or "json"
}

func (c *checker) value(n *yaml.Node, t reflect.Type, at string) {
	if !c.count(n) {
		return
	}
	if n.Kind == yaml.AliasNode {
		c.value(n.Alias, t, at)
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" || t.Kind() == reflect.Interface {
		return
	}
	own := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && c.tag == "json" ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	switch {
	case t.Kind() == reflect.Pointer:
		c.value(n, t.Elem(), at)
	case t.Kind() == reflect.Struct && (!own || n.Kind == yaml.MappingNode):
		c.object(n, t, at)
	case own:
		c.leaf(n, t, at)
	case t.Kind() == reflect.Map:
		c.pairs(n, at, func(_, value *yaml.Node, below string) { c.value(value, t.Elem(), below) })
	case t.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			c.fail(n, "%s must be a list: each element begins with %q", place(at), c.begins(t.Elem()))
			return
		}
		for i, e := range n.Content {
			if at != "" {
				c.value(e, t.Elem(), fmt.Sprintf("%s[%d]", at, i))
			} else if e.Kind == yaml.ScalarNode && t.Elem().Kind() == reflect.Struct {
				c.fail(e, "each element must have keys and values: it begins with %q", c.begins(t.Elem()))
			} else {
				c.value(e, t.Elem(), "") // the line says which
			}
		}
	case n.Kind != yaml.ScalarNode:
		c.fail(n, "%s must be one value, not a list or keys", place(at))
	default:
		c.leaf(n, t, at)
	}
}

func (c *checker) object(n *yaml.Node, t reflect.Type, at string) {
	types := map[string]reflect.Type{}
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			if name := c.key(f); name != "-" {
				names, types[name] = append(names, name), f.Type
			}
		}
	}
	c.pairs(n, at, func(key, value *yaml.Node, below string) {
		if of := types[key.Value]; of != nil {
			c.value(value, of, below)
		} else {
			c.fail(key, "unknown key %q%s%s", key.Value, within(at), meant(key.Value, names))
		}
	})
}

// key returns the key of a field.
func (c *checker) key(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get(c.tag), ",")
	if name == "" {
		name = strings.ToLower(f.Name)
	}
	return name
}

// begins returns how an element of a list begins in a file.
func (c *checker) begins(t reflect.Type) string {
	if t.Kind() == reflect.Struct && t.NumField() > 0 {
		return "- " + c.key(t.Field(0)) + ": "
	}
	return "- "
}

// leaf checks a value by decoding it.
func (c *checker) leaf(n *yaml.Node, t reflect.Type, at string) {
	v := reflect.New(t)
	err := n.Decode(v.Interface())
	if c.tag == "json" {
		var text []byte
		if text, err = asJSON(n); err == nil {
			err = json.Unmarshal(text, v.Interface())
		}
	}
	if err == nil {
		return
	}
	must := ""
	switch t.Kind() {
	case reflect.String:
		must = "it must be text, in quotes"
	case reflect.Bool:
		must = "it must be true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		must = "it must be a whole number"
		if t == reflect.TypeFor[time.Duration]() {
			must = "it must be a duration, such as 30s, 5m or 24h"
		}
	case reflect.Float32, reflect.Float64:
		must = "it must be a number"
	default:
		must = err.Error()
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(n, "%s: %s", place(at), must)
		return
	}
	c.fail(n, "%s is %q; %s", place(at), n.Value, must)
}

// asJSON returns a value as JSON.
func asJSON(n *yaml.Node) ([]byte, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
