package awsrpc

import (
	"bytes"
	"context"

	"github.com/musterhq/muster/internal/shape"
)

// HandleUnchecked registers an untyped handler and removes the operation's constraints,
// so that tests can loop over all operations.
func (s *Server) HandleUnchecked(name string, h func(ctx context.Context, in any) (any, error)) {
	op := s.operations[name]
	op.input = &rule{Type: shape.Type{Kind: shape.Struct}, free: true}
	op.handler = h
}

// Again encodes a value in a protocol and decodes it into another value.
func (s *Server) Again(protocol string, from, to any) error {
	c := map[string]codec{"json": s.json, "cbor": s.cbor}[protocol]
	var buf bytes.Buffer
	if err := c.encode(&buf, from); err != nil {
		return err
	}
	return c.decode(buf.Bytes(), to)
}
