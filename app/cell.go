package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/serversdk"
)

// join makes the node a member of its cell: it serves immediately, by itself if it owns
// the cell, and otherwise by forwarding to the owner as a standby.
func (a *App) join(ctx context.Context) error {
	if err := a.listen(); err != nil {
		return err
	}
	o, err := a.membership()
	if err != nil {
		return err
	}
	if a.keeper, err = cell.Open(ctx, o); err != nil {
		return err
	}
	a.gate = cell.NewGate(a.keeper)
	a.measureMembership()
	a.serve(a.memberMux())
	if err := a.gate.ReachesItself(ctx); err != nil {
		a.log.Warn("this node does not reach itself at its node address, so other nodes may not either; they forward to it there when it owns the cell", "address", o.Node.Address, "error", err)
	}
	select {
	case <-a.keeper.Owned():
		return a.own(ctx)
	default:
	}
	if a.masterKey.made() {
		return a.masterKey.missing()
	}
	a.gate.Probe(ctx)
	if err := a.domain.store.Prepare(ctx); err != nil {
		a.log.Warn("not connected to the database in advance; taking over would take longer", "error", err)
	}
	a.running.Go(func() { a.gate.Watch(a.standing) })
	go a.standBy()
	return nil
}

// measureMembership registers the gauges of a node's role in its cell.
func (a *App) measureMembership() {
	gauge := func(name, help string, value func() float64) {
		a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	either := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	gauge("muster_cell_owner", "Whether this node owns its cell: 1, or stands by: 0.",
		func() float64 { return either(a.keeper.Holds()) })
	gauge("muster_cell_owner_reachable", "Whether this node reaches the owner of its cell: 1, or not: 0.",
		func() float64 { return either(a.gate.Unreachable() == nil) })
	gauge("muster_cell_clock_ahead_seconds", "How far this node's clock is ahead of the database's.",
		func() float64 { ahead, _ := a.keeper.Skew(); return ahead.Seconds() })
}

// membership returns what the other nodes of the cell learn of this one. Its name contains
// an id in addition to host and address, which two nodes can have in common: with equal
// names they would take the cell from each other forever.
func (a *App) membership() (cell.Options, error) {
	address := a.opts.NodeAddress
	if address == "" {
		address = a.opts.reachable(a.listener.Addr().(*net.TCPAddr))
	}
	if name, _, _ := net.SplitHostPort(address); loopback(name) && !a.opts.AcceptAny {
		a.log.Warn("servers on other machines cannot reach this one at its node address; give --node-address where there are any", "address", address)
	}
	id, err := a.nodeID()
	if err != nil {
		return cell.Options{}, err
	}
	host, _ := os.Hostname()
	return cell.Options{
		URL: a.opts.Store, Password: a.opts.StorePassword, Cell: a.opts.Cell, TTL: a.opts.LeaseTTL, BodyTimeout: a.opts.BodyTimeout, Secret: a.secret, Logger: a.log,
		Node: cell.Node{Name: host + "/" + address + "/" + id, Address: address, Certificate: cell.Fingerprint(a.leaf)},
	}, nil
}

// standBy takes over when this node becomes the owner of the cell.
func (a *App) standBy() {
	select {
	case <-a.done:
	case <-a.standing.Done():
	case <-a.keeper.Owned():
		if err := a.takeOver(); err != nil {
			a.fail(fmt.Errorf("take over the cell: %w", err))
		}
	}
}

func (a *App) takeOver() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase != phaseStarted {
		return nil
	}
	if err := a.own(a.standing); err != nil {
		return err
	}
	a.show.start(a)
	a.log.Info("took the cell over", "operations", len(a.doors.api.Handled()))
	return nil
}

// own opens the state of the cell, which this node owns now, and serves it. Opening takes
// the fence from any other owner, so a node that was paused since it got the lease must
// check that it still has it.
func (a *App) own(ctx context.Context) error {
	if !a.keeper.Holds() {
		return errOvertaken
	}
	if err := a.openState(ctx); err != nil {
		return err
	}
	if err := a.work(ctx); err != nil {
		return err
	}
	a.running.Go(a.watchLease)
	a.gate.Own(a.mux())
	return nil
}

// watchLease ends the app when another node has taken the cell. The next write would
// end it anyway, but later.
func (a *App) watchLease() {
	select {
	case <-a.standing.Done():
	case <-a.keeper.Lost():
		a.fail(errOvertaken)
	}
}

// leave releases the cell, after everything that needed it.
func (a *App) leave(ctx context.Context) error {
	defer a.freeNodeID()
	if a.keeper == nil {
		return nil
	}
	return a.keeper.Close(ctx)
}

// memberMux serves requests about this node itself, and passes all others to the gate.
func (a *App) memberMux() http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /healthz", a.healthz)
	own.HandleFunc("GET /readyz", a.readyz)
	a.handleMetrics(own)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := own.Handler(r)
		if pattern == "" || serversdk.Match(r) {
			a.gate.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}
