package awsrpc

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
)

// call is the state of one request.
type call struct {
	server    *Server
	writer    http.ResponseWriter
	request   *http.Request
	id        string
	start     time.Time
	codec     codec
	op        *operation // nil until routed
	principal Principal
	input     any // nil until decoded
	in, out   *bytes.Buffer
	ctx       callContext // of the handler
	values    [3]string   // of the response's headers
	status    int
	failure   *wireError // nil when all went well
}

func (s *Server) newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		server:  s,
		writer:  w,
		request: r,
		id:      uuid.NewString(),
		start:   time.Now(),
		codec:   s.protocolOf(r),
		in:      s.buffer(),
		out:     s.buffer(),
	}
	c.setHeader(w.Header(), 0, "X-Amzn-Requestid", c.id)
	return c
}

// setHeader sets a header of the response, as the i-th of those that every one has.
func (c *call) setHeader(h http.Header, i int, name, value string) {
	c.values[i] = value
	h[name] = c.values[i : i+1 : i+1]
}

// buffer returns an empty buffer, which release puts back.
func (s *Server) buffer() *bytes.Buffer {
	if b, ok := s.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

// release returns the call's buffers to the pool, except large ones: a few uploads must
// not leave the pool with buffers of megabytes.
func (c *call) release() {
	const biggest = 64 << 10
	for _, b := range []*bytes.Buffer{c.in, c.out} {
		if b.Cap() <= biggest {
			b.Reset()
			c.server.buffers.Put(b)
		}
	}
}

// guarded calls f and returns a panic as an error, so that one request cannot crash the
// server.
func (c *call) guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return f()
}

// readBody reads the whole body, up to the operation's limit.
func (c *call) readBody() error {
	err := door.ReadBody(c.request, c.in, c.op.maxBody)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, door.ErrBusy):
		return fault.New(fault.Throttling, "the server holds as many bytes of requests as it may; try again")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.Serialization, "body: ended before its Content-Length")
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.New(fault.RequestTooLarge, "body: must have at most %d bytes for %s", c.op.maxBody, c.op.Name)
	}
	return fault.New(fault.Serialization, "body: could not be read")
}

// answer sends the response that run encoded, or the error's envelope.
//
// It does not set AWS's x-amz-crc32 header: clients check it only if it is present, and
// only DynamoDB sends it.
func (c *call) answer(err error) {
	c.status = http.StatusOK
	if err != nil {
		c.fail(err)
	}
	h := c.writer.Header()
	c.setHeader(h, 1, "Content-Type", c.codec.contentType())
	c.setHeader(h, 2, "Content-Length", strconv.Itoa(c.out.Len()))
	limit.Advise(h, err)
	if c.codec == codec(c.server.cbor) {
		h[smithyProtocol] = []string{rpcV2CBOR}
	}
	if c.status == http.StatusMethodNotAllowed {
		h["Allow"] = []string{http.MethodPost}
	}
	c.writer.WriteHeader(c.status)
	_, _ = c.writer.Write(c.out.Bytes()) // fails only if the caller is gone
}

// fail replaces the response with the error's envelope.
func (c *call) fail(err error) {
	w := toWire(err, c.op, c.id)
	c.failure, c.status = &w, w.status
	c.out.Reset()
	body := errorBody{Type: c.codec.errorType(string(w.code), w.modelled), Lower: w.message, Message: w.message}
	if err := c.codec.encode(c.out, body); err != nil {
		c.out.Reset() // cannot happen with three valid strings; the status still says so
	}
}
