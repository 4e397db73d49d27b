// Package shape describes an API of operations and structures: what the wire layer
// needs to route, decode, check and answer a call without knowing the API's subject.
//
// A description is data. It is generated (gamelift) and compiled once by the
// server that serves it (internal/awsrpc).
package shape

import (
	"slices"

	"github.com/musterhq/muster/internal/fault"
)

// API is a whole service.
type API struct {
	Service    string // as in the CBOR path, such as GameLift
	Target     string // the part of X-Amz-Target before the dot
	Namespace  string // the part of a modeled error's CBOR type before the #
	Operations []Operation
	Structures map[string][]Member // structures that inputs refer to, by name
}

// Operation is one call of the API.
type Operation struct {
	Name      string
	Family    string     // the group of operations it belongs to, for documents
	NewInput  func() any // a pointer to a new, empty input
	NewOutput func() any // a pointer to a new, empty output
	Input     []Member
	Errors    []fault.Kind // the exceptions it models
}

// Of returns the operation with the given types of inputs and outputs.
func Of[In, Out any](o Operation) Operation {
	o.NewInput = func() any { return new(In) }
	o.NewOutput = func() any { return new(Out) }
	return o
}

// Family returns the operations as a family.
func Family(name string, operations ...Operation) []Operation {
	for i := range operations {
		operations[i].Family = name
	}
	return operations
}

// Models reports whether the operation declares the exception.
func (o *Operation) Models(kind fault.Kind) bool {
	return slices.Contains(o.Errors, kind)
}

// Member is one named value of a structure.
type Member struct {
	Name     string
	Required bool
	Type     Type
}

// Kind is the kind of value of a Type.
type Kind uint8

// The kinds of values that the API uses.
const (
	Boolean   Kind = iota + 1
	String         // Go string; lengths count code points
	Integer        // Go int32
	Long           // Go int64
	Float          // Go float32
	Double         // Go float64
	Timestamp      // a time, in milliseconds
	Blob           // Go []byte; lengths count bytes
	List
	Map
	Struct
)

// Type is a value's kind and its constraints.
type Type struct {
	Kind    Kind
	Min     *float64 // minimum length (String, Blob, List, Map) or value (numbers); nil is none
	Max     *float64 // maximum length or value; nil is none
	Pattern string   // regular expression for the whole string; "" is any
	Enum    []string // the allowed values of a String; nil is any
	Key     *Type    // of a Map
	Elem    *Type    // of a List or a Map's values
	Ref     string   // name of a Struct in API.Structures

	Sensitive bool // its values must not appear in messages
}
