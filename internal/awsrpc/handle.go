package awsrpc

import (
	"context"
	"fmt"
)

// Handle registers the handler of an operation. In and Out are the operation's
// generated input and output. The handler gets an input that keeps the
// description's constraints, and answers an output or an error: a fault reaches
// the caller, any other error is logged and becomes InternalServiceException.
// A nil output with a nil error is an empty answer.
//
// Handle must not be called once the server serves. It panics when the
// operation is not in the API, has a handler already, or has other types.
func Handle[In, Out any](s *Server, operation string, h func(context.Context, *In) (*Out, error)) {
	op := s.operations[operation]
	switch {
	case op == nil:
		panic(fmt.Sprintf("awsrpc: the API has no operation %s", operation))
	case op.handler != nil:
		panic(fmt.Sprintf("awsrpc: %s has a handler already", operation))
	}
	if _, ok := op.NewInput().(*In); !ok {
		panic(fmt.Sprintf("awsrpc: %s takes %T, not %T", operation, op.NewInput(), new(In)))
	}
	if _, ok := op.NewOutput().(*Out); !ok {
		panic(fmt.Sprintf("awsrpc: %s answers %T, not %T", operation, op.NewOutput(), new(Out)))
	}
	op.handler = func(ctx context.Context, in any) (any, error) {
		out, err := h(ctx, in.(*In))
		if err != nil {
			return nil, err
		}
		if out == nil {
			return new(Out), nil
		}
		return out, nil
	}
}

// Handled gives the names of the operations that have a handler, in the API's order.
func (s *Server) Handled() []string {
	var names []string
	for i := range s.api.Operations {
		name := s.api.Operations[i].Name
		if s.operations[name].handler != nil {
			names = append(names, name)
		}
	}
	return names
}
