package main

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// description is the part of an OpenAPI document that types come from.
type description struct {
	Components struct {
		Schemas yaml.Node `yaml:"schemas"`
	} `yaml:"components"`
}

// schema is the part of JSON Schema that is used.
type schema struct {
	Description string    `yaml:"description"`
	Type        yaml.Node `yaml:"type"`
	Format      string    `yaml:"format"`
	Enum        []string  `yaml:"enum"`
	Ref         string    `yaml:"$ref"`
	Items       *schema   `yaml:"items"`
	Additional  *schema   `yaml:"additionalProperties"`
	Required    []string  `yaml:"required"`
	Properties  yaml.Node `yaml:"properties"`
}

// member is one entry of a mapping, in the order of the document.
type member struct {
	name string
	schema
}

// anyJSON is the type of members that may have any value. The types belong to the
// client library, which depends on the standard library only.
const anyJSON = "json.RawMessage"

// generate returns the Go source of a description's schemas.
func generate(text []byte, name string) ([]byte, error) {
	var d description
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	all, err := members(&d.Components.Schemas)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated from openapi.yaml. DO NOT EDIT.\n\npackage %s\n\nimport (\n\t\"encoding/json\"\n\t\"time\"\n)\n\n", name)
	for _, s := range all {
		if err := writeType(&b, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return format.Source(b.Bytes())
}

// members decodes a mapping of schemas.
func members(n *yaml.Node) ([]member, error) {
	var all []member
	for i := 0; i+1 < len(n.Content); i += 2 {
		m := member{name: n.Content[i].Value}
		if err := n.Content[i+1].Decode(&m.schema); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func writeType(b *bytes.Buffer, s member) error {
	fields, err := members(&s.Properties)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "// %s: %s\ntype %s struct {\n", s.name, s.Description, s.name)
	var enums []member
	for _, f := range fields {
		typ, err := goType(s.name, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		tag := f.name
		if !slices.Contains(s.Required, f.name) {
			tag += ",omitzero"
		}
		fmt.Fprintf(b, "\t%s %s `json:%q` // %s\n", goName(f.name), typ, tag, f.Description)
		if len(f.Enum) > 0 {
			enums = append(enums, f)
		}
	}
	b.WriteString("}\n\n")
	for _, e := range enums {
		writeEnum(b, s.name+goName(e.name), e)
	}
	return nil
}

func writeEnum(b *bytes.Buffer, name string, e member) {
	fmt.Fprintf(b, "// %s: %s\ntype %s string\n\n// The values of %s.\nconst (\n", name, e.Description, name, name)
	for _, v := range e.Enum {
		fmt.Fprintf(b, "\t%s%s %s = %q\n", name, goName(strings.ToLower(v)), name, v)
	}
	b.WriteString(")\n\n")
}

// goType returns the Go type of a member of an object.
func goType(of string, f member) (string, error) {
	if len(f.Enum) > 0 {
		return of + goName(f.name), nil
	}
	typ, err := plainType(&f.schema)
	return typ, err
}

func plainType(s *schema) (string, error) {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "*" + name, nil
	}
	kind, nullable := s.Type.Value, false
	if s.Type.Kind == yaml.SequenceNode { // [boolean, "null"]
		kind, nullable = s.Type.Content[0].Value, true
	}
	switch {
	case kind == "boolean" && nullable:
		return "*bool", nil
	case kind == "boolean":
		return "bool", nil
	case kind == "integer":
		return "int64", nil
	case kind == "number":
		return "float64", nil
	case kind == "string" && s.Format == "date-time":
		return "time.Time", nil
	case kind == "string":
		return "string", nil
	case kind == "array" && s.Items != nil:
		of, err := plainType(s.Items)
		return "[]" + strings.TrimPrefix(of, "*"), err
	case kind == "object" && s.Additional != nil:
		of, err := plainType(s.Additional)
		return "map[string]" + strings.TrimPrefix(of, "*"), err
	case kind == "":
		return anyJSON, nil
	}
	return "", fmt.Errorf("no Go type for type %q", kind)
}

// initials are words with irregular capitals in Go names.
var initials = map[string]string{"id": "ID", "ids": "IDs", "url": "URL", "ip": "IP", "dns": "DNS", "rtt": "RTT", "ttl": "TTL", "ms": "Ms", "api": "API", "udp": "UDP", "tcp": "TCP", "https": "HTTPS"}

// goName converts a_name to AName.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		if whole, ok := initials[word]; ok {
			b.WriteString(whole)
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
