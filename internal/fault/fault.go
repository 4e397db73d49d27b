// Package fault holds the errors that callers of Muster are meant to see.
//
// A fault is a kind and a message. The kinds are the 16 exceptions that the
// Amazon GameLift API models, plus the few codes that AWS's front door answers
// before an operation is reached. Everything else that goes wrong is a plain
// error: it is logged, and the caller sees InternalServiceException without its
// text. The doors (api, serversdk, backend) turn faults into their wire form.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the exception's name, spelled as on the wire.
type Kind string

// The exceptions modelled by API 2015-10-01.
const (
	Conflict                    Kind = "ConflictException"
	FleetCapacityExceeded       Kind = "FleetCapacityExceededException"
	GameSessionFull             Kind = "GameSessionFullException"
	IdempotentParameterMismatch Kind = "IdempotentParameterMismatchException"
	InternalService             Kind = "InternalServiceException"
	InvalidFleetStatus          Kind = "InvalidFleetStatusException"
	InvalidGameSessionStatus    Kind = "InvalidGameSessionStatusException"
	InvalidRequest              Kind = "InvalidRequestException"
	LimitExceeded               Kind = "LimitExceededException"
	NotFound                    Kind = "NotFoundException"
	NotReady                    Kind = "NotReadyException"
	OutOfCapacity               Kind = "OutOfCapacityException"
	TaggingFailed               Kind = "TaggingFailedException"
	TerminalRoutingStrategy     Kind = "TerminalRoutingStrategyException"
	Unauthorized                Kind = "UnauthorizedException"
	UnsupportedRegion           Kind = "UnsupportedRegionException"
)

// The codes that AWS's front door uses; no operation models them.
const (
	AccessDenied          Kind = "AccessDeniedException"
	InvalidSignature      Kind = "InvalidSignatureException"
	MissingAuthentication Kind = "MissingAuthenticationTokenException"
	RequestTooLarge       Kind = "RequestEntityTooLargeException"
	Serialization         Kind = "SerializationException"
	Throttling            Kind = "ThrottlingException"
	UnknownOperation      Kind = "UnknownOperationException"
	UnrecognizedClient    Kind = "UnrecognizedClientException"
)

// Fault is an error meant for the caller.
type Fault struct {
	Kind    Kind
	Message string
	Wait    time.Duration // of Throttling: when to try again; 0: it is not known
}

// Error returns the kind and the message.
func (f *Fault) Error() string { return string(f.Kind) + ": " + f.Message }

// New makes a fault of a kind; format and args make its message.
func New(kind Kind, format string, args ...any) error {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes an InvalidRequestException: the message names the member and the rule it broke.
func Invalid(format string, args ...any) error { return New(InvalidRequest, format, args...) }

// Missing makes a NotFoundException.
func Missing(format string, args ...any) error { return New(NotFound, format, args...) }

// As returns the fault inside err, if there is one.
func As(err error) (*Fault, bool) { return errors.AsType[*Fault](err) }

// Is reports whether err is a fault of the kind.
func Is(err error, kind Kind) bool {
	f, ok := As(err)
	return ok && f.Kind == kind
}
