package backend

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Value is an attribute of a player: exactly one member is set (API reference,
// AttributeValue).
type Value struct {
	S   *string            `json:"s,omitzero"`
	N   *float64           `json:"n,omitzero"`
	SL  []string           `json:"sl,omitzero"`
	SDM map[string]float64 `json:"sdm,omitzero"`
}

// readValue reads a number, a text, a list of texts, or numbers by text.
func readValue(text protocol.JSON) (Value, error) {
	var v Value
	var err error
	switch jsontext.Value(text).Kind() {
	case '"':
		err = json.Unmarshal(text, &v.S)
	case '0':
		err = json.Unmarshal(text, &v.N)
	case '[':
		err = json.Unmarshal(text, &v.SL)
	case '{':
		err = json.Unmarshal(text, &v.SDM)
	default:
		err = fmt.Errorf("no attribute has this form")
	}
	if err != nil {
		return Value{}, fmt.Errorf("must be a number, a text, a list of texts, or numbers by text")
	}
	return v, nil
}

func (v Value) kind() string {
	switch {
	case v.S != nil:
		return "string"
	case v.N != nil:
		return "number"
	case v.SDM != nil:
		return "string_number_map"
	}
	return "string_list"
}

// attributes returns a player's attributes, each from the source that the matchmaker's
// configuration names. Other attributes from the client are refused, so that nobody
// believes that they are used.
func (b *Backend) attributes(m *Matchmaker, player string, sent map[string]protocol.JSON) (map[string]Value, error) {
	out := map[string]Value{}
	fromClient := map[string]bool{}
	for i := range m.Attributes {
		a := &m.Attributes[i]
		v, given, err := b.attribute(a, player, sent[a.Name])
		if err != nil {
			return nil, refuse("attribute-rejected", "attributes."+a.Name+": "+err.Error())
		}
		fromClient[a.Name] = a.From == "client"
		if given {
			out[a.Name] = v
		}
	}
	anything := b.Open && len(m.Attributes) == 0
	for name, text := range sent {
		if fromClient[name] {
			continue
		}
		if !anything {
			return nil, refuse("attribute-rejected", "attributes."+name+": "+m.Name+" does not take it from clients")
		}
		v, err := readValue(text)
		if err != nil {
			return nil, refuse("attribute-rejected", "attributes."+name+": "+err.Error())
		}
		out[name] = v
	}
	return out, nil
}

func (b *Backend) attribute(a *Attribute, player string, sent protocol.JSON) (v Value, given bool, err error) {
	switch {
	case a.From == "client" && sent != nil:
		v, err = readValue(sent)
		if err == nil {
			err = a.check(v)
		}
		return v, true, err
	case a.From == "server":
		d, missing := b.ids.Data.Get(player, identity.Server, a.Key)
		if missing == nil {
			v, err = readValue(protocol.JSON(d.Value))
			return v, true, err
		}
	}
	if a.Default == nil {
		return Value{}, false, nil
	}
	text, err := json.Marshal(a.Default)
	if err != nil {
		return Value{}, false, err
	}
	v, err = readValue(text)
	return v, true, err
}

// check returns an error unless a client's value has the right type and range.
func (a *Attribute) check(v Value) error {
	if v.kind() != a.Type {
		return fmt.Errorf("must be a %s", a.Type)
	}
	numbers := []float64{}
	if v.N != nil {
		numbers = append(numbers, *v.N)
	}
	for _, n := range v.SDM {
		numbers = append(numbers, n)
	}
	for _, n := range numbers {
		if a.Min != nil && n < *a.Min || a.Max != nil && n > *a.Max {
			return fmt.Errorf("%v is out of range", n)
		}
	}
	return nil
}
