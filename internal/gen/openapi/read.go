package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// written is the part of JSON Schema that the descriptions use.
type written struct {
	Description string         `yaml:"description"`
	Type        yaml.Node      `yaml:"type"`
	Format      string         `yaml:"format"`
	Const       string         `yaml:"const"`
	Enum        []string       `yaml:"enum"`
	Ref         string         `yaml:"$ref"`
	Items       *written       `yaml:"items"`
	Additional  *written       `yaml:"additionalProperties"`
	Required    []string       `yaml:"required"`
	Properties  yaml.Node      `yaml:"properties"`
	Codes       map[string]int `yaml:"x-codes"`
}

func (m *model) readRequests(document []byte) error {
	var d struct {
		Info       struct{ Version string }
		Security   []map[string][]string
		Paths      yaml.Node
		Components struct{ Schemas yaml.Node }
	}
	if err := yaml.Unmarshal(document, &d); err != nil {
		return err
	}
	m.Version = d.Info.Version
	if err := m.readSchemas(entries(&d.Components.Schemas)); err != nil {
		return err
	}
	for _, p := range entries(&d.Paths) {
		if err := m.readPath(p.name, p.value, d.Security); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// readSchemas first makes all schemas, to which members then refer.
func (m *model) readSchemas(all []entry) error {
	texts := map[*schema]*written{}
	for _, e := range all {
		w := &written{}
		if err := e.value.Decode(w); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		s := &schema{Name: e.name, Doc: w.Description}
		m.Schemas, texts[s] = append(m.Schemas, s), w
	}
	for _, s := range m.Schemas {
		w := texts[s]
		for _, e := range entries(&w.Properties) {
			f, err := m.readMember(s, e, slices.Contains(w.Required, e.name))
			if err != nil {
				return fmt.Errorf("%s: %s: %w", s.Name, e.name, err)
			}
			s.Members = append(s.Members, f)
		}
	}
	return nil
}

func (m *model) readMember(of *schema, e entry, required bool) (*member, error) {
	var w written
	if err := e.value.Decode(&w); err != nil {
		return nil, err
	}
	t, err := m.typeOf(&w)
	if err != nil {
		return nil, err
	}
	if t.Kind == choice {
		t.Schema, t.Member = of, e.name
	}
	for code, status := range w.Codes {
		m.Problems = append(m.Problems, problemCode{code, status})
	}
	slices.SortFunc(m.Problems, func(a, b problemCode) int {
		if a.Status != b.Status {
			return a.Status - b.Status
		}
		return strings.Compare(a.Code, b.Code)
	})
	return &member{Name: e.name, Doc: w.Description, Required: required, Type: t}, nil
}

// typeOf returns the type that a schema describes.
func (m *model) typeOf(w *written) (*typ, error) {
	if w.Ref != "" {
		s := m.schema(w.Ref[strings.LastIndexByte(w.Ref, '/')+1:])
		if s == nil {
			return nil, fmt.Errorf("there is no %s", w.Ref)
		}
		return &typ{Kind: object, Object: s}, nil
	}
	name, nullable := w.Type.Value, false
	if w.Type.Kind == yaml.SequenceNode { // [boolean, "null"]
		name, nullable = w.Type.Content[0].Value, true
	}
	t := &typ{Nullable: nullable, Values: w.Enum}
	var err error
	switch {
	case name == "":
		t.Kind = anyJSON
	case name == "boolean":
		t.Kind = boolean
	case name == "integer":
		t.Kind = integer
	case name == "number":
		t.Kind = number
	case name == "string" && len(w.Enum) > 0:
		t.Kind = choice
	case name == "string" && w.Format == "date-time":
		t.Kind = moment
	case name == "string":
		t.Kind = text
	case name == "array" && w.Items != nil:
		t.Kind = list
		t.Of, err = m.typeOf(w.Items)
	case name == "object" && w.Additional != nil:
		t.Kind = dictionary
		t.Of, err = m.typeOf(w.Additional)
	default:
		err = fmt.Errorf("type %q is not one that the generator knows", name)
	}
	return t, err
}

// parameter is a parameter of a path or of an operation.
type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                written
}

// operationText is an operation as described.
type operationText struct {
	OperationID string `yaml:"operationId"`
	Summary     string
	Security    *[]map[string][]string
	Parameters  []parameter
	RequestBody *struct {
		Content map[string]struct{ Schema written }
	} `yaml:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema *written }
	}
}

func (m *model) readPath(path string, n *yaml.Node, security []map[string][]string) error {
	var shared []parameter
	for _, e := range entries(n) {
		if e.name == "parameters" {
			if err := e.value.Decode(&shared); err != nil {
				return err
			}
			continue
		}
		w := operationText{Security: &security}
		if err := e.value.Decode(&w); err != nil {
			return err
		}
		w.Parameters = slices.Concat(shared, w.Parameters)
		o, err := m.operationOf(&w)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		o.Path, o.Method = path, strings.ToUpper(e.name)
		o.Repeatable = o.IdempotencyKey || slices.Contains([]string{"GET", "PUT", "DELETE"}, o.Method)
		m.Operations = append(m.Operations, o)
	}
	return nil
}

func (m *model) operationOf(w *operationText) (*operation, error) {
	o := &operation{ID: w.OperationID, Doc: w.Summary, Access: byAnybody}
	for _, s := range *w.Security {
		for scheme := range s {
			o.Access = access(scheme)
		}
	}
	if err := m.readParameters(o, w.Parameters); err != nil {
		return nil, err
	}
	var err error
	if w.RequestBody != nil {
		body := w.RequestBody.Content["application/json"].Schema
		if o.Body, err = m.typeOf(&body); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(w.Responses)) {
		if status == "default" {
			continue
		}
		if o.Status, err = strconv.Atoi(status); err != nil {
			return nil, fmt.Errorf("status %q: %w", status, err)
		}
		if s := w.Responses[status].Content["application/json"].Schema; s != nil {
			if o.Answer, err = m.typeOf(s); err != nil {
				return nil, fmt.Errorf("answer: %w", err)
			}
		}
	}
	if o.Status == 0 || o.ID == "" {
		return nil, errors.New("an operationId and the status of success are needed")
	}
	return o, nil
}

func (m *model) readParameters(o *operation, all []parameter) error {
	wait, known := false, false
	for _, p := range all {
		t, err := m.typeOf(&p.Schema)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		f := &member{Name: p.Name, Doc: p.Description, Required: p.Required, Type: t}
		switch {
		case p.In == "path":
			o.InPath = append(o.InPath, f)
		case p.In == "query":
			o.Query = append(o.Query, f)
			wait = wait || p.Name == "wait"
		case p.In == "header" && p.Name == "Idempotency-Key":
			o.IdempotencyKey = true
		case p.In == "header":
			o.Headers = append(o.Headers, f)
			known = known || p.Name == "If-None-Match"
		default:
			return fmt.Errorf("%s: a parameter in %q", p.Name, p.In)
		}
	}
	o.Waits = wait && known
	return nil
}

// push is the description of the push channel.
type push struct {
	Channels map[string]struct {
		Bindings struct {
			WS struct {
				Headers struct{ Properties map[string]written }
			}
		}
	}
	Operations struct {
		FromClient struct {
			Messages references
			Reply    struct{ Messages references }
		} `yaml:"fromClient"`
		ToClient struct{ Messages references } `yaml:"toClient"`
	}
	Components struct{ Messages yaml.Node }
}

type references []struct {
	Ref string `yaml:"$ref"`
}

func (all references) has(name string) bool {
	for _, r := range all {
		if strings.HasSuffix(r.Ref, "/"+name) {
			return true
		}
	}
	return false
}

func (m *model) readPush(document []byte) error {
	var d push
	if err := yaml.Unmarshal(document, &d); err != nil {
		return err
	}
	m.Subproto = d.Channels["push"].Bindings.WS.Headers.Properties["Sec-WebSocket-Protocol"].Const
	for _, e := range entries(&d.Components.Messages) {
		var w struct {
			Summary string
			Payload struct{ Properties map[string]*written }
		}
		if err := e.value.Decode(&w); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		msg := &message{
			Name: e.name, Doc: w.Summary, Cursor: w.Payload.Properties["cursor"] != nil,
			FromClient: d.Operations.FromClient.Messages.has(e.name),
			FromServer: d.Operations.ToClient.Messages.has(e.name) || d.Operations.FromClient.Reply.Messages.has(e.name),
		}
		if data, ok := w.Payload.Properties["data"]; ok {
			var err error
			if data == nil {
				data = &written{}
			}
			if msg.Data, err = m.typeOf(data); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
		m.Messages = append(m.Messages, msg)
	}
	return nil
}
