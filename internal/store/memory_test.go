package store_test

import (
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/storetest"
)

func TestStore_Memory(t *testing.T) {
	t.Parallel()
	storetest.TestStore(t, func(*testing.T) (store.Driver, string) { return store.NewMemory(), "default" })
}

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.TestDriver(t, func(*testing.T) (store.Driver, string) { return store.NewMemory(), "default" })
}
