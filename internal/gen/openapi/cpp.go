package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// emitCPPTypes returns the C++ types of the schemas and the requests, as a header.
func emitCPPTypes(m *model) ([]byte, error) {
	b := &cpp{}
	b.WriteString(`// Code generated from openapi.yaml. DO NOT EDIT.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/json.h"
#include "muster/result.h"

namespace muster {

`)
	for _, s := range inOrder(m.Schemas) {
		b.declare(s)
	}
	b.declareAPI(m.forClients())
	b.WriteString("}  // namespace muster\n")
	return b.Bytes(), nil
}

// emitCPPSource returns the conversions of the types, and the requests.
func emitCPPSource(m *model) ([]byte, error) {
	b := &cpp{}
	b.WriteString(`// Code generated from openapi.yaml and asyncapi.yaml. DO NOT EDIT.

#include "muster/api.h"

#include "caller.h"

namespace muster {

`)
	for _, s := range inOrder(m.Schemas) {
		b.define(s)
	}
	for _, o := range m.forClients() {
		b.request(o)
	}
	b.WriteString("}  // namespace muster\n")
	return b.Bytes(), nil
}

// inOrder returns schemas after those that they contain.
func inOrder(all []*schema) []*schema {
	var ordered []*schema
	var add func(s *schema)
	add = func(s *schema) {
		if slices.Contains(ordered, s) {
			return
		}
		for _, f := range s.Members {
			for t := f.Type; t != nil; t = t.Of {
				if t.Object != nil {
					add(t.Object)
				}
			}
		}
		ordered = append(ordered, s)
	}
	for _, s := range all {
		add(s)
	}
	return ordered
}

type cpp struct{ bytes.Buffer }

func (b *cpp) line(format string, args ...any) {
	fmt.Fprintf(b, format, args...)
	b.WriteString("\n")
}

// cppWords are names that C++ does not leave to others.
var cppWords = []string{"namespace", "public", "private", "default", "new", "delete", "class", "union", "export", "operator", "register", "auto"}

func cppName(name string) string {
	name = snake(name)
	if slices.Contains(cppWords, name) {
		return name + "_"
	}
	return name
}

func cppType(f *member) string {
	t := cppPlain(f.Type)
	optional := []kind{boolean, integer, number, moment, choice, object}
	if (!f.Required || f.Type.Nullable) && slices.Contains(optional, f.Type.Kind) {
		return "std::optional<" + t + ">"
	}
	return t
}

func cppPlain(t *typ) string {
	switch t.Kind {
	case boolean:
		return "bool"
	case integer:
		return "std::int64_t"
	case number:
		return "double"
	case text:
		return "std::string"
	case moment:
		return "Time"
	case choice:
		return cppChoice(t)
	case list:
		return "std::vector<" + cppPlain(t.Of) + ">"
	case dictionary:
		return "std::map<std::string, " + cppPlain(t.Of) + ">"
	case object:
		return t.Object.Name
	}
	return "Json"
}

func cppChoice(t *typ) string { return t.Schema.Name + pascal(t.Member) }

func cppDefault(t string) string {
	switch t {
	case "bool":
		return " = false"
	case "std::int64_t", "double":
		return " = 0"
	}
	return ""
}

// declare writes a struct, and an enum before it for each member that is a choice.
func (b *cpp) declare(s *schema) {
	for _, f := range s.Members {
		if f.Type.Kind != choice {
			continue
		}
		name := cppChoice(f.Type)
		b.line("/// %s", sentence(f.Doc))
		b.line("enum class %s {", name)
		b.line("  unknown,  ///< of a newer server")
		for _, v := range f.Type.Values {
			b.line("  %s,", cppName(strings.ToLower(v)))
		}
		b.line("};")
		b.line("/// The spelling of a value.")
		b.line("const char* text_of(%s value);", name)
		b.line("")
	}
	b.line("/// %s", sentence(s.Doc))
	b.line("struct %s {", s.Name)
	for _, f := range s.Members {
		t := cppType(f)
		value := cppDefault(t)
		if f.Type.Kind == choice && t == cppChoice(f.Type) {
			value = " = " + t + "::unknown"
		}
		b.line("  %s %s%s;  ///< %s", t, cppName(f.Name), value, sentence(f.Doc))
	}
	b.line("")
	b.line("  static %s from_json(const Json& json);", s.Name)
	b.line("  Json to_json() const;")
	b.line("};")
	b.line("")
}

// define writes the conversions of a schema.
func (b *cpp) define(s *schema) {
	for _, f := range s.Members {
		if f.Type.Kind == choice {
			b.defineChoice(f)
		}
	}
	b.line("%s %s::from_json(const Json& json) {", s.Name, s.Name)
	b.line("  %s out;", s.Name)
	for _, f := range s.Members {
		from := fmt.Sprintf("json[%q]", f.Name)
		if strings.HasPrefix(cppType(f), "std::optional") {
			b.line("  if (!%s.is_null()) out.%s = %s;", from, cppName(f.Name), cppRead(f.Type, from))
			continue
		}
		b.line("  out.%s = %s;", cppName(f.Name), cppRead(f.Type, from))
	}
	b.line("  return out;")
	b.line("}")
	b.line("")
	b.line("Json %s::to_json() const {", s.Name)
	b.line("  Json json = Json::object();")
	for _, f := range s.Members {
		name := cppName(f.Name)
		switch {
		case strings.HasPrefix(cppType(f), "std::optional"):
			b.line("  if (%s) json.set(%q, %s);", name, f.Name, cppWrite(f.Type, "*"+name))
		case f.Required || f.Type.Kind == boolean:
			b.line("  json.set(%q, %s);", f.Name, cppWrite(f.Type, name))
		case f.Type.Kind == anyJSON:
			b.line("  if (!%s.is_null()) json.set(%q, %s);", name, f.Name, cppWrite(f.Type, name))
		default:
			b.line("  if (!%s.empty()) json.set(%q, %s);", name, f.Name, cppWrite(f.Type, name))
		}
	}
	b.line("  return json;")
	b.line("}")
	b.line("")
}

func (b *cpp) defineChoice(f *member) {
	name := cppChoice(f.Type)
	b.line("const char* text_of(%s value) {", name)
	b.line("  switch (value) {")
	for _, v := range f.Type.Values {
		b.line("    case %s::%s: return %q;", name, cppName(strings.ToLower(v)), v)
	}
	b.line("    default: return \"unknown\";")
	b.line("  }")
	b.line("}")
	b.line("")
	b.line("static %s read_%s(const std::string& text) {", name, name)
	for _, v := range f.Type.Values {
		b.line("  if (text == %q) return %s::%s;", v, name, cppName(strings.ToLower(v)))
	}
	b.line("  return %s::unknown;", name)
	b.line("}")
	b.line("")
}

// cppRead returns an expression that converts JSON.
func cppRead(t *typ, from string) string {
	switch t.Kind {
	case boolean:
		return from + ".boolean()"
	case integer:
		return from + ".integer()"
	case number:
		return from + ".number()"
	case text:
		return from + ".text()"
	case moment:
		return from + ".time()"
	case choice:
		return "read_" + cppChoice(t) + "(" + from + ".text())"
	case list:
		return fmt.Sprintf("%s.list<%s>([](const Json& v) { return %s; })", from, cppPlain(t.Of), cppRead(t.Of, "v"))
	case dictionary:
		return fmt.Sprintf("%s.map<%s>([](const Json& v) { return %s; })", from, cppPlain(t.Of), cppRead(t.Of, "v"))
	case object:
		return t.Object.Name + "::from_json(" + from + ")"
	}
	return from
}

// cppWrite returns an expression of type Json.
func cppWrite(t *typ, value string) string {
	switch t.Kind {
	case choice:
		return "Json(text_of(" + value + "))"
	case list:
		return fmt.Sprintf("Json::list(%s, [](const %s& v) { return %s; })", value, cppPlain(t.Of), cppWrite(t.Of, "v"))
	case dictionary:
		return fmt.Sprintf("Json::map(%s, [](const %s& v) { return %s; })", value, cppPlain(t.Of), cppWrite(t.Of, "v"))
	case object:
		if strings.HasPrefix(value, "*") {
			return strings.TrimPrefix(value, "*") + "->to_json()"
		}
		return value + ".to_json()"
	case anyJSON:
		return value
	}
	return "Json(" + value + ")"
}

// declareAPI writes the class with a method for each operation.
func (b *cpp) declareAPI(operations []*operation) {
	b.line("class Caller;")
	b.line("")
	b.line("/// The requests of the player API, as they are described, with the player's login. Each calls")
	b.line("/// done once. An empty text leaves a parameter out. Client has methods that do more.")
	b.line("class Api {")
	b.line(" public:")
	b.line("  explicit Api(Caller& caller) : caller_(caller) {}")
	for _, o := range operations {
		doc := o.Doc
		if o.Waits {
			doc += "; nothing where nothing changed"
		}
		b.line("")
		b.line("  /// %s", sentence(doc))
		b.line("  Call %s(%s);", snake(o.ID), cppParams(o, true))
	}
	b.line("")
	b.line(" private:")
	b.line("  Caller& caller_;")
	b.line("};")
	b.line("")
}

// cppAnswer returns the type of the result of an operation.
func cppAnswer(o *operation) string {
	switch {
	case o.Answer == nil:
		return "Nothing"
	case o.Answer.Kind != object:
		return "Answer"
	case o.Waits:
		return "std::optional<" + o.Answer.Object.Name + ">"
	}
	return o.Answer.Object.Name
}

func cppParams(o *operation, defaults bool) string {
	var all []string
	for _, p := range o.InPath {
		all = append(all, "const std::string& "+cppName(p.Name))
	}
	if o.Body != nil {
		all = append(all, "const "+cppPlain(o.Body)+"& body")
	}
	all = append(all, "Callback<"+cppAnswer(o)+"> done")
	value := ""
	if defaults {
		value = ` = ""`
	}
	for _, p := range slices.Concat(o.Query, o.Headers) {
		all = append(all, "const std::string& "+cppName(p.Name)+value)
	}
	return strings.Join(all, ", ")
}

// request writes the method of an operation.
func (b *cpp) request(o *operation) {
	b.line("Call Api::%s(%s) {", snake(o.ID), cppParams(o, false))
	path := fmt.Sprintf("std::string(%q)", o.Path)
	for _, p := range o.InPath {
		path = strings.Replace(path, "{"+p.Name+"}", `") + escape(`+cppName(p.Name)+`) + std::string("`, 1)
	}
	path = strings.TrimSuffix(path, ` + std::string("")`)
	b.line("  Request request(%q, %s, Access::%s, %t);", o.Method, path, cppName(string(o.Access)), o.Repeatable)
	for _, p := range o.Query {
		b.line("  request.query(%q, %s);", p.Name, cppName(p.Name))
	}
	for _, p := range o.Headers {
		b.line("  request.header(%q, %s);", p.Name, cppName(p.Name))
	}
	if o.Body != nil {
		b.line("  request.body = %s;", cppWrite(o.Body, "body"))
	}
	convert := "[](const Answer&) { return Nothing{}; }"
	switch {
	case o.Answer == nil:
	case o.Answer.Kind != object:
		convert = "[](const Answer& a) { return a; }"
	case o.Waits:
		convert = fmt.Sprintf("[](const Answer& a) { return a.body.is_null() ? std::nullopt : std::make_optional(%s::from_json(a.body)); }", o.Answer.Object.Name)
	default:
		convert = fmt.Sprintf("[](const Answer& a) { return %s::from_json(a.body); }", o.Answer.Object.Name)
	}
	b.line("  return caller_.call<%s>(std::move(request), %s, std::move(done));", cppAnswer(o), convert)
	b.line("}")
	b.line("")
}
