package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// emitCSharp returns the C# types of the schemas, with their conversion from and to JSON, and
// a method for each operation. The language is C# 7.3, which Unity and Mono compile.
func emitCSharp(m *model) ([]byte, error) {
	b := &csharp{}
	b.WriteString("// Code generated from openapi.yaml and asyncapi.yaml. DO NOT EDIT.\n\nusing System;\nusing System.Collections.Generic;\n" +
		"using System.Threading;\nusing System.Threading.Tasks;\n\nnamespace Muster\n{\n")
	for _, s := range m.Schemas {
		b.schema(s)
	}
	b.api(m.forClients())
	b.messages(m)
	b.WriteString("}\n")
	return b.Bytes(), nil
}

type csharp struct{ bytes.Buffer }

func (b *csharp) line(indent int, format string, args ...any) {
	b.WriteString(strings.Repeat("    ", indent))
	fmt.Fprintf(b, format, args...)
	b.WriteString("\n")
}

// doc writes a documentation comment.
func (b *csharp) doc(indent int, text string) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	b.line(indent, "/// <summary>%s</summary>", escape.Replace(sentence(text)))
}

// sentence ends a text with a period.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// schema writes a class, and an enum for each member that is a choice.
func (b *csharp) schema(s *schema) {
	b.doc(1, s.Doc)
	b.line(1, "public sealed class %s", s.Name)
	b.line(1, "{")
	for _, f := range s.Members {
		b.doc(2, f.Doc)
		b.line(2, "public %s %s { get; set; }%s", csharpType(f), csharpMember(s, f), csharpDefault(f))
		b.line(0, "")
	}
	b.fromJSON(s)
	b.line(0, "")
	b.toJSON(s)
	b.line(1, "}")
	b.line(0, "")
	for _, f := range s.Members {
		if f.Type.Kind == choice {
			b.choice(f)
		}
	}
}

// csharpMember is the name of a property, which must not be that of its class.
func csharpMember(s *schema, f *member) string {
	name := pascal(f.Name)
	if name == s.Name {
		return "Items"
	}
	return name
}

func csharpType(f *member) string {
	t := csharpPlain(f.Type)
	if (!f.Required || f.Type.Nullable) && slices.Contains([]kind{boolean, integer, number, moment, choice}, f.Type.Kind) {
		return t + "?"
	}
	return t
}

func csharpPlain(t *typ) string {
	switch t.Kind {
	case boolean:
		return "bool"
	case integer:
		return "long"
	case number:
		return "double"
	case text:
		return "string"
	case moment:
		return "DateTime"
	case choice:
		return csharpChoice(t)
	case list:
		return "List<" + csharpPlain(t.Of) + ">"
	case dictionary:
		return "Dictionary<string, " + csharpPlain(t.Of) + ">"
	case object:
		return t.Object.Name
	}
	return "JsonValue"
}

func csharpChoice(t *typ) string { return t.Schema.Name + pascal(t.Member) }

func csharpDefault(f *member) string {
	if f.Required && (f.Type.Kind == list || f.Type.Kind == dictionary) {
		return " = new " + csharpPlain(f.Type) + "();"
	}
	return ""
}

func (b *csharp) fromJSON(s *schema) {
	b.doc(2, "Reads it from JSON. Members that are not known are ignored")
	b.line(2, "public static %s FromJson(JsonValue json)", s.Name)
	b.line(2, "{")
	b.line(3, "return new %s", s.Name)
	b.line(3, "{")
	for _, f := range s.Members {
		b.line(4, "%s = %s,", csharpMember(s, f), csharpRead(f.Type, fmt.Sprintf("json[%q]", f.Name), strings.HasSuffix(csharpType(f), "?")))
	}
	b.line(3, "};")
	b.line(2, "}")
}

// csharpRead returns an expression that converts JSON.
func csharpRead(t *typ, from string, nullable bool) string {
	or := map[bool]string{true: "OrNull"}[nullable]
	switch t.Kind {
	case boolean:
		return from + ".Bool" + or + "()"
	case integer:
		return from + ".Long" + or + "()"
	case number:
		return from + ".Double" + or + "()"
	case text:
		return from + ".Text()"
	case moment:
		return from + ".Time" + or + "()"
	case choice:
		if nullable {
			return fmt.Sprintf("%s.IsNull ? (%s?)null : %sText.Parse(%s.Text())", from, csharpChoice(t), csharpChoice(t), from)
		}
		return fmt.Sprintf("%sText.Parse(%s.Text())", csharpChoice(t), from)
	case list:
		return fmt.Sprintf("%s.List(v => %s)", from, csharpRead(t.Of, "v", false))
	case dictionary:
		return fmt.Sprintf("%s.Map(v => %s)", from, csharpRead(t.Of, "v", false))
	case object:
		return fmt.Sprintf("%s.IsNull ? null : %s.FromJson(%s)", from, t.Object.Name, from)
	}
	return from
}

func (b *csharp) toJSON(s *schema) {
	b.doc(2, "Writes it as JSON. Members that are null are left out")
	b.line(2, "public JsonValue ToJson()")
	b.line(2, "{")
	b.line(3, "var json = JsonValue.Object();")
	for _, f := range s.Members {
		name := csharpMember(s, f)
		value := name
		if strings.HasSuffix(csharpType(f), "?") {
			value += ".Value"
			b.line(3, "if (%s.HasValue) json.Set(%q, %s);", name, f.Name, csharpWrite(f.Type, value))
			continue
		}
		if slices.Contains([]kind{boolean, integer, number, moment, choice}, f.Type.Kind) {
			b.line(3, "json.Set(%q, %s);", f.Name, csharpWrite(f.Type, value))
			continue
		}
		b.line(3, "if (%s != null) json.Set(%q, %s);", name, f.Name, csharpWrite(f.Type, value))
	}
	b.line(3, "return json;")
	b.line(2, "}")
}

// csharpWrite returns an expression of type JsonValue.
func csharpWrite(t *typ, value string) string {
	switch t.Kind {
	case choice:
		return fmt.Sprintf("JsonValue.Of(%sText.Of(%s))", csharpChoice(t), value)
	case list:
		return fmt.Sprintf("JsonValue.Of(%s, v => %s)", value, csharpWrite(t.Of, "v"))
	case dictionary:
		return fmt.Sprintf("JsonValue.Of(%s, v => %s)", value, csharpWrite(t.Of, "v"))
	case object:
		return value + ".ToJson()"
	case anyJSON:
		return value
	}
	return "JsonValue.Of(" + value + ")"
}

// choice writes an enum and the spelling of its values. Unknown is what a newer server says.
func (b *csharp) choice(f *member) {
	name := csharpChoice(f.Type)
	b.doc(1, f.Doc)
	b.line(1, "public enum %s", name)
	b.line(1, "{")
	b.doc(2, "A value that this release of the library does not know")
	b.line(2, "Unknown,")
	for _, v := range f.Type.Values {
		b.doc(2, v)
		b.line(2, "%s,", pascal(strings.ToLower(v)))
	}
	b.line(1, "}")
	b.line(0, "")
	b.doc(1, "The spelling of "+name)
	b.line(1, "public static class %sText", name)
	b.line(1, "{")
	b.doc(2, "Returns the spelling of a value")
	b.line(2, "public static string Of(%s value)", name)
	b.line(2, "{")
	b.line(3, "switch (value)")
	b.line(3, "{")
	for _, v := range f.Type.Values {
		b.line(4, "case %s.%s: return %q;", name, pascal(strings.ToLower(v)), v)
	}
	b.line(3, "}")
	b.line(3, "return \"unknown\";")
	b.line(2, "}")
	b.line(0, "")
	b.doc(2, "Returns the value with a spelling")
	b.line(2, "public static %s Parse(string text)", name)
	b.line(2, "{")
	b.line(3, "switch (text)")
	b.line(3, "{")
	for _, v := range f.Type.Values {
		b.line(4, "case %q: return %s.%s;", v, name, pascal(strings.ToLower(v)))
	}
	b.line(3, "}")
	b.line(3, "return %s.Unknown;", name)
	b.line(2, "}")
	b.line(1, "}")
	b.line(0, "")
}

// api writes a method for each operation.
func (b *csharp) api(operations []*operation) {
	b.doc(1, "The requests of the player API, as they are described. MusterClient makes them with the player's login; its own methods do more")
	b.line(1, "public sealed partial class PlayerApi")
	b.line(1, "{")
	for i, o := range operations {
		if i > 0 {
			b.line(0, "")
		}
		b.operation(o)
	}
	b.line(1, "}")
	b.line(0, "")
}

func (b *csharp) operation(o *operation) {
	var params []string
	for _, p := range o.InPath {
		params = append(params, "string "+csharpParam(p.Name))
	}
	if o.Body != nil {
		params = append(params, csharpPlain(o.Body)+" body")
	}
	for _, p := range slices.Concat(o.Query, o.Headers) {
		params = append(params, "string "+csharpParam(p.Name)+" = null")
	}
	params = append(params, "CancellationToken cancel = default(CancellationToken)")
	returns, convert := "Task", ""
	switch {
	case o.Answer == nil:
	case o.Answer.Kind == object:
		returns, convert = "Task<"+o.Answer.Object.Name+">", o.Answer.Object.Name+".FromJson"
	default:
		returns, convert = "Task<ApiAnswer>", "raw"
	}
	doc := o.Doc
	if o.Waits {
		doc += "; null where nothing changed"
	}
	b.doc(2, doc)
	b.line(2, "public %s %sAsync(%s)", returns, pascal(o.ID), strings.Join(params, ", "))
	b.line(2, "{")
	b.line(3, "var request = new ApiRequest(%q, %s, ApiAccess.%s, %t);", o.Method, csharpPath(o), pascal(string(o.Access)), o.Repeatable)
	for _, p := range o.Query {
		b.line(3, "request.Query(%q, %s);", p.Name, csharpParam(p.Name))
	}
	for _, p := range o.Headers {
		b.line(3, "request.Header(%q, %s);", p.Name, csharpParam(p.Name))
	}
	if o.Body != nil {
		b.line(3, "request.Body = %s;", csharpWrite(o.Body, "body"))
	}
	switch convert {
	case "":
		b.line(3, "return caller.SendAsync(request, cancel);")
	case "raw":
		b.line(3, "return caller.SendAsync(request, cancel);")
	default:
		b.line(3, "return caller.SendAsync(request, %s, cancel);", convert)
	}
	b.line(2, "}")
}

// csharpPath returns an expression for the path of an operation.
func csharpPath(o *operation) string {
	path := fmt.Sprintf("%q", o.Path)
	for _, p := range o.InPath {
		path = strings.Replace(path, "{"+p.Name+"}", `" + ApiRequest.Escape(`+csharpParam(p.Name)+`) + "`, 1)
	}
	return strings.TrimSuffix(path, ` + ""`)
}

// csharpParam is the name of a parameter.
func csharpParam(name string) string {
	if name == "namespace" {
		return "@namespace"
	}
	return camel(name)
}

// messages writes the names of the messages of the WebSocket.
func (b *csharp) messages(m *model) {
	b.doc(1, "The types of the messages of the push")
	b.line(1, "internal static class PushMessage")
	b.line(1, "{")
	b.line(2, "internal const string Subprotocol = %q;", m.Subproto)
	for _, msg := range m.Messages {
		b.doc(2, msg.Doc)
		b.line(2, "internal const string %s = %q;", pascal(msg.Name), msg.Name)
	}
	b.line(1, "}")
}
