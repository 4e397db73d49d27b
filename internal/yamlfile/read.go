package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/internal/nearest"
)

// Bounds of a file.
const (
	maxNodes  = 200_000 // values, counting those behind anchors each time
	maxErrors = 20      // reported at once
)

// Read decodes a file into v, a pointer to a struct. Members are structs, pointers, slices,
// maps with strings as keys, strings, numbers and booleans; a string takes any scalar as it is
// written. A type with a method Values, as enums of AWS's SDK have, takes those only. Members
// that the file leaves out, or sets to null, stay as they are. The error joins an *Error for
// each mistake.
func Read(file string, text []byte, v any) error {
	_, err := ReadLines(file, text, v)
	return err
}

// Lines are the lines of the values of a file by their paths, such as Fleets.arena.Locations[1].
type Lines map[string]int

// Of returns the line of a path, or of the longest beginning of it that the file has.
func (l Lines) Of(path string) int {
	for path != "" {
		if line, ok := l[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// ReadLines is Read, and returns where the values are.
func ReadLines(file string, text []byte, v any) (Lines, error) {
	doc, err := parse(file, text)
	if err != nil || doc == nil {
		return nil, err
	}
	r := &reader{file: file, lines: Lines{}}
	r.value(doc, reflect.ValueOf(v).Elem(), "")
	return r.lines, errors.Join(r.errs...)
}

// Error is one mistake in a file.
type Error struct {
	File string
	Line int
	Text string // names the member, the rule and the remedy
}

// Error returns FILE:LINE: text.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

type reader struct {
	file   string
	merges bool // leave keys << to the decoder
	lines  Lines
	nodes  int
	errs   []error
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, &Error{r.file, n.Line, fmt.Sprintf(format, args...)})
	}
}

func (r *reader) at(path string, line int) {
	if r.lines != nil {
		r.lines[path] = line
	}
}

// value decodes a node into v; at is its path, for errors.
func (r *reader) value(n *yaml.Node, v reflect.Value, at string) {
	if !r.count(n) {
		return
	}
	if n.Kind == yaml.AliasNode {
		r.value(n.Alias, v, at)
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		null(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		r.value(n, p.Elem(), at)
		v.Set(p)
	case reflect.Struct:
		r.object(n, v, at)
	case reflect.Map:
		r.table(n, v, at)
	case reflect.Slice:
		r.list(n, v, at)
	default:
		r.scalar(n, v, at)
	}
}

// count reports whether a value is within the bound of a file.
func (r *reader) count(n *yaml.Node) bool {
	if r.nodes++; r.nodes == maxNodes+1 {
		r.fail(n, "the file has more than %d values", maxNodes)
	}
	return r.nodes <= maxNodes
}

// null leaves a value out. In a table, `NAME:` with nothing behind it is an entry without
// members.
func null(v reflect.Value) {
	if v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct {
		v.Set(reflect.New(v.Type().Elem()))
	}
}

func (r *reader) object(n *yaml.Node, v reflect.Value, at string) {
	r.pairs(n, at, func(key, value *yaml.Node, below string) {
		f := v.FieldByName(key.Value)
		if !f.IsValid() || !f.CanSet() {
			r.fail(key, "unknown key %q%s%s", key.Value, within(at), meant(key.Value, fields(v.Type())))
			return
		}
		if value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null" {
			return
		}
		r.value(value, f, below)
	})
}

func (r *reader) table(n *yaml.Node, v reflect.Value, at string) {
	made := reflect.MakeMap(v.Type())
	r.pairs(n, at, func(key, value *yaml.Node, below string) {
		e := reflect.New(v.Type().Elem()).Elem()
		r.value(value, e, below)
		made.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e)
	})
	v.Set(made)
}

// pairs calls each for the keys of a mapping and their values.
func (r *reader) pairs(n *yaml.Node, at string, each func(key, value *yaml.Node, below string)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%s must have keys and values, such as \"Name: value\"", place(at))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if r.merges && key.ShortTag() == "!!merge" {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			r.fail(key, "a key%s must be text", within(at))
			continue
		}
		if line, twice := seen[key.Value]; twice {
			r.fail(key, "key %q%s is there twice; it is in line %d too", key.Value, within(at), line)
			continue
		}
		seen[key.Value] = key.Line
		below := strings.TrimPrefix(at+"."+key.Value, ".")
		r.at(below, key.Line)
		each(key, value, below)
	}
}

func (r *reader) list(n *yaml.Node, v reflect.Value, at string) {
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%s must be a list: a line that begins with \"-\" for each element", place(at))
		return
	}
	made := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		below := fmt.Sprintf("%s[%d]", at, i)
		r.at(below, e.Line)
		r.value(e, made.Index(i), below)
	}
	v.Set(made)
}

func (r *reader) scalar(n *yaml.Node, v reflect.Value, at string) {
	if n.Kind != yaml.ScalarNode {
		r.fail(n, "%s must be one value, not a list or keys", place(at))
		return
	}
	switch v.Kind() {
	case reflect.String:
		if all := values(v); len(all) > 0 && !slices.Contains(all, n.Value) {
			r.fail(n, "%s is %q; it must be one of %s%s", place(at), n.Value, some(all), meant(n.Value, all))
			return
		}
		v.SetString(n.Value)
	case reflect.Int32, reflect.Int64, reflect.Int:
		number, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil {
			r.fail(n, "%s is %q; it must be a whole number", place(at), n.Value)
			return
		}
		v.SetInt(number)
	case reflect.Float64:
		number, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			r.fail(n, "%s is %q; it must be a number", place(at), n.Value)
			return
		}
		v.SetFloat(number)
	case reflect.Bool:
		if n.Value != "true" && n.Value != "false" {
			r.fail(n, "%s is %q; it must be true or false", place(at), n.Value)
			return
		}
		v.SetBool(n.Value == "true")
	default:
		panic("yamlfile: a member of type " + v.Type().String())
	}
}

// values returns the values of an enum, or nil.
func values(v reflect.Value) []string {
	method := v.MethodByName("Values")
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return nil
	}
	var all []string
	for list, i := method.Call(nil)[0], 0; i < list.Len(); i++ {
		all = append(all, list.Index(i).String())
	}
	return all
}

// some returns a list of values for an error, cut if it is long.
func some(all []string) string {
	const most = 12
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d others", len(all)-most)
	}
	return strings.Join(all, ", ")
}

// fields returns the names of the members of a type.
func fields(t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			all = append(all, f.Name)
		}
	}
	return all
}

func place(at string) string { return cmp.Or(at, "the file") }

func within(at string) string {
	if at == "" {
		return ""
	}
	return " in " + at
}

// meant returns a suggestion for a word that is not among the known ones, or what there is.
func meant(word string, known []string) string {
	if name := nearest.Of(word, known); name != "" {
		return fmt.Sprintf("; did you mean %q?", name)
	}
	return "; there are " + some(known)
}

// Unknown returns what is wrong with a reference to something that is not among the known
// names, and what was probably meant. It is "" if name is "".
func Unknown(name string, known []string) string {
	switch {
	case name == "":
		return ""
	case len(known) == 0:
		return fmt.Sprintf("%q is not in the file, nor any other of its kind", name)
	}
	return fmt.Sprintf("%q is not in the file%s", name, meant(name, known))
}
