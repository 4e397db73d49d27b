package awsrpc

import "bytes"

// codec is one of the two wire protocols.
type codec interface {
	// name is the protocol's name in logs and metrics.
	name() string
	// contentType is that of every answer.
	contentType() string
	// accepts refuses a request's content type that it cannot read.
	accepts(contentType string) error
	// decode reads a body into an operation's input. An empty body is an empty
	// input. Its errors are faults of kind fault.Serialization.
	decode(body []byte, in any) error
	// encode writes an output or an errorBody.
	encode(buf *bytes.Buffer, out any) error
	// errorType spells an error's code: modelled ones may get a namespace.
	errorType(code string, modelled bool) string
}

// What one body may hold at most, beside its size. The API's deepest input nests
// seven levels; its longest list holds a latency for each player and location,
// some thousands.
const (
	maxDepth    = 32
	maxElements = 16384  // of one CBOR array or map
	maxValues   = 131072 // of one JSON body
)

// errorBody is an error's envelope. Clients of both protocols look for the text
// under one spelling or the other, depending on whether they know the code.
type errorBody struct {
	Type    string `json:"__type"`
	Lower   string `json:"message"`
	Message string
}
