package awsrpc

import (
	"bytes"
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/internal/fault"
)

// jsonCodec is AWS's JSON protocol 1.1.
type jsonCodec struct{}

func (jsonCodec) name() string        { return "json" }
func (jsonCodec) contentType() string { return "application/x-amz-json-1.1" }

func (jsonCodec) accepts(contentType string) error {
	return acceptsType(contentType, "application/x-amz-json-1.1", "application/x-amz-json-1.0", "application/json")
}

func (jsonCodec) errorType(code string, _ bool) string { return code }

func (jsonCodec) encode(buf *bytes.Buffer, out any) error {
	return json.MarshalWrite(buf, out, json.Deterministic(true))
}

func (jsonCodec) decode(body []byte, in any) error {
	if len(body) == 0 {
		return nil
	}
	if err := bounded(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, in)
	if err == nil {
		return nil
	}
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		return fault.New(fault.Serialization, "%s: %s", pointerPath(s.JSONPointer), semanticRule(s))
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fault.New(fault.Serialization, "%s: malformed JSON at byte %d: %v", pointerPath(s.JSONPointer), s.ByteOffset, s.Err)
	}
	return fault.New(fault.Serialization, "malformed JSON: %v", err)
}

// bounded returns an error for bodies that nest too deep or have too many values,
// before anything is allocated for them. It only follows strings and brackets; the
// decoder checks whether the text is valid JSON.
func bounded(body []byte) error {
	depth, values := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = stringEnd(body, i+1)
		case '{', '[':
			if depth++; depth > maxDepth {
				return fault.New(fault.Serialization, "body: nests deeper than %d levels", maxDepth)
			}
		case '}', ']':
			depth--
		case ',':
			if values++; values > maxValues {
				return fault.New(fault.Serialization, "body: holds more than %d values", maxValues)
			}
		}
	}
	return nil
}

// stringEnd returns the index of the quote that ends the string whose text begins at i,
// or len(body) if there is none.
func stringEnd(body []byte, i int) int {
	for i < len(body) {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return len(body)
		}
		end, escapes := i+n, 0
		for k := end - 1; k >= i && body[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		i = end + 1
	}
	return len(body)
}

// pointerPath returns a JSON pointer as a path in the notation of error messages:
// /Players/0/PlayerId → Players[0].PlayerId.
func pointerPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() == 0:
			b.WriteString(token)
		default:
			b.WriteString("." + token)
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return clip(b.String())
}

// semanticRule says what type a value should have been.
func semanticRule(s *json.SemanticError) string {
	if s.GoType == nil {
		return "has the wrong type"
	}
	return "must be " + expected(s.GoType)
}

// expected describes the values that a Go type represents.
func expected(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := reflect.Zero(t).Interface().(timestamp); ok {
		return "a timestamp: a number of seconds since 1970"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "an integer of 32 bits"
	case reflect.Int64:
		return "an integer of 64 bits"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct:
		return "a structure"
	case reflect.Map:
		return "a map"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes (base64 in JSON)"
		}
		return "a list"
	}
	return "another type"
}
