package sqlite_test

import (
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/sqlite"
)

func TestX(t *testing.T) {
	s := store.New(store.Options{Driver: sqlite.New(t.TempDir())})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
}
