package gamelift

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/sdk/session"
)

// meanings maps error codes to errors of package session: the service's modeled
// exceptions, and AWS's common errors.
var meanings = map[string]error{
	"GameSessionFullException":             session.ErrFull,
	"InvalidGameSessionStatusException":    session.ErrNotActive,
	"FleetCapacityExceededException":       session.ErrNoCapacity,
	"LimitExceededException":               session.ErrLimit,
	"ConflictException":                    session.ErrConflict,
	"IdempotentParameterMismatchException": session.ErrConflict,
	"NotFoundException":                    session.ErrNotFound,
	"InvalidRequestException":              session.ErrInvalid,
	"InvalidFleetStatusException":          session.ErrInvalid,
	"UnsupportedRegionException":           session.ErrInvalid,
	"ValidationException":                  session.ErrInvalid,
	"InternalServiceException":             session.ErrUnavailable,
	"ServiceUnavailable":                   session.ErrUnavailable,
	"UnauthorizedException":                session.ErrUnauthorized,
	"AccessDeniedException":                session.ErrUnauthorized,
	"UnrecognizedClientException":          session.ErrUnauthorized,
	"InvalidClientTokenId":                 session.ErrUnauthorized,
	"InvalidSignatureException":            session.ErrUnauthorized,
	"SignatureDoesNotMatch":                session.ErrUnauthorized,
	"IncompleteSignature":                  session.ErrUnauthorized,
	"IncompleteSignatureException":         session.ErrUnauthorized,
	"MissingAuthenticationToken":           session.ErrUnauthorized,
	"MissingAuthenticationTokenException":  session.ErrUnauthorized,
	"ExpiredToken":                         session.ErrUnauthorized,
	"ExpiredTokenException":                session.ErrUnauthorized,
	"RequestExpired":                       session.ErrUnauthorized,
	"ThrottlingException":                  session.ErrThrottled,
	"Throttling":                           session.ErrThrottled,
	"TooManyRequestsException":             session.ErrThrottled,
	"RequestLimitExceeded":                 session.ErrThrottled,
}

// wrap adds to an error of the SDK the error of package session that it means, and
// what was being done.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	if closed, ok := errors.AsType[*types.TerminalRoutingStrategyException](err); ok {
		return fmt.Errorf("%s: %w: %w", doing, &session.TerminalAliasError{Message: closed.ErrorMessage()}, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	meaning := session.ErrUnavailable // no answer, or an unknown code
	if answered, ok := errors.AsType[smithy.APIError](err); ok {
		if known := meanings[answered.ErrorCode()]; known != nil {
			meaning = known
		}
	} else if _, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		meaning = session.ErrInvalid
	}
	return fmt.Errorf("%s: %w: %w", doing, meaning, err)
}
