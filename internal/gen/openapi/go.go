package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

// emitGo returns the Go types of the schemas, which the server and the Go library share.
// They belong to the library, which depends on the standard library only.
func emitGo(m *model) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from openapi.yaml. DO NOT EDIT.\n\npackage protocol\n\nimport (\n\t\"encoding/json\"\n\t\"time\"\n)\n\n")
	for _, s := range m.Schemas {
		writeGoType(&b, s)
	}
	return format.Source(b.Bytes())
}

func writeGoType(b *bytes.Buffer, s *schema) {
	fmt.Fprintf(b, "// %s: %s\ntype %s struct {\n", s.Name, s.Doc, s.Name)
	var choices []*member
	for _, f := range s.Members {
		tag := f.Name
		if !f.Required {
			tag += ",omitzero"
		}
		fmt.Fprintf(b, "\t%s %s `json:%q` // %s\n", goName(f.Name), goType(f.Type), tag, f.Doc)
		if f.Type.Kind == choice {
			choices = append(choices, f)
		}
	}
	b.WriteString("}\n\n")
	for _, f := range choices {
		name := goType(f.Type)
		fmt.Fprintf(b, "// %s: %s\ntype %s string\n\n// The values of %s.\nconst (\n", name, f.Doc, name, name)
		for _, v := range f.Type.Values {
			fmt.Fprintf(b, "\t%s%s %s = %q\n", name, goName(strings.ToLower(v)), name, v)
		}
		b.WriteString(")\n\n")
	}
}

func goType(t *typ) string {
	switch t.Kind {
	case boolean:
		if t.Nullable {
			return "*bool"
		}
		return "bool"
	case integer:
		return "int64"
	case number:
		return "float64"
	case text:
		return "string"
	case moment:
		return "time.Time"
	case choice:
		return t.Schema.Name + goName(t.Member)
	case list:
		return "[]" + strings.TrimPrefix(goType(t.Of), "*")
	case dictionary:
		return "map[string]" + strings.TrimPrefix(goType(t.Of), "*")
	case object:
		return "*" + t.Object.Name
	}
	return "json.RawMessage"
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
