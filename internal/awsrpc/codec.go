package awsrpc

import "bytes"

// codec is one of the two wire protocols.
type codec interface {
	// name is the protocol's name in logs and metrics.
	name() string
	// contentType is the Content-Type of every response.
	contentType() string
	// accepts returns an error if it cannot decode a request's content type.
	accepts(contentType string) error
	// decode reads a body into an operation's input. An empty body is an empty
	// input. Its errors are faults of kind fault.Serialization.
	decode(body []byte, in any) error
	// encode writes an output or an errorBody.
	encode(buf *bytes.Buffer, out any) error
	// errorType returns an error's code on the wire; a modelled one may get a
	// namespace.
	errorType(code string, modelled bool) string
}

// Limits on one body besides its size. The API's deepest input nests seven levels; its
// longest list has a latency for each player and location, a few thousand.
const (
	maxDepth    = 32
	maxElements = 16384  // of one CBOR array or map
	maxValues   = 131072 // of one JSON body
)

// errorBody is an error's envelope. It has the message under two names: which one a
// client of either protocol reads depends on whether it knows the code.
type errorBody struct {
	Type    string `json:"__type"`
	Lower   string `json:"message"`
	Message string
}
