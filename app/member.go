package app

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/cell"
)

// member is a node's part in its cell, and what other nodes know about it. A node that
// does not share its state is not a member.
type member struct {
	opts      *Options
	name      *nodeName
	confirmed func() uint64 // the last sequence of the state that this node knows was confirmed
	secret    []byte        // shared by the nodes of a cell
	spread    *cell.Spread  // nil: the deployment has one cell
	address   string        // at which other nodes reach this one
	keeper    *cell.Keeper
	gate      *cell.Gate
}

// open makes the node at a site a member of its cell.
func (m *member) open(ctx context.Context, s *site, metrics prometheus.Registerer) error {
	var err error
	if m.keeper, err = cell.Open(ctx, m.options(s)); err != nil {
		return err
	}
	m.gate = cell.NewGate(m.keeper)
	m.measure(metrics)
	return nil
}

// joined reports whether the node is a member.
func (m *member) joined() bool { return m.keeper != nil }

// options returns what the other nodes of the cell know about this one. Its name contains
// an id in addition to host and address, which two nodes can have in common: with equal
// names they would take the cell from each other forever.
func (m *member) options(s *site) cell.Options {
	o := m.opts
	m.address = o.nodeAddress(s)
	var yield func() time.Duration
	if m.spread != nil {
		yield = func() time.Duration { return m.spread.Yield(o.Cell) }
	}
	return cell.Options{
		Yield: yield,

		URL: o.Store, Password: o.StorePassword, Cell: o.Cell, TTL: o.LeaseTTL, Level: o.level(), Confirmed: m.confirmed, BodyTimeout: o.BodyTimeout, Secret: m.secret, Logger: o.Logger,
		Node: cell.Node{Name: m.name.at(m.address), Address: m.address, Certificate: cell.Fingerprint(s.certificate.first.Certificate[0])},
	}
}

// nodeAddress returns where other nodes reach the one at a site.
func (o *Options) nodeAddress(s *site) string {
	return cmp.Or(o.NodeAddress, o.reachable(s.listener.Addr().(*net.TCPAddr)))
}

// warnOfNodeAddress logs that other machines do not reach the node address, which is one for all
// regions. The site must be open.
func (a *App) warnOfNodeAddress() {
	address := a.opts.nodeAddress(a.site)
	if name, _, _ := net.SplitHostPort(address); loopback(name) && !a.opts.AcceptAny {
		a.log.Warn("servers on other machines cannot reach this one at its node address; give --node-address where there are any", "address", address)
	}
}

// measure registers the gauges of a node's role in its cell.
func (m *member) measure(metrics prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("muster_cell_owner", "Whether this node owns its cell: 1, or stands by: 0.",
		func() float64 { return either(m.keeper.Holds()) })
	gauge("muster_cell_owner_reachable", "Whether this node reaches the owner of its cell: 1, or not: 0.",
		func() float64 { return either(m.gate.Unreachable() == nil) })
	gauge("muster_cell_stands_aside", "Whether this node does not take the cell because its release is older than what the cell stores: 1, or not: 0.",
		func() float64 { return either(m.keeper.Aside() != nil) })
	gauge("muster_cell_clock_ahead_seconds", "How far this node's clock is ahead of the database's.",
		func() float64 { ahead, _ := m.keeper.Skew(); return ahead.Seconds() })
}

// either returns the value of a gauge that is 1 or 0.
func either(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// forwarded returns the client's address of a request that another node of the cell has
// forwarded.
func (m *member) forwarded(r *http.Request) (address string, ok bool) {
	if m.gate == nil {
		return "", false
	}
	return m.gate.Forwarded(r)
}

// leave releases the cell, after everything that needed it.
func (m *member) leave(ctx context.Context) error {
	if m.keeper == nil {
		return nil
	}
	return m.keeper.Close(ctx)
}

// join makes the replica serve its state if this node owns the cell, and otherwise stand by.
// r.mu must be held.
func (r *replica) join(ctx context.Context) error {
	keeper, gate := r.member.keeper, r.member.gate
	select {
	case <-keeper.Owned():
		return r.own(ctx)
	default:
	}
	if r.node.masterKey.made() {
		return r.node.masterKey.missing()
	}
	gate.Probe(ctx)
	if err := r.domain.store.Prepare(ctx); err != nil {
		r.log.Warn("not connected to the database in advance; taking over would take longer", "error", err)
	}
	r.running.Go(func() { gate.Watch(r.standing) })
	r.follow()
	go r.standBy() // end waits for what runs with the mutex, which a takeover needs
	return nil
}

// standBy takes over when this node becomes the owner of the cell.
func (r *replica) standBy() {
	select {
	case <-r.over:
	case <-r.standing.Done():
	case <-r.member.keeper.Owned():
		if err := r.takeOver(); err != nil {
			r.fail(fmt.Errorf("take over the cell: %w", err))
		}
	}
}

func (r *replica) takeOver() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != phaseStarted {
		return nil
	}
	if err := r.own(r.standing); err != nil {
		return err
	}
	r.local.start()
	r.log.Info("took the cell over", "operations", len(r.doors.api.Handled()))
	return nil
}

// own opens the state of the cell, which this node owns now, and serves it. Opening takes
// the fence from any other owner, so a node that was paused since it got the lease must
// check that it still has it. r.mu must be held.
func (r *replica) own(ctx context.Context) error {
	if !r.member.keeper.Holds() {
		return errOvertaken
	}
	if err := r.openState(ctx); err != nil {
		return err
	}
	if err := r.work(ctx); err != nil {
		return err
	}
	r.running.Go(func() { r.raiseLevel(r.standing) })
	// The next write would end a node without its lease anyway, but later.
	r.running.Go(func() { r.endWhenLost(r.standing, r.member.keeper.Lost()) })
	r.member.gate.Own(r.routes())
	return nil
}
