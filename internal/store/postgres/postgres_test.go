package postgres_test

import (
	"testing"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/postgres"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/store/storetest"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	storetest.TestDriver(t, func(t *testing.T) (store.Driver, string) { return postgres.New(url), pgtest.Cell(t, url) })
}
