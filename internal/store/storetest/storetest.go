// Package storetest contains what tests of the store and of its users share: the
// check that reloading yields what is in memory, and the suite that every driver must
// pass.
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

// CheckReload fails the test if a new owner would find another state than s has in
// memory. Call it on an open store to which nothing is being written.
func CheckReload(t TB, s *store.Store) {
	t.Helper()
	if err := s.CheckReload(t.Context()); err != nil {
		t.Errorf("reload differs from memory:\n%v", err)
	}
}
