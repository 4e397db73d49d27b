package gamelift

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/sdk/session"
)

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
		meaning = cmp.Or(session.ErrorOfCode(answered.ErrorCode()), meaning)
	} else if _, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		meaning = session.ErrInvalid
	}
	return fmt.Errorf("%s: %w: %w", doing, meaning, err)
}
