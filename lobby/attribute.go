package lobby

import (
	jsonv1 "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/refusal"
)

// JSON is a value as a client sent it.
type JSON = jsonv1.RawMessage

// readValue parses a number, a string, a list of strings, or a map of strings to numbers.
func readValue(text JSON) (flexmatch.Attribute, error) {
	var v flexmatch.Attribute
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
		return flexmatch.Attribute{}, fmt.Errorf("must be a number, a text, a list of texts, or numbers by text")
	}
	return v, nil
}

func typeOf(v flexmatch.Attribute) string {
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

// attributes returns a player's attributes, each from the source that the matchmaker
// names. Other attributes from the client are refused rather than ignored, except on an
// open server if the matchmaker names none.
func (s *Tickets) attributes(m *Matchmaker, player string, sent map[string]JSON) (map[string]flexmatch.Attribute, error) {
	out := map[string]flexmatch.Attribute{}
	fromClient := map[string]bool{}
	for i := range m.Attributes {
		a := &m.Attributes[i]
		v, given, err := s.attribute(a, player, sent[a.Name])
		if errors.Is(err, errNoData) {
			return nil, err
		}
		if err != nil {
			return nil, refuse(AttributeRejected, "attributes."+a.Name+": "+err.Error())
		}
		fromClient[a.Name] = a.From == "client"
		if given {
			out[a.Name] = v
		}
	}
	anything := s.catalog.open() && len(m.Attributes) == 0
	for name, text := range sent {
		if fromClient[name] {
			continue
		}
		if !anything {
			return nil, refuse(AttributeRejected, "attributes."+name+": "+m.Name+" does not take it from clients")
		}
		v, err := readValue(text)
		if err != nil {
			return nil, refuse(AttributeRejected, "attributes."+name+": "+err.Error())
		}
		out[name] = v
	}
	return out, nil
}

// errNoData reports that the region that has a player's data does not answer.
var errNoData = errors.New("the player's data cannot be read now")

func (s *Tickets) attribute(a *Attribute, player string, sent JSON) (v flexmatch.Attribute, given bool, err error) {
	switch {
	case a.From == "client" && sent != nil:
		v, err = readValue(sent)
		if err == nil {
			err = a.accepts(v)
		}
		return v, true, err
	case a.From == "server":
		d, missing := s.deps.Identity.Data.Get(player, identity.Server, a.Key)
		if missing == nil {
			v, err = readValue(JSON(d.Value))
			return v, true, err
		}
		if _, refused := errors.AsType[*refusal.Refusal](missing); !refused {
			return v, false, fmt.Errorf("%w: %w", errNoData, missing)
		}
	}
	if a.Default == nil {
		return v, false, nil
	}
	text, err := json.Marshal(a.Default)
	if err != nil {
		return v, false, err
	}
	v, err = readValue(text)
	return v, true, err
}

// accepts returns an error unless a client's value has the right type and range.
func (a *Attribute) accepts(v flexmatch.Attribute) error {
	if typeOf(v) != a.Type {
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
