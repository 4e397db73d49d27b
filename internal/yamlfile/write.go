package yamlfile

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Write encodes a struct as a file that Read reads. Members that have no value are left out:
// nil pointers, slices and maps, and empty strings that are not behind a pointer.
func Write(v any) ([]byte, error) {
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(node(reflect.ValueOf(v))); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	err := e.Close()
	return out.Bytes(), err
}

func node(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		return node(v.Elem())
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && present(v.Field(i)) {
				n.Content = append(n.Content, text(f.Name), node(v.Field(i)))
			}
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			n.Content = append(n.Content, text(k.String()), node(v.MapIndex(k)))
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, node(v.Index(i)))
		}
		return n
	case reflect.String:
		return text(v.String())
	case reflect.Bool:
		return plain(strconv.FormatBool(v.Bool()))
	case reflect.Float64:
		return plain(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	default:
		return plain(strconv.FormatInt(v.Int(), 10))
	}
}

// present reports whether a member is to be written.
func present(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return !v.IsNil()
	}
	return !v.IsZero()
}

func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// text returns a string that is read as a string: quoted if it would be taken for something
// else, as a block if it has several lines.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") && literal(s) {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// literal reports whether a text survives as a literal block.
func literal(s string) bool {
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.ContainsAny(s, "\r\t\u0085\u2028\u2029\ufeff") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " ") != line {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == 0xfffd })
}

// Line returns a value in one line, as it would be written: "" for what is left out. A number or a
// truth value is there, whatever it is.
func Line(v reflect.Value) string {
	if !v.IsValid() || !present(v) && !v.CanInt() && !v.CanFloat() && v.Kind() != reflect.Bool {
		return ""
	}
	n := node(v)
	flow(n)
	out, err := yaml.Dump(n, yaml.WithLineWidth(-1))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// Empty reports whether a pointer to a struct leads to one without members.
func Empty(v reflect.Value) bool { return len(node(v).Content) == 0 }

func flow(n *yaml.Node) {
	n.Style = yaml.FlowStyle
	if n.Kind == yaml.ScalarNode {
		n.Style = 0
		if strings.ContainsAny(n.Value, "\n\r") {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	for _, c := range n.Content {
		flow(c)
	}
}
