package awsrpc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/shape"
)

// Options configure a Server; the zero value of each field but API works.
type Options struct {
	API shape.API

	// Authenticate finds out who calls; nil lets everybody in (Anyone).
	Authenticate Authenticator
	// Authorize refuses what a principal may not do, with a fault of kind
	// fault.Unauthorized or fault.AccessDenied; nil allows everything.
	Authorize func(p Principal, operation string) error
	// Rates limits operations by name, over all callers; an operation that is
	// not named is not limited.
	Rates map[string]Rate

	MaxBody int64         // bytes; 0 is 8 MiB
	Timeout time.Duration // of one request, from its body's arrival to the answer; 0 is 30 s

	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil is no metrics
}

const (
	defaultMaxBody = 8 << 20
	defaultTimeout = 30 * time.Second
)

// Server is the http.Handler of an API. Make it with New, register handlers
// with Handle, then serve.
type Server struct {
	options    Options
	api        shape.API
	operations map[string]*operation
}

// operation is an operation of the API, made ready to serve.
type operation struct {
	*shape.Operation
	handler func(ctx context.Context, in any) (any, error)
}

// New makes a server without handlers. It fails when the description and the
// Go types do not fit.
func New(o Options) (*Server, error) {
	if o.API.Service == "" {
		return nil, errors.New("awsrpc: no API")
	}
	s := &Server{options: o, api: o.API, operations: map[string]*operation{}}
	for i := range s.api.Operations {
		op := &s.api.Operations[i]
		s.operations[op.Name] = &operation{Operation: op}
	}
	return s, nil
}

// Match tells whether a request is for the API, so that others can share its
// listener: it has an X-Amz-Target or a smithy-protocol header.
func (s *Server) Match(r *http.Request) bool {
	return r.Header.Get("X-Amz-Target") != "" || r.Header.Get("Smithy-Protocol") != ""
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "no operation can be reached yet", http.StatusServiceUnavailable)
}
