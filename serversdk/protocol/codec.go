package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/internal/fault"
)

// MaxRequestID limits a RequestId, in bytes; AWS's SDKs send 32 and 36.
const MaxRequestID = 256

// DecodeHead returns what a frame requests. If it fails, the frame cannot be answered,
// because it does not say to which request the answer would belong.
func DecodeHead(frame []byte) (Head, error) {
	var head Head
	if err := json.Unmarshal(frame, &head, lenient()); err != nil {
		return Head{}, fmt.Errorf("decode frame: %w", err)
	}
	if len(head.RequestID) > MaxRequestID {
		return Head{}, fmt.Errorf("decode frame: RequestId has %d bytes; at most %d are allowed", len(head.RequestID), MaxRequestID)
	}
	return head, nil
}

// Decode returns the members of a request. Errors: InvalidRequest, naming the member.
func Decode[T any](frame []byte) (T, error) {
	var request T
	if bytes.Contains(frame, []byte(`\u0000`)) {
		return request, fault.Invalid("the frame holds U+0000, which no member may")
	}
	if err := json.Unmarshal(frame, &request, lenient()); err != nil {
		return request, refusal(err)
	}
	return request, nil
}

// lenient skips unknown members and treats null as absent, as the JSON package does
// anyway; of two members with one name the last counts. Names match in any case: AWS's
// C# SDK writes attrType and LatencyInMS where its other SDKs write AttrType and
// LatencyInMs.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), json.MatchCaseInsensitiveNames(true))
}

// refusal says, in the caller's terms, which member has the wrong form.
func refusal(err error) error {
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return fault.Invalid("the frame is no JSON object in UTF-8")
	}
	member := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	if member == "" {
		return fault.Invalid("the frame is no JSON object")
	}
	if wrong.GoType == nil {
		return fault.Invalid("%s: has the wrong form", member)
	}
	return fault.Invalid("%s: must be %s", member, form(wrong.GoType.Kind().String()))
}

// form returns the JSON name of a Go kind.
func form(kind string) string {
	switch kind {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "int":
		return "an integer"
	case "float64":
		return "a number"
	case "slice":
		return "a list"
	}
	return "an object"
}

// Encode returns a response or a push as a frame. Every message has a JSON form; bytes
// that are not UTF-8 become U+FFFD.
func Encode(message any) []byte {
	frame, err := json.Marshal(message, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", message, err))
	}
	return frame
}
