package awsrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
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
	// Limit refuses a principal who has shown who they are and asks too often, with
	// a fault of kind fault.Throttling; nil limits nobody.
	Limit func(p Principal, operation string) error

	MaxBody   int64            // bytes; 0 is 256 KiB
	MaxBodies map[string]int64 // the same of operations by name, where it is another
	Timeout   time.Duration    // of one request, from its body's arrival to the answer; 0 is 30 s

	// Source returns the address that a request came from, for the log; nil takes the
	// connection's.
	Source func(r *http.Request) string
	// Ended is told of each request after its answer; nil tells nobody.
	Ended func(Ending)

	Logger     *slog.Logger          // nil discards
	Registerer prometheus.Registerer // nil is no metrics
}

const (
	defaultMaxBody = 256 << 10
	defaultTimeout = 30 * time.Second
)

// Server is the http.Handler of an API. Make it with New, register handlers
// with Handle, then serve.
type Server struct {
	options    Options
	api        shape.API
	operations map[string]*operation
	cborPath   string // what stands before the operation's name in a CBOR path
	json       jsonCodec
	cbor       *cborCodec
	metrics    *metrics
	buffers    sync.Pool
	wrap       func(operation string, next Handler) Handler // around each handler; nil: nothing
}

// operation is an operation of the API, made ready to serve.
type operation struct {
	*shape.Operation
	input    *rule
	maxBody  int64
	handler  func(ctx context.Context, in any) (any, error)
	unserved bool // handler only says that there is nothing
}

// New makes a server without handlers. It fails when the description and the
// Go types do not fit, or when MaxBodies names an operation that is not there.
func New(o Options) (*Server, error) {
	if o.API.Service == "" {
		return nil, errors.New("awsrpc: Options.API is required")
	}
	o.defaults()
	cborCodec, err := newCBORCodec(o.API.Namespace)
	if err != nil {
		return nil, fmt.Errorf("awsrpc: %w", err)
	}
	s := &Server{
		options:    o,
		api:        o.API,
		operations: make(map[string]*operation, len(o.API.Operations)),
		cborPath:   "/service/" + o.API.Service + "/operation/",
		cbor:       cborCodec,
		metrics:    newMetrics(o.Registerer),
	}
	if err := s.compile(); err != nil {
		return nil, fmt.Errorf("awsrpc: %w", err)
	}
	return s, nil
}

func (o *Options) defaults() {
	if o.Authenticate == nil {
		o.Authenticate = Anyone{}
	}
	if o.Authorize == nil {
		o.Authorize = func(Principal, string) error { return nil }
	}
	if o.Limit == nil {
		o.Limit = func(Principal, string) error { return nil }
	}
	if o.MaxBody <= 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Source == nil {
		o.Source = remote
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// compile makes every operation ready.
func (s *Server) compile() error {
	c := newCompiler(&s.api)
	for i := range s.api.Operations {
		op := &s.api.Operations[i]
		input, err := c.input(op)
		if err != nil {
			return err
		}
		s.operations[op.Name] = &operation{Operation: op, input: input, maxBody: s.options.MaxBody}
	}
	for name, most := range s.options.MaxBodies {
		op := s.operations[name]
		if op == nil {
			return fmt.Errorf("body of %q: the API has no such operation", name)
		}
		op.maxBody = most
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := s.newCall(w, r)
	defer c.release()
	err := c.guarded(c.run)
	c.answer(err)
	c.record()
}

// run takes a request through its stages and leaves the encoded answer in c.out.
func (c *call) run() error {
	op, err := c.server.operationOf(c.request, c.codec)
	if err != nil {
		return err
	}
	c.op = op
	if err := c.admit(); err != nil {
		return err
	}
	out, err := c.perform()
	if err != nil {
		return err
	}
	return c.codec.encode(c.out, out)
}

// admit decides whether the caller may use the operation now, and reads the body
// of one who claims to be somebody who may.
func (c *call) admit() error {
	s := c.server
	p, proof, err := s.options.Authenticate.Authenticate(c.request)
	if err != nil {
		return err
	}
	if err := s.options.Authorize(p, c.op.Name); err != nil {
		return err
	}
	if err := c.readBody(); err != nil {
		return err
	}
	if err := proof(c.in.Bytes()); err != nil {
		return err
	}
	c.principal = p
	door.Known(c.request)
	return s.options.Limit(p, c.op.Name)
}

// perform decodes the input, checks it and calls the handler.
func (c *call) perform() (any, error) {
	if c.op.handler == nil {
		return nil, unavailable(c.op)
	}
	in := c.op.NewInput()
	if err := c.codec.decode(c.in.Bytes(), in); err != nil {
		return nil, err
	}
	if err := c.checker.check(c.op.input, in); err != nil {
		return nil, err
	}
	c.input = in
	ctx, cancel := context.WithTimeout(c.request.Context(), c.server.options.Timeout)
	defer cancel()
	return c.op.handler(context.WithValue(ctx, callKey{}, c), in)
}

// unavailable is the answer of operations that the API has and this server has
// not: a modelled exception, so that typed clients understand it.
func unavailable(op *operation) error {
	kind := fault.InvalidRequest
	if op.Models(fault.UnsupportedRegion) {
		kind = fault.UnsupportedRegion
	}
	return fault.New(kind, "operation %s is not available in this version of Muster", op.Name)
}
