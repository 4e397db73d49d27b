package postgres

import (
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/musterhq/muster/internal/store"
)

// TestClassify: the errors that PostgreSQL reports for a failed commit, and their
// classes.
func TestClassify(t *testing.T) {
	t.Parallel()
	reported := func(severity, code string) error {
		return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code}
	}
	for _, c := range []struct {
		what string
		err  error
		want error // nil if none of the three
	}{
		{"fence", reported("ERROR", "22012"), store.ErrFenced},
		{"serialization failure", reported("ERROR", "40001"), store.ErrTransient},
		{"deadlock", reported("ERROR", "40P01"), store.ErrTransient},
		{"completion unknown", reported("ERROR", "40003"), store.ErrInDoubt},
		{"disk full", reported("ERROR", "53100"), store.ErrTransient},
		{"read-only after a failover", reported("ERROR", "25006"), store.ErrTransient},
		{"canceled", reported("ERROR", "57014"), store.ErrTransient},
		{"lock timeout", reported("ERROR", "55P03"), store.ErrTransient},
		{"administrator's shutdown", reported("FATAL", "57P01"), store.ErrInDoubt},
		{"crash of another backend", reported("FATAL", "57P02"), store.ErrInDoubt},
		{"starting up", reported("FATAL", "57P03"), store.ErrInDoubt},
		{"too many connections", reported("FATAL", "53300"), store.ErrInDoubt},
		{"panic", reported("PANIC", "53100"), store.ErrInDoubt},
		{"connection failure", reported("ERROR", "08006"), store.ErrInDoubt},
		{"connection lost", io.ErrUnexpectedEOF, store.ErrInDoubt},
		{"unique value used twice", reported("ERROR", "23505"), nil},
		{"no such table", reported("ERROR", "42P01"), nil},
	} {
		got := classify(c.err)
		for _, kind := range []error{store.ErrFenced, store.ErrTransient, store.ErrInDoubt} {
			if errors.Is(got, kind) != (kind == c.want) {
				t.Errorf("%s: %v", c.what, got)
			}
		}
	}
}
