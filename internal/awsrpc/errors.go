package awsrpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/musterhq/muster/internal/fault"
)

// statusFault is a fault whose HTTP status is not its kind's.
type statusFault struct {
	fault.Fault
	status int
}

// Unwrap lets fault.As find the fault.
func (f *statusFault) Unwrap() error { return &f.Fault }

// panicError is what a handler left when it panicked.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// wireError is an error as the caller sees it, and its cause where the log
// needs to know more than the caller.
type wireError struct {
	code     fault.Kind
	message  string
	modelled bool
	status   int
	cause    error // nil when the caller sees everything
}

// toWire decides what a caller sees of an error:
//
//   - a fault whose kind the operation models, as it is;
//   - a front-door fault (serialization, signature, throttling, …), under its
//     bare code, for no operation models those;
//   - Unauthorized where the operation does not model it: AccessDenied, bare;
//   - any other fault that the operation does not model: InvalidRequest with
//     the same text, so that clients still get a type they know;
//   - everything else: InternalService with a fixed text and the request's id.
//
// op is nil when no operation was found.
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

// isFrontDoor tells whether a kind is answered before an operation is reached.
func isFrontDoor(k fault.Kind) bool {
	switch k {
	case fault.AccessDenied, fault.InvalidSignature, fault.MissingAuthentication, fault.RequestTooLarge,
		fault.Serialization, fault.Throttling, fault.UnknownOperation, fault.UnrecognizedClient:
		return true
	}
	return false
}

// statusOf gives the HTTP status of a code: the API reference has 400 for every
// error of the caller's. A fault of the server's is something to try again, as
// its message says; what is wrong with the server itself is a 500 (see internal).
func statusOf(k fault.Kind) int {
	switch k {
	case fault.InternalService:
		return http.StatusServiceUnavailable
	case fault.RequestTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
