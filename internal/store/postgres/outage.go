package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/store"
)

// SQLSTATE codes, and classes of them, with a meaning of their own here.
const (
	divisionByZero     = "22012" // how the fence aborts a commit
	readOnly           = "25006" // the server is no primary, or is none any more
	completionUnknown  = "40003"
	diskFull           = "53100"
	tooManyConnections = "53300"
	lockNotAvailable   = "55P03"

	classConnection = "08"
	classConflict   = "40" // serialization failures and deadlocks
	classResources  = "53" // disk full, out of memory, too many connections
	classOperator   = "57" // canceled, shutting down, crashed, starting up
)

// classify marks what certainly did not happen and may be tried again, and what
// may have happened. An error that the server reports has aborted the transaction.
// One that ends the connection may come after the commit and before its answer, as
// from a server that shuts down. Where there is no report at all the connection
// was lost: only what was not sent yet certainly did not happen.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if pgconn.SafeToRetry(err) {
		return fmt.Errorf("%w: %w", store.ErrTransient, err)
	}
	reported, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok, ends(reported), reported.Code == completionUnknown, strings.HasPrefix(reported.Code, classConnection):
		return fmt.Errorf("%w: %w", store.ErrInDoubt, err)
	case reported.Code == divisionByZero:
		return store.ErrFenced
	case reported.Code == diskFull:
		return fmt.Errorf("%w: %w: %w", store.ErrFull, store.ErrTransient, err)
	case reported.Code == readOnly, reported.Code == lockNotAvailable, temporary(reported.Code):
		return fmt.Errorf("%w: %w", store.ErrTransient, err)
	}
	return err
}

// ends reports whether the server ended the connection with the error.
func ends(reported *pgconn.PgError) bool {
	return reported.SeverityUnlocalized == "FATAL" || reported.SeverityUnlocalized == "PANIC"
}

// temporary reports whether a SQLSTATE is of a class that passes by itself.
func temporary(code string) bool {
	return strings.HasPrefix(code, classConflict) || strings.HasPrefix(code, classResources) || strings.HasPrefix(code, classOperator)
}

// isReadOnly reports whether a server refused to write at all.
func isReadOnly(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && reported.Code == readOnly
}

// again repeats a read that met a connection which the server had cut, at most
// until all the pool's connections are new. What still fails then for want of a
// connection is marked as transient.
func again[T any](read func() (T, error)) (T, error) {
	for try := 0; ; try++ {
		result, err := read()
		switch {
		case err == nil || !cut(err):
			return result, err
		case try == readers:
			return result, fmt.Errorf("%w: %w", store.ErrTransient, err)
		}
	}
}

// cut reports whether a read failed for want of a connection and not of sense.
func cut(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || strings.HasPrefix(reported.Code, classOperator) || reported.Code == tooManyConnections
}
