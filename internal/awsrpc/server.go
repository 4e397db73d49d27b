package awsrpc

import (
	"cmp"
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

// Options configure a Server. Only API is required.
type Options struct {
	API shape.API

	// Authenticate authenticates callers; nil accepts everyone (Anyone).
	Authenticate Authenticator
	// Authorize returns a fault of kind fault.Unauthorized or fault.AccessDenied if a
	// principal may not call an operation; nil allows everything.
	Authorize func(p Principal, operation string) error
	// Limit returns a fault of kind fault.Throttling if an authenticated principal
	// calls too often; nil means no limit.
	Limit func(p Principal, operation string) error

	MaxBody   int64            // in bytes; 0 means 256 KiB
	MaxBodies map[string]int64 // per operation, by name; others have MaxBody
	Timeout   time.Duration    // of one request, from its body's arrival to the response; 0 means 30 s

	// Ended is called after the response of each request; may be nil.
	Ended func(Ending)

	Logger     *slog.Logger          // nil discards logs
	Registerer prometheus.Registerer // nil means no metrics
}

const (
	defaultMaxBody = 256 << 10
	defaultTimeout = 30 * time.Second
)

// Server is the http.Handler of an API. Create it with New, register handlers with
// Handle, then serve.
type Server struct {
	options    Options
	api        shape.API
	operations map[string]*operation
	cborPath   string // precedes the operation's name in a CBOR path
	json       jsonCodec
	cbor       *cborCodec
	metrics    *metrics
	buffers    sync.Pool
	wrap       func(operation string, next Handler) Handler // wraps each handler; may be nil
}

// operation is an operation of the API with its compiled rule and handler.
type operation struct {
	*shape.Operation
	input   *rule
	maxBody int64
	handler func(ctx context.Context, in any) (any, error)
}

// New returns a server without handlers. It fails if the description and the Go types
// do not match, or if MaxBodies names an operation that does not exist.
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
		metrics:    newMetrics(o.Registerer, &o.API, jsonCodec{}, cborCodec),
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
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Authorize == nil {
		o.Authorize = func(Principal, string) error { return nil }
	}
	if o.Limit == nil {
		o.Limit = func(Principal, string) error { return nil }
	}
}

// compile compiles the rule of every operation's input.
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

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := s.newCall(w, r)
	defer c.release()
	err := c.guarded(c.run)
	c.answer(err)
	c.record()
}

// run performs all stages of a request up to the encoded response in c.out.
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

// admit checks that the caller may call the operation now. It reads the body only once
// the claimed principal is authorized.
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
	if err := new(checker).check(c.op.input, in); err != nil {
		return nil, err
	}
	c.input = in
	c.ctx.begin(c)
	defer c.ctx.end()
	return c.op.handler(&c.ctx, in)
}

// unavailable returns the error of an operation that this server does not have: a
// modelled exception, so that typed clients understand it.
func unavailable(op *operation) error {
	kind := fault.InvalidRequest
	if op.Models(fault.UnsupportedRegion) {
		kind = fault.UnsupportedRegion
	}
	return fault.New(kind, "operation %s is not available in this version of Muster", op.Name)
}
