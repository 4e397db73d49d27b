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
	Conflict                    Kind = "ConflictException"                    // the resource has a state, a name or users that do not allow the request; the message says which
	FleetCapacityExceeded       Kind = "FleetCapacityExceededException"       // the fleet has no free game server process: scale it out, or use a queue, which waits
	GameSessionFull             Kind = "GameSessionFullException"             // the game session has no free player slot
	IdempotentParameterMismatch Kind = "IdempotentParameterMismatchException" // the idempotency token or id was used before, for another request
	InternalService             Kind = "InternalServiceException"             // something is wrong in the server; its log has the error
	InvalidFleetStatus          Kind = "InvalidFleetStatusException"          // the fleet is not in a status that allows the request
	InvalidGameSessionStatus    Kind = "InvalidGameSessionStatusException"    // the game session is not in a status that allows the request
	InvalidRequest              Kind = "InvalidRequestException"              // a member of the request is wrong; the message names the member and the rule
	LimitExceeded               Kind = "LimitExceededException"               // a quota was reached; the message says which
	NotFound                    Kind = "NotFoundException"                    // what the request names does not exist
	NotReady                    Kind = "NotReadyException"                    // what the request needs is not there yet: try again later
	OutOfCapacity               Kind = "OutOfCapacityException"               // no game server is available
	TaggingFailed               Kind = "TaggingFailedException"               // a tag is given twice or its key is reserved, or the resource would have too many
	TerminalRoutingStrategy     Kind = "TerminalRoutingStrategyException"     // the alias is TERMINAL: it leads to no fleet, and has a message instead
	Unauthorized                Kind = "UnauthorizedException"                // the token or the state of the sender does not allow this: it has ended, or is of another compute
	UnsupportedRegion           Kind = "UnsupportedRegionException"           // this server does not have the operation
)

// The codes that AWS's front door uses; no operation models them.
const (
	AccessDenied          Kind = "AccessDeniedException"               // the role or the scope of the key does not allow the operation
	InvalidSignature      Kind = "InvalidSignatureException"           // the signature is wrong, or the clock of the caller is: compare secret, region and time
	MissingAuthentication Kind = "MissingAuthenticationTokenException" // the request is not signed: give the client credentials
	RequestTooLarge       Kind = "RequestEntityTooLargeException"      // the body is larger than the operation takes
	Serialization         Kind = "SerializationException"              // the body is not JSON or CBOR as the operation has it
	Throttling            Kind = "ThrottlingException"                 // a limit was reached, or too many changes wait for the disk: try again later, as the SDKs do
	UnknownOperation      Kind = "UnknownOperationException"           // there is no such operation in the API
	UnrecognizedClient    Kind = "UnrecognizedClientException"         // no access key has this id: it was deleted, or is of another server
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
