package awsrpc

import (
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
