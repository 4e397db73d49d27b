package awsrpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/musterhq/muster/internal/fault"
)

// statusFault is a fault with an HTTP status other than that of its kind.
type statusFault struct {
	fault.Fault
	status int
}

// Unwrap lets fault.As find the fault.
func (f *statusFault) Unwrap() error { return &f.Fault }

// panicError is the panic of a handler as an error.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// wireError is an error as the caller sees it, and its cause if the log must say more
// than the caller may see.
type wireError struct {
	code     fault.Kind
	message  string
	modelled bool
	status   int
	cause    error // nil if the caller sees everything
}

// toWire returns an error as the caller sees it:
//
//   - a fault whose kind the operation models: unchanged;
//   - a front-door fault (serialization, signature, throttling, …): its
//     bare code, since no operation models those;
//   - Unauthorized, if the operation does not model it: AccessDenied, bare;
//   - any other fault that the operation does not model: InvalidRequest with
//     the same text, so that clients still get a type that they know;
//   - everything else: InternalService with a fixed text and the request's id.
//
// op is nil if no operation was found.
func toWire(err error, op *operation, requestID string) wireError {
	f, ok := fault.As(err)
	if !ok {
		return internal(err, requestID)
	}
	w := wireError{code: f.Kind, message: strings.ToValidUTF8(f.Message, "�")}
	switch {
	case isFrontDoor(f.Kind):
	case op != nil && op.Models(f.Kind):
		w.modelled = true
	case f.Kind == fault.Unauthorized:
		w.code = fault.AccessDenied
	case f.Kind == fault.InternalService:
		w.modelled = true
	default:
		w.code, w.modelled = fault.InvalidRequest, true
	}
	w.status = statusOf(w.code)
	if s, ok := errors.AsType[*statusFault](err); ok {
		w.status = s.status
	}
	return w
}

func internal(err error, requestID string) wireError {
	w := wireError{
		code:     fault.InternalService,
		message:  "The request could not be served; the server's log has the reason under request id " + requestID + ".",
		modelled: true,
		status:   http.StatusInternalServerError,
		cause:    err,
	}
	if errors.Is(err, context.DeadlineExceeded) {
		w.message = "The request took too long and was given up; it may or may not have had its effect. Request id " + requestID + "."
	}
	return w
}

// isFrontDoor reports whether faults of a kind occur before an operation is reached.
func isFrontDoor(k fault.Kind) bool {
	switch k {
	case fault.AccessDenied, fault.InvalidSignature, fault.MissingAuthentication, fault.RequestTooLarge,
		fault.Serialization, fault.Throttling, fault.UnknownOperation, fault.UnrecognizedClient:
		return true
	}
	return false
}

// statusOf returns the HTTP status of a code: 400 for every error of the caller, as in
// the API reference. An InternalService fault is temporary and its message says to try
// again, hence 503; unexpected errors are a 500 (see internal).
func statusOf(k fault.Kind) int {
	switch k {
	case fault.InternalService:
		return http.StatusServiceUnavailable
	case fault.RequestTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
