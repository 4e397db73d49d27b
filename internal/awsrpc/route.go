package awsrpc

import (
	"mime"
	"net/http"
	"strings"

	"github.com/musterhq/muster/internal/fault"
)

// The headers that select the protocol. Smithy-Protocol names CBOR in requests and in
// every response: AWS's Go SDK refuses a response without it, errors included.
const (
	smithyProtocol = "Smithy-Protocol"
	rpcV2CBOR      = "rpc-v2-cbor"
	targetHeader   = "X-Amz-Target"
)

// Match reports whether a request is for the API, so that other handlers can share its
// listener: it has an X-Amz-Target or a smithy-protocol header, or a CBOR path.
func (s *Server) Match(r *http.Request) bool {
	return r.Header.Get(targetHeader) != "" || r.Header.Get(smithyProtocol) != "" ||
		strings.Contains(r.URL.Path, s.cborPath)
}

// protocolOf returns the codec of a request and of its response.
func (s *Server) protocolOf(r *http.Request) codec {
	if r.Header.Get(smithyProtocol) != "" {
		return s.cbor
	}
	if r.Header.Get(targetHeader) == "" && strings.Contains(r.URL.Path, s.cborPath) {
		return s.cbor
	}
	return s.json
}

// operationOf returns the operation that a request calls. Any path may precede the one
// that the protocol prescribes, for endpoints behind a prefix.
func (s *Server) operationOf(r *http.Request, c codec) (*operation, error) {
	if r.Method != http.MethodPost {
		return nil, &statusFault{status: http.StatusMethodNotAllowed, Fault: fault.Fault{
			Kind:    fault.UnknownOperation,
			Message: "operations are called with POST, not " + clip(r.Method),
		}}
	}
	name, err := s.operationName(r, c)
	if err != nil {
		return nil, err
	}
	op := s.operations[name]
	if op == nil {
		return nil, fault.New(fault.UnknownOperation, "%s has no operation %q", s.api.Service, clip(name))
	}
	return op, c.accepts(r.Header.Get("Content-Type"))
}

func (s *Server) operationName(r *http.Request, c codec) (string, error) {
	if c == codec(s.cbor) {
		return s.cborName(r)
	}
	target := r.Header.Get(targetHeader)
	prefix, name, ok := strings.Cut(target, ".")
	if !ok || prefix != s.api.Target {
		return "", fault.New(fault.UnknownOperation,
			"header X-Amz-Target: must be %s.OPERATION, not %q", s.api.Target, clip(target))
	}
	return name, nil
}

func (s *Server) cborName(r *http.Request) (string, error) {
	if p := r.Header.Get(smithyProtocol); p != rpcV2CBOR {
		return "", fault.New(fault.UnknownOperation, "header smithy-protocol: must be %s, not %q", rpcV2CBOR, clip(p))
	}
	i := strings.LastIndex(r.URL.Path, s.cborPath)
	if i < 0 {
		return "", fault.New(fault.UnknownOperation, "path: must end in %sOPERATION", s.cborPath)
	}
	return r.URL.Path[i+len(s.cborPath):], nil
}

// acceptsType checks a request's content type: it may have parameters, and may be
// absent.
func acceptsType(header string, types ...string) error {
	if header == "" || header == types[0] {
		return nil
	}
	got, _, err := mime.ParseMediaType(header)
	if err == nil {
		for _, t := range types {
			if got == t {
				return nil
			}
		}
	}
	return &statusFault{status: http.StatusUnsupportedMediaType, Fault: fault.Fault{
		Kind:    fault.Serialization,
		Message: "header Content-Type: must be " + types[0],
	}}
}

// clip shortens a caller's text so that it can be quoted in an error.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
