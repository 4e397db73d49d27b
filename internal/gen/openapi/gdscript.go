package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// gdTypesHead begins the types of the GDScript library, which Godot 3 runs.
const gdTypesHead = `# Code generated from openapi.yaml and asyncapi.yaml. DO NOT EDIT.
extends Reference

## What the player API takes and returns. A member that the API leaves out is "", an empty
## Array or Dictionary, or null. Times are text, as in 2026-11-23T15:04:05Z:
## MusterClient.unix_time converts them.

const Wire = preload("../internal/wire.gd")
`

const gdCallsHead = `# Code generated from openapi.yaml. DO NOT EDIT.
extends Node

## The calls of the player API that need nothing besides their answer. Each returns a
## MusterCall. A request may be a Dictionary or an object of Types.

const Types = preload("types.gd")
const Request = preload("../internal/request.gd")

# Makes a request and returns a MusterCall; its value is of the type, if that is not null.
func _call(_request, _type):
	assert(false, "MusterClient makes the requests")
`

// emitGDScriptTypes returns the types of the GDScript library: a class for each schema, with
// its conversion from and to Dictionary.
func emitGDScriptTypes(m *model) ([]byte, error) {
	b := &gdScript{}
	b.WriteString(gdTypesHead)
	b.line(0, "\n")
	b.line(0, "## The kinds of problems. Newer servers may have more.")
	b.line(0, "class ProblemCode extends Reference:")
	for _, p := range m.Problems {
		b.line(1, "const %s = %q", gdConstant(p.Code), p.Code)
	}
	b.line(0, "\n")
	b.line(0, "## The types of the messages of the push.")
	b.line(0, "class PushMessage extends Reference:")
	b.line(1, "const SUBPROTOCOL = %q", m.Subproto)
	for _, msg := range m.Messages {
		b.doc(1, msg.Doc)
		b.line(1, "const %s = %q", gdConstant(msg.Name), msg.Name)
	}
	for _, s := range inOrder(m.Schemas) {
		if s.FromClient || s.FromServer {
			b.schema(s)
		}
	}
	return b.Bytes(), nil
}

// emitGDScriptCalls returns the class that the client of the GDScript library extends: a
// method for each operation that it does not call by itself.
func emitGDScriptCalls(m *model) ([]byte, error) {
	b := &gdScript{}
	b.WriteString(gdCallsHead)
	for _, o := range m.forClients() {
		if !slices.Contains(byHand, o.ID) {
			b.call(o)
		}
	}
	return b.Bytes(), nil
}

type gdScript struct{ bytes.Buffer }

func (b *gdScript) line(indent int, format string, args ...any) {
	b.WriteString(strings.Repeat("\t", indent))
	fmt.Fprintf(b, format, args...)
	b.WriteString("\n")
}

// doc writes a documentation comment.
func (b *gdScript) doc(indent int, text string) { b.line(indent, "## %s", sentence(text)) }

// gdWords are names that GDScript does not leave to members: words of the language, its functions,
// and a property that all objects have.
var gdWords = strings.Fields(`and as assert break class const continue elif else enum export extends for func if in is
	master match mute not null or pass preload puppet remote return self setget signal static tool true var void while yield
	abs ceil char clamp convert db2linear decimals ease exp floor fmod hash instance_from_id is_inf is_nan len lerp load log
	max min ord parse_json pow print range round seed sign sin sqrt step_decimals stepify str tan to_json typeof
	validate_json weakref wrapf wrapi script`)

// gdMember is the name of a variable of a class.
func gdMember(f *member) string {
	if slices.Contains(gdWords, f.Name) {
		return f.Name + "_"
	}
	return f.Name
}

// gdConstant is the name of a constant: TICKET_ACTIVE.
func gdConstant(name string) string { return strings.ToUpper(snake(strings.ToLower(name))) }

// schema writes a class.
func (b *gdScript) schema(s *schema) {
	b.line(0, "\n")
	b.doc(0, s.Doc)
	b.line(0, "class %s extends Reference:", s.Name)
	for _, f := range s.Members {
		if f.Type.Kind != choice {
			continue
		}
		for _, v := range f.Type.Values {
			b.line(1, "const %s_%s = %q", gdConstant(f.Name), gdConstant(v), v)
		}
	}
	for _, f := range s.Members {
		b.doc(1, f.Doc)
		b.line(1, "var %s%s", gdMember(f), gdDefault(f))
	}
	b.line(0, "")
	b.line(1, "## Returns what a Dictionary of the API says; null if it is none. Members that are not known")
	b.line(1, "## are ignored.")
	b.line(1, "static func from_dictionary(given):")
	b.line(2, "if not given is Dictionary:")
	b.line(3, "return null")
	b.line(2, "var it = %s.new()", s.Name)
	for _, f := range s.Members {
		b.read(f)
	}
	b.line(2, "return it")
	b.line(0, "")
	b.line(1, "## Returns it as a Dictionary of the API, without what is absent.")
	b.line(1, "func to_dictionary() -> Dictionary:")
	b.line(2, "var out = {}")
	for _, f := range s.Members {
		b.write(f)
	}
	b.line(2, "return out")
}

// gdDefault declares a member's type and its value until it is set.
func gdDefault(f *member) string {
	switch f.Type.Kind {
	case text, moment, choice:
		return ` := ""`
	case list:
		return " := []"
	case dictionary:
		return " := {}"
	}
	if gdMayBeNull(f) {
		return " = null"
	}
	return map[kind]string{boolean: " := false", integer: " := 0", number: " := 0.0"}[f.Type.Kind]
}

// gdMayBeNull reports whether null stands for a member without a value.
func gdMayBeNull(f *member) bool {
	return f.Type.Nullable || !f.Required || f.Type.Kind == object || f.Type.Kind == anyJSON
}

// read writes the lines that take a member from a Dictionary.
func (b *gdScript) read(f *member) {
	switch from := fmt.Sprintf("Wire.list(given, %q)", f.Name); {
	case f.Type.Kind == list && f.Type.Of.Object != nil:
		b.line(2, "for each in %s:", from)
		b.line(3, "Wire.add(it.%s, %s.from_dictionary(each))", gdMember(f), f.Type.Of.Object.Name)
	case f.Type.Kind == dictionary && f.Type.Of.Object != nil:
		from = fmt.Sprintf("Wire.dictionary(given, %q)", f.Name)
		b.line(2, "for name in %s:", from)
		b.line(3, "it.%s[name] = %s.from_dictionary(given[%q][name])", gdMember(f), f.Type.Of.Object.Name, f.Name)
	case f.Type.Kind == object:
		b.line(2, "it.%s = %s.from_dictionary(given.get(%q))", gdMember(f), f.Type.Object.Name, f.Name)
	case f.Type.Kind == anyJSON:
		b.line(2, "it.%s = given.get(%q)", gdMember(f), f.Name)
	default:
		reader := map[kind]string{
			boolean: "boolean", integer: "integer", number: "number", text: "text", moment: "text", choice: "text", list: "list", dictionary: "dictionary",
		}[f.Type.Kind]
		otherwise := ""
		if gdMayBeNull(f) && strings.Contains("boolean integer number", reader) {
			otherwise = ", null"
		}
		b.line(2, "it.%s = Wire.%s(given, %q%s)", gdMember(f), reader, f.Name, otherwise)
	}
}

// write writes the lines that put a member into a Dictionary.
func (b *gdScript) write(f *member) {
	name := gdMember(f)
	value := fmt.Sprintf("Wire.plain(%s)", name)
	absent := ""
	switch {
	case f.Required:
	case f.Type.Kind == list || f.Type.Kind == dictionary:
		absent = fmt.Sprintf("not %s.empty()", name)
	case slices.Contains([]kind{text, moment, choice}, f.Type.Kind):
		absent = fmt.Sprintf("%s != \"\"", name)
	default:
		absent = name + " != null"
	}
	if absent == "" {
		b.line(2, "out[%q] = %s", f.Name, value)
		return
	}
	b.line(2, "if %s:", absent)
	b.line(3, "out[%q] = %s", f.Name, value)
}

// gdParam is the name of a parameter that is a part of a path. What has an id is named by that.
func gdParam(name string) string {
	if slices.Contains([]string{"ticket", "party", "player", "session", "placement"}, name) {
		return name + "_id"
	}
	return snake(name)
}

// call writes the method of an operation.
func (b *gdScript) call(o *operation) {
	var params, segments, query []string
	names := map[string]string{}
	for _, p := range o.InPath {
		names[p.Name] = gdParam(p.Name)
		params = append(params, names[p.Name])
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(o.Path, "/player/v1/"), "/") {
		if placed, is := strings.CutPrefix(segment, "{"); is {
			segments = append(segments, names[strings.TrimSuffix(placed, "}")])
		} else {
			segments = append(segments, fmt.Sprintf("%q", segment))
		}
	}
	request := fmt.Sprintf("Request.new(%q, [%s])", o.Method, strings.Join(segments, ", "))
	if o.Body != nil {
		params = append(params, "body")
		request += ".with_body(body)"
	}
	for _, p := range o.Query {
		if o.Waits && p.Name == "wait" { // requests that wait are made by hand
			continue
		}
		params = append(params, p.Name+" = null")
		query = append(query, fmt.Sprintf("%q: %s", p.Name, p.Name))
	}
	if len(query) > 0 {
		request += fmt.Sprintf(".with_query({%s})", strings.Join(query, ", "))
	}
	if o.Access == byAnybody {
		request += ".by_anybody()"
	}
	answer := "null"
	if o.Answer != nil && o.Answer.Object != nil {
		answer = "Types." + o.Answer.Object.Name
	}
	b.line(0, "\n")
	b.doc(0, o.Doc)
	for _, p := range o.Query {
		if !o.Waits || p.Name != "wait" {
			b.line(0, "## %s: %s", p.Name, sentence(strings.ToLower(p.Doc[:1])+p.Doc[1:]))
		}
	}
	if o.Body != nil && o.Body.Object != nil {
		b.line(0, "## body: %s.", o.Body.Object.Name)
	}
	if answer != "null" {
		b.line(0, "## Its value: %s.", o.Answer.Object.Name)
	}
	b.line(0, "func %s(%s):", snake(o.ID), strings.Join(params, ", "))
	b.line(1, "return _call(%s, %s)", request, answer)
}
