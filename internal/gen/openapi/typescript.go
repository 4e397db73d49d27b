package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// byHand are the operations that the libraries for TypeScript and GDScript call by themselves:
// logins, for their tokens, and requests whose headers or answers need more than a call.
var byHand = []string{
	"socketTicket", "createGuest", "loginGuest", "refresh", "logout", "loginProvider", "link", "unlink", "merge", "deleteMe",
	"getData", "putData", "deleteData",
}

// tsRoots are schemas that code by hand refers to, besides those of calls.
var tsRoots = []string{"Session", "ProviderLogin", "MergeRequest"}

// tsRegular matches names that the library converts to camelCase and back.
var tsRegular = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// typeScript writes the types and calls of the TypeScript library.
type typeScript struct {
	bytes.Buffer
	used   map[*schema]bool
	shapes map[*schema]string // expressions that say how a schema is converted
}

// emitTypeScript returns the types, how they are converted between JSON and TypeScript, and
// the calls.
func emitTypeScript(m *model) ([]byte, error) {
	t := &typeScript{used: map[*schema]bool{}, shapes: map[*schema]string{}}
	calls := slices.DeleteFunc(m.forClients(), func(o *operation) bool { return slices.Contains(byHand, o.ID) })
	for _, name := range tsRoots {
		t.use(&typ{Kind: object, Object: m.schema(name)})
	}
	for _, o := range calls {
		t.use(o.Body)
		t.use(o.Answer)
	}
	t.WriteString("// Code generated from openapi.yaml. DO NOT EDIT.\n\nimport { path, query } from \"./http.js\";\nimport type { Shape } from \"./wire.js\";\n")
	t.writeProblems(m.Problems)
	for _, s := range m.Schemas {
		if t.used[s] {
			if err := t.writeInterface(s); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	t.WriteString("\n/** Names to convert, and no more. */\nconst plain: Shape = {};\n")
	for _, s := range m.Schemas {
		if t.used[s] {
			if _, err := t.shape(s); err != nil {
				return nil, err
			}
		}
	}
	t.WriteString(tsCallsHead)
	for _, o := range calls {
		t.writeCall(o)
	}
	t.WriteString("}\n")
	return t.Bytes(), nil
}

const tsCallsHead = `
/** What every call takes. */
export interface CallOptions {
  /** Gives the call up. A request that is on its way may still have its effect. */
  readonly signal?: AbortSignal | undefined;
}

/** A request, and how its body and its answer are converted. @internal */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly bodyShape?: Shape;
  readonly shape?: Shape;
  /** Whether it needs no login. */
  readonly open?: boolean;
}

/** The calls of the player API that need nothing besides their answer. */
export abstract class Calls {
  /** @internal */
  protected abstract call<T>(call: Call, options?: CallOptions): Promise<T>;
`

// use marks the schemas that a type refers to.
func (t *typeScript) use(of *typ) {
	if of == nil {
		return
	}
	t.use(of.Of)
	if of.Object == nil || t.used[of.Object] {
		return
	}
	t.used[of.Object] = true
	for _, f := range of.Object.Members {
		t.use(f.Type)
	}
}

func (t *typeScript) writeProblems(all []problemCode) {
	codes := make([]string, len(all))
	for i, p := range all {
		codes[i] = fmt.Sprintf("\n  | %q", p.Code)
	}
	fmt.Fprintf(t, "\n/** The kinds of problems. Newer servers may have more. */\nexport type ProblemCode =%s;\n", strings.Join(codes, ""))
}

func (t *typeScript) writeInterface(s *schema) error {
	fmt.Fprintf(t, "\n/** %s */\nexport interface %s {\n", tsDoc(s.Doc), s.Name)
	var choices []*member
	for _, f := range s.Members {
		if !tsRegular.MatchString(f.Name) {
			return fmt.Errorf("%s: the name does not convert to camelCase and back", f.Name)
		}
		mark, absent := "", ""
		if !f.Required {
			mark, absent = "?", " | undefined"
		}
		fmt.Fprintf(t, "  /** %s. */\n  readonly %s%s: %s%s;\n", tsDoc(f.Doc), camel(f.Name), mark, tsType(f.Type), absent)
		if f.Type.Kind == choice {
			choices = append(choices, f)
		}
	}
	t.WriteString("}\n")
	for _, f := range choices {
		values := make([]string, len(f.Type.Values))
		for i, v := range f.Type.Values {
			values[i] = fmt.Sprintf("%q", v)
		}
		fmt.Fprintf(t, "\n/** %s. */\nexport type %s = %s;\n", tsDoc(f.Doc), tsType(f.Type), strings.Join(values, " | "))
	}
	return nil
}

// tsDoc returns text that ends no comment.
func tsDoc(text string) string { return strings.ReplaceAll(text, "*/", "* /") }

func tsType(of *typ) string {
	null := ""
	if of.Nullable {
		null = " | null"
	}
	switch of.Kind {
	case boolean:
		return "boolean" + null
	case integer, number:
		return "number" + null
	case text:
		return "string" + null
	case moment:
		return "Date" + null
	case choice:
		return of.Schema.Name + pascal(of.Member) + null
	case list:
		return "readonly " + tsType(of.Of) + "[]" + null
	case dictionary:
		return "Readonly<Record<string, " + tsType(of.Of) + ">>" + null
	case object:
		return of.Object.Name + null
	}
	return "unknown"
}

// shape returns the expression that says how a schema is converted, and writes it, and those
// that it refers to, before it is used.
func (t *typeScript) shape(s *schema) (string, error) {
	if text, known := t.shapes[s]; known {
		if text == "" {
			return "", fmt.Errorf("%s refers to itself", s.Name)
		}
		return text, nil
	}
	t.shapes[s] = ""
	var parts []string
	for _, f := range s.Members {
		text, err := t.memberShape(f.Type)
		if err != nil {
			return "", err
		}
		if text != "" {
			parts = append(parts, camel(f.Name)+": "+text)
		}
	}
	t.shapes[s] = "plain"
	if len(parts) > 0 {
		t.shapes[s] = camel(s.Name) + "Shape"
		fmt.Fprintf(t, "\n/** How {@link %s} is converted. @internal */\nexport const %s: Shape = { %s };\n", s.Name, t.shapes[s], strings.Join(parts, ", "))
	}
	return t.shapes[s], nil
}

// memberShape returns how a member's value is converted, "" for not at all.
func (t *typeScript) memberShape(of *typ) (string, error) {
	switch of.Kind {
	case object:
		return t.shape(of.Object)
	case moment:
		return `"date"`, nil
	case list: // each item is converted
		return t.memberShape(of.Of)
	case dictionary:
		each, err := t.memberShape(of.Of)
		if each == "" || err != nil {
			return "", err
		}
		return `{ "*": ` + each + " }", nil
	}
	return "", nil
}

// placeholder matches a name in a path.
var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func (t *typeScript) writeCall(o *operation) {
	var args, queries, options []string
	for _, p := range o.InPath {
		args = append(args, p.Name+": string")
	}
	for _, p := range o.Query {
		if o.Waits && p.Name == "wait" { // requests that wait are made by hand
			continue
		}
		options = append(options, fmt.Sprintf("\n    /** %s. */\n    readonly %s?: %s | undefined;", tsDoc(p.Doc), p.Name, tsType(p.Type)))
		queries = append(queries, p.Name+": options?."+p.Name)
	}
	path := strings.TrimPrefix(o.Path, "/player/v1")
	call := []string{fmt.Sprintf("method: %q", o.Method)}
	expression := fmt.Sprintf("%q", path)
	if len(args) > 0 {
		expression = "path`" + placeholder.ReplaceAllString(path, "$${$1}") + "`"
	}
	if len(queries) > 0 {
		expression += " + query({ " + strings.Join(queries, ", ") + " })"
	}
	call = append(call, "path: "+expression)
	if o.Body != nil {
		args = append(args, "body: "+tsType(o.Body))
		call = append(call, "body", "bodyShape: "+t.shapes[o.Body.Object])
	}
	answer := "void"
	if o.Answer != nil {
		answer = tsType(o.Answer)
		call = append(call, "shape: "+t.shapes[o.Answer.Object])
	}
	if o.Access == byAnybody {
		call = append(call, "open: true")
	}
	taken := "CallOptions"
	if len(options) > 0 {
		taken += " & {" + strings.Join(options, "") + "\n  }"
	}
	args = append(args, "options?: "+taken)
	fmt.Fprintf(t, "\n  /** %s. */\n  %s(%s): Promise<%s> {\n    return this.call({ %s }, options);\n  }\n",
		tsDoc(o.Doc), o.ID, strings.Join(args, ", "), answer, strings.Join(call, ", "))
}
