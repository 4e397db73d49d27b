package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Attribute is a typed value that matchmaking rules can read (API reference,
// AttributeValue). Create one with String, Number, StringList or StringNumberMap;
// the zero Attribute is not valid.
type Attribute struct {
	value any // string, float64, []string or map[string]float64
}

// String returns a string attribute. The service accepts 1 to 100 characters.
func String(s string) Attribute { return Attribute{s} }

// Number returns a number attribute; NaN and infinities are not valid.
func Number(n float64) Attribute { return Attribute{n} }

// StringList returns a list of strings, whose order rules ignore. The service accepts
// strings of 1 to 100 characters.
func StringList(s ...string) Attribute { return Attribute{slices.Clone(s)} }

// StringNumberMap returns a map from strings to numbers, such as a score by game mode.
// The service accepts keys of 1 to 100 characters; NaN and infinities are not valid.
func StringNumberMap(m map[string]float64) Attribute { return Attribute{maps.Clone(m)} }

// Value returns what the attribute holds: a string, float64, []string or
// map[string]float64; nil for the zero Attribute. The caller must not modify it.
func (a Attribute) Value() any { return a.value }

// Validate returns an error (ErrInvalid) if rules cannot read the attribute: it has no
// value, or a number is NaN or infinite.
func (a Attribute) Validate() error {
	switch v := a.value.(type) {
	case nil:
		return invalid("the attribute has no value")
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return invalid("%v is not a number that rules can read", v)
		}
	case map[string]float64:
		for key, n := range v {
			if math.IsNaN(n) || math.IsInf(n, 0) {
				return invalid("%q: %v is not a number that rules can read", key, n)
			}
		}
	}
	return nil
}

// MarshalJSON writes the API's form: {"S":…}, {"N":…}, {"SL":…} or {"SDM":…}.
func (a Attribute) MarshalJSON() ([]byte, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	name := "S"
	switch a.value.(type) {
	case float64:
		name = "N"
	case []string:
		name = "SL"
	case map[string]float64:
		name = "SDM"
	}
	return json.Marshal(map[string]any{name: a.value})
}

// UnmarshalJSON accepts what ParseAttribute accepts.
func (a *Attribute) UnmarshalJSON(b []byte) error {
	parsed, err := ParseAttribute(string(b))
	if err == nil {
		*a = parsed
	}
	return err
}

// ParseAttribute parses an attribute written as a JSON object with a single member whose
// name is the type: S or STRING, N or DOUBLE, SL or STRING_LIST, SDM or
// STRING_DOUBLE_MAP. O3DE's AWSGameLiftPlayer holds attributes in this form. Errors:
// ErrInvalid.
func ParseAttribute(text string) (Attribute, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return Attribute{}, invalid("attribute %s: %v", text, err)
	}
	if len(object) != 1 {
		return Attribute{}, invalid("attribute %s: want one member, its type, and not %d", text, len(object))
	}
	for name, raw := range object {
		a, err := parseValue(name, raw)
		if err != nil {
			return Attribute{}, invalid("attribute %s: %v", text, err)
		}
		return a, nil
	}
	return Attribute{}, nil // not reached: the object has one member
}

// parseValue parses a value of a type, in the API's spelling or O3DE's.
func parseValue(name string, raw json.RawMessage) (Attribute, error) {
	if string(raw) == "null" {
		return Attribute{}, fmt.Errorf("null is no value")
	}
	switch name {
	case "S", "STRING":
		return decode[string](raw)
	case "N", "DOUBLE":
		return decode[float64](raw)
	case "SL", "STRING_LIST":
		return decode[[]string](raw)
	case "SDM", "STRING_DOUBLE_MAP":
		return decode[map[string]float64](raw)
	}
	return Attribute{}, fmt.Errorf("its type is none of S, N, SL and SDM")
}

func decode[T any](raw json.RawMessage) (Attribute, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return Attribute{v}, err
}
