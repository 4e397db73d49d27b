package ruleset

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

type jsonKind string

const (
	isNull   jsonKind = "null"
	isBool   jsonKind = "a boolean"
	isNumber jsonKind = "a number"
	isText   jsonKind = "a string"
	isList   jsonKind = "a list"
	isObject jsonKind = "an object"
)

type node struct {
	kind    jsonKind
	at      int // byte offset of its first character
	text    string
	number  float64
	items   []*node
	members []member
}

type member struct {
	name  string
	at    int // byte offset of the name
	value *node
}

func (n *node) get(name string) *node {
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// set adds a member. If a name occurs twice, the last value counts, as an example in the
// developer guide requires.
func (n *node) set(m member) {
	for i := range n.members {
		if n.members[i].name == m.name {
			n.members[i] = m
			return
		}
	}
	n.members = append(n.members, m)
}

func (n *node) with(changes []change) *node {
	out := &node{kind: n.kind, at: n.at, members: slices.Clone(n.members)}
	for _, c := range changes {
		out.set(member{name: c.property, at: c.value.at, value: c.value})
	}
	return out
}

// readJSON parses text, which must be exactly one JSON value.
func readJSON(text []byte) (*node, *textError) {
	r := &reader{text: text, dec: jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))}
	root, err := r.value()
	if err == nil {
		_, _, err = r.token()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err == nil {
			err = errors.New("more than one value")
		}
	}
	return nil, r.explain(err)
}

type reader struct {
	text []byte
	dec  *jsontext.Decoder
	last int // the offset of the last token
}

func (r *reader) token() (jsontext.Token, int, error) {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[at]) >= 0 {
		at++
	}
	r.last = at
	tok, err := r.dec.ReadToken()
	return tok, at, err
}

func (r *reader) explain(err error) *textError {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return &textError{at: int(syntactic.ByteOffset), code: JSONSyntax, text: syntactic.Err.Error()}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &textError{at: len(r.text), code: JSONSyntax, text: "the text ends too early"}
	}
	return &textError{at: r.last, code: JSONSyntax, text: err.Error()}
}

func (r *reader) value() (*node, error) {
	tok, at, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &node{at: at}
	switch tok.Kind() {
	case 'n':
		n.kind = isNull
	case 't', 'f':
		n.kind = isBool
	case '"':
		n.kind, n.text = isText, tok.String()
	case '0':
		n.kind = isNumber
		n.number, _ = strconv.ParseFloat(tok.String(), 64) // a number out of range becomes infinite: valid JSON but not a valid value
	case '[':
		n.kind = isList
		err = r.items(n)
	default:
		n.kind = isObject
		err = r.members(n)
	}
	return n, err
}

func (r *reader) items(n *node) error {
	for r.dec.PeekKind() != ']' {
		item, err := r.value()
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, _, err := r.token()
	return err
}

func (r *reader) members(n *node) error {
	for r.dec.PeekKind() != '}' {
		tok, at, err := r.token()
		if err != nil {
			return err
		}
		name := tok.String()
		value, err := r.value()
		if err != nil {
			return err
		}
		n.set(member{name: name, at: at, value: value})
	}
	_, _, err := r.token()
	return err
}
