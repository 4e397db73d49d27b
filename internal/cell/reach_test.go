package cell_test

import (
	"context"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
)

// TestGate_Unreachable: a standby that is cut off from the owner reports it, after a
// lease if it had reached the owner and immediately if it never did, and stops when
// it reaches the owner again.
func TestGate_Unreachable(t *testing.T) {
	url := pgtest.URL(t)
	var reach *wire
	join(t, url, "owner", func(o *cell.Options) {
		reach = newWire(t, "tcp", o.Node.Address)
		o.Node.Address = reach.address
	})
	standby := join(t, url, "standby")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	standby.gate.Probe(ctx)
	if err := standby.gate.Unreachable(); err != nil {
		t.Fatalf("beside an owner that answers: %v", err)
	}
	reach.cut()
	standby.gate.Probe(ctx)
	if err := standby.gate.Unreachable(); err != nil {
		t.Errorf("one probe that failed: %v", err)
	}
	go standby.gate.Watch(ctx)
	wait.Until(t, "the standby says that it is cut off", func() bool { return standby.gate.Unreachable() != nil })
	if err := standby.gate.Unreachable(); !strings.Contains(err.Error(), reach.address) {
		t.Errorf("it does not name the address: %v", err)
	}
	late := join(t, url, "late")
	late.gate.Probe(ctx)
	if late.gate.Unreachable() == nil {
		t.Error("a node that never reached the owner does not say so")
	}
	reach.mend()
	wait.For(t, "the standby reaches the owner again", standby.gate.Unreachable)
}

// TestGate_ReachesItself: a node address that leads elsewhere is detected.
func TestGate_ReachesItself(t *testing.T) {
	url := pgtest.URL(t)
	owner := join(t, url, "owner")
	if err := owner.gate.ReachesItself(t.Context()); err != nil {
		t.Error(err)
	}
	astray := join(t, url, "astray", func(o *cell.Options) {
		o.Node.Address = owner.server.Listener.Addr().String()
		o.Node.Certificate = "00"
	})
	if err := astray.gate.ReachesItself(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a node address that leads to another node: %v", err)
	}
}
