package cell_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// TestCell_SilentConnection: an owner whose connection to the database goes silent
// renews over another one and stays the owner.
func TestCell_SilentConnection(t *testing.T) {
	database := pgtest.URL(t)
	wire, through := wirePostgres(t, database)
	owner, other := join(t, through, "owner"), join(t, database, "other")
	wire.swallow()
	select {
	case <-other.keeper.Owned():
		t.Fatal("another node took the cell")
	case <-time.After(short): // longer than any earlier renewal lasts
	}
	if !owner.keeper.Holds() {
		t.Error("the owner did not renew its lease")
	}
}

// TestCell_Outage: a database that was unavailable to all nodes changes no living
// owner, even though its lease has ended and a standby reaches the database first.
func TestCell_Outage(t *testing.T) {
	database := pgtest.URL(t)
	ownerWire, ownerURL := wirePostgres(t, database)
	standbyWire, standbyURL := wirePostgres(t, database)
	blind := make(warnings, 1)
	owner, standby := join(t, ownerURL, "owner"), join(t, standbyURL, "standby", blind.log)
	outage := func() {
		blind.forget()
		ownerWire.cut()
		standbyWire.cut()
		blind.await(t)
		endLease(t, database)
		standbyWire.forget()
		standbyWire.mend()
		<-standbyWire.accepted
	}

	outage()
	ownerWire.mend()
	select {
	case <-standby.keeper.Owned():
		t.Fatal("the standby took the cell from an owner that lives")
	case <-time.After(short):
	}
	if !owner.keeper.Holds() {
		t.Error("the owner does not go on")
	}

	outage()
	wait.Done(t, "the standby to take the cell of an owner that did not come back", standby.keeper.Owned())
	ownerWire.mend()
	<-owner.keeper.Lost()
}

// endLease ends the lease now, as if the outage had lasted that long.
func endLease(t *testing.T, url string) {
	t.Helper()
	pgtest.Execute(t, url, `UPDATE "muster"."lease" SET "until" = clock_timestamp()`)
}

// warnings is a node's log on which tests wait. It receives a value for warnings
// since the last wait, such as a failed read of the lease.
type warnings chan struct{}

func (w warnings) log(o *cell.Options) {
	o.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Write implements io.Writer.
func (w warnings) Write(p []byte) (int, error) {
	select {
	case w <- struct{}{}:
	default:
	}
	return len(p), nil
}

// forget drops a pending warning.
func (w warnings) forget() {
	select {
	case <-w:
	default:
	}
}

// await waits for the next warning.
func (w warnings) await(t *testing.T) {
	t.Helper()
	wait.Done(t, "a warning of the node", w)
}

// TestGate_OwnerOutOfReach: while an owner cannot be reached, the requests that wait
// for it do not all keep trying; when it can be, all are answered.
func TestGate_OwnerOutOfReach(t *testing.T) {
	url := pgtest.URL(t)
	var reach *wire
	join(t, url, "owner", lasting, func(o *cell.Options) {
		reach = newWire(t, "tcp", o.Node.Address)
		o.Node.Address = reach.address
	})
	standby := join(t, url, "standby", lasting)
	reach.cut()
	const requests, tries = 50, 10
	answers := make(chan string, 1+requests)
	ask := func() {
		_, body := standby.ask()
		answers <- body
	}
	go ask()
	for range 2 { // it has failed by now
		<-reach.accepted
	}
	begun := time.Now()
	for range requests {
		go ask()
	}
	for range tries {
		<-reach.accepted
	}
	if took := time.Since(begun); took < (tries-2)*cell.LookAgain {
		t.Errorf("%d tries in %s", tries, took)
	}
	reach.mend()
	for range 1 + requests {
		if body := <-answers; !strings.HasPrefix(body, "owner ") || !strings.HasSuffix(body, "\nthe body") {
			t.Errorf("answered %s", body)
		}
	}
}
