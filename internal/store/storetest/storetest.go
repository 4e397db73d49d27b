// Package storetest holds what tests of the store and of those who use it share:
// the check that reloading gives what memory holds, and the suite that every
// driver passes.
package storetest

import (
	"context"

	"github.com/musterhq/muster/internal/store"
)

// TB is the part of testing.TB that is needed, so that property tests can call too.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
}

// CheckReload fails the test where a new owner would find another state than s
// holds in memory. Call it on an open store to which nobody writes any more.
func CheckReload(t TB, s *store.Store) {
	t.Helper()
	if err := s.CheckReload(t.Context()); err != nil {
		t.Errorf("reload differs from memory:\n%v", err)
	}
}
