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
	kind kind
	s    string
	n    float64
	sl   []string
	sdm  map[string]float64
}

type kind string

const (
	kindString    kind = "S"
	kindNumber    kind = "N"
	kindList      kind = "SL"
	kindNumberMap kind = "SDM"
)

// String returns a string attribute. The service accepts 1 to 100 characters.
func String(s string) Attribute { return Attribute{kind: kindString, s: s} }

// Number returns a number attribute; NaN and infinities are not valid.
func Number(n float64) Attribute { return Attribute{kind: kindNumber, n: n} }

// StringList returns a list of strings, whose order rules ignore. The service accepts
// strings of 1 to 100 characters.
func StringList(s ...string) Attribute { return Attribute{kind: kindList, sl: slices.Clone(s)} }

// StringNumberMap returns a map from strings to numbers, such as a score by game mode.
// The service accepts keys of 1 to 100 characters; NaN and infinities are not valid.
func StringNumberMap(m map[string]float64) Attribute {
	return Attribute{kind: kindNumberMap, sdm: maps.Clone(m)}
}

// Value returns what the attribute holds: a string, float64, []string or
// map[string]float64; nil for the zero Attribute. The caller must not modify it.
func (a Attribute) Value() any {
	switch a.kind {
	case kindString:
		return a.s
	case kindNumber:
		return a.n
	case kindList:
		return a.sl
	case kindNumberMap:
		return a.sdm
	}
	return nil
}

// Validate returns an error (ErrInvalid) if rules cannot read the attribute: it has no
// value, or a number is NaN or infinite.
func (a Attribute) Validate() error {
	switch a.kind {
	case "":
		return invalid("the attribute has no value")
	case kindNumber:
		if math.IsNaN(a.n) || math.IsInf(a.n, 0) {
			return invalid("%v is not a number that rules can read", a.n)
		}
	case kindNumberMap:
		for key, n := range a.sdm {
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
	return json.Marshal(map[kind]any{a.kind: a.Value()})
}

// UnmarshalJSON accepts what ParseAttribute accepts.
func (a *Attribute) UnmarshalJSON(b []byte) error {
	parsed, err := ParseAttribute(string(b))
	if err == nil {
		*a = parsed
	}
	return err
}

// spellings maps the type names in use, both the API's and O3DE's, to kinds.
var spellings = map[string]kind{
	"S": kindString, "STRING": kindString,
	"N": kindNumber, "DOUBLE": kindNumber,
	"SL": kindList, "STRING_LIST": kindList,
	"SDM": kindNumberMap, "STRING_DOUBLE_MAP": kindNumberMap,
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
		a, err := parseValue(spellings[name], raw)
		if err != nil {
			return Attribute{}, invalid("attribute %s: %v", text, err)
		}
		return a, nil
	}
	return Attribute{}, nil // not reached: the object has one member
}

func parseValue(k kind, raw json.RawMessage) (Attribute, error) {
	a := Attribute{kind: k}
	var into any
	switch k {
	case kindString:
		into = &a.s
	case kindNumber:
		into = &a.n
	case kindList:
		into = &a.sl
	case kindNumberMap:
		into = &a.sdm
	default:
		return Attribute{}, fmt.Errorf("its type is none of S, N, SL and SDM")
	}
	if string(raw) == "null" {
		return Attribute{}, fmt.Errorf("null is no value")
	}
	return a, json.Unmarshal(raw, into)
}
