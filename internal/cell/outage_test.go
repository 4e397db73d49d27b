package cell_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/store/postgres/pgtest"
)

// TestCell_SilentConnection: an owner whose connection to the database goes silent
// renews over another one, and stays the owner.
func TestCell_SilentConnection(t *testing.T) {
	database := pgtest.URL(t)
	wire, through := wirePostgres(t, database)
	owner, other := join(t, through, "owner"), join(t, database, "other")
	wire.swallow()
	select {
	case <-other.keeper.Owned():
		t.Fatal("another node took the cell")
	case <-time.After(short): // nothing renewed before holds as long
	}
	if !owner.keeper.Holds() {
		t.Error("the owner did not renew its lease")
	}
}
