package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/store"
)

// SQLSTATE codes, and classes of them, that are handled specially.
const (
	divisionByZero     = "22012" // a stale fence aborts a commit
	readOnly           = "25006" // the server is not the primary, or no longer is
	completionUnknown  = "40003"
	diskFull           = "53100"
	tooManyConnections = "53300"
	lockNotAvailable   = "55P03"
	queryCanceled      = "57014" // by statement_timeout
	checkViolation     = "23514"
	duplicateTable     = "42P07"

	classConnection = "08"
	classConflict   = "40" // serialization failures and deadlocks
	classResources  = "53" // disk full, out of memory, too many connections
	classOperator   = "57" // canceled, shutting down, crashed, starting up
)

// classify wraps errors of a commit that certainly did not happen and may be retried in
// ErrTransient, and of one that may have happened in ErrInDoubt. An error reported by
// the server has aborted the transaction, unless it also ends the connection: then it
// may have come after the commit, before the response, as when the server shuts down.
// If there is no report, the connection was lost: then the commit certainly did not
// happen only if it was not sent yet.
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

// temporary reports whether a SQLSTATE is of a class of temporary errors.
func temporary(code string) bool {
	return strings.HasPrefix(code, classConflict) || strings.HasPrefix(code, classResources) || strings.HasPrefix(code, classOperator)
}

// isReadOnly reports whether a server refused to write at all.
func isReadOnly(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && reported.Code == readOnly
}

// again repeats a read, or what changes nothing the second time, that failed because the server
// had closed the connection, at most until all the pool's connections are new. If it still fails for that reason, the
// error wraps ErrTransient.
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

// cut reports whether a read failed because of its connection, not because of the
// query.
func cut(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrFenced) {
		return false
	}
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || strings.HasPrefix(reported.Code, classOperator) || reported.Code == tooManyConnections
}
