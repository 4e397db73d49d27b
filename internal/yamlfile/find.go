package yamlfile

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Span is where a text is in a file.
type Span struct {
	Line   int  // of the text's first line, from 1
	Indent int  // characters before each of its lines, if Block
	Block  bool // its lines are lines of the file
}

// Find returns where the text is that the keys lead to, from the top of a file that Read takes.
func Find(file []byte, keys ...string) (at Span, ok bool) {
	var doc yaml.Node
	if yaml.Unmarshal(file, &doc) != nil || len(doc.Content) == 0 {
		return at, false
	}
	n := doc.Content[0]
	for _, key := range keys {
		if n = below(n, key); n == nil {
			return at, false
		}
	}
	if n.Kind != yaml.ScalarNode {
		return at, false
	}
	at.Line = n.Line
	if n.Style&yaml.LiteralStyle == 0 {
		return at, true
	}
	first, _, _ := strings.Cut(n.Value, "\n")
	lines := bytes.SplitN(file, []byte("\n"), n.Line+2)
	if before, _, found := strings.Cut(string(lines[min(n.Line, len(lines)-1)]), first); found {
		at = Span{Line: n.Line + 1, Indent: utf8.RuneCountInString(before), Block: true}
	}
	return at, true
}

// below returns the value of a key of a mapping, nil if there is none.
func below(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			if value := n.Content[i+1]; value.Kind == yaml.AliasNode {
				return value.Alias
			}
			return n.Content[i+1]
		}
	}
	return nil
}
