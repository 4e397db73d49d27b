package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/serversdk"
)

// member is a node's part in its cell, and what other nodes know about it. A node that
// does not share its state is not a member.
type member struct {
	opts      *Options
	confirmed func() uint64 // the last sequence of the state that this node knows was confirmed
	secret    []byte        // shared by the nodes of a cell
	address   string        // at which other nodes reach this one
	keeper    *cell.Keeper
	gate      *cell.Gate
	lock      io.Closer // of the data directory's node id; nil: not used
}

// open makes the node at a site a member of its cell.
func (m *member) open(ctx context.Context, s *site, metrics prometheus.Registerer) error {
	o, err := m.options(s)
	if err != nil {
		return err
	}
	if m.keeper, err = cell.Open(ctx, o); err != nil {
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
func (m *member) options(s *site) (cell.Options, error) {
	o := m.opts
	m.address = cmp.Or(o.NodeAddress, o.reachable(s.listener.Addr().(*net.TCPAddr)))
	if name, _, _ := net.SplitHostPort(m.address); loopback(name) && !o.AcceptAny {
		o.Logger.Warn("servers on other machines cannot reach this one at its node address; give --node-address where there are any", "address", m.address)
	}
	id, err := m.nodeID()
	if err != nil {
		return cell.Options{}, err
	}
	host, _ := os.Hostname()
	return cell.Options{
		URL: o.Store, Password: o.StorePassword, Cell: o.Cell, TTL: o.LeaseTTL, Level: o.level(), Confirmed: m.confirmed, BodyTimeout: o.BodyTimeout, Secret: m.secret, Logger: o.Logger,
		Node: cell.Node{Name: host + "/" + m.address + "/" + id, Address: m.address, Certificate: cell.Fingerprint(s.certificate.first.Certificate[0])},
	}, nil
}

// nodeID returns what distinguishes this node from the others of its cell. It is stored in
// the data directory, so that a restarted node has the same id, and is used by one process
// at a time: another one with the directory gets an id until it ends.
func (m *member) nodeID() (string, error) {
	lock, err := supervise.Lock(m.opts.file("node.lock"))
	if err != nil {
		m.opts.Logger.Info("the data directory's node id is not used", "error", err)
		return rand.Text(), nil
	}
	m.lock = lock
	path := m.opts.file("node.id")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read node id: %w", err)
	}
	if id := strings.TrimSpace(string(text)); id != "" {
		return id, nil
	}
	id := rand.Text()
	if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep node id: %w", err)
	}
	return id, nil
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

// handler serves requests about this node itself by own, and passes all others to the gate.
func (m *member) handler(own *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := own.Handler(r)
		if pattern == "" || serversdk.Match(r) {
			m.gate.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

// leave releases the cell, after everything that needed it, and then the node's id.
func (m *member) leave(ctx context.Context) error {
	var err error
	if m.keeper != nil {
		err = m.keeper.Close(ctx)
	}
	if m.lock != nil {
		m.lock.Close()
		m.lock = nil
	}
	return err
}

// join makes the node a member of its cell: it serves immediately, by itself if it owns
// the cell, and otherwise by forwarding to the owner as a standby.
func (a *App) join(ctx context.Context) error {
	if err := a.site.open(a.member.forwarded, a.metrics.registry); err != nil {
		return err
	}
	if err := a.member.open(ctx, a.site, a.metrics.registry); err != nil {
		return err
	}
	keeper, gate := a.member.keeper, a.member.gate
	a.serve(a.member.handler(a.ownPaths()))
	if err := gate.ReachesItself(ctx); err != nil {
		a.log.Warn("this node does not reach itself at its node address, so other nodes may not either; they forward to it there when it owns the cell", "address", a.member.address, "error", err)
	}
	select {
	case <-keeper.Owned():
		return a.own(ctx)
	default:
	}
	if a.masterKey.made() {
		return a.masterKey.missing()
	}
	gate.Probe(ctx)
	if err := a.domain.store.Prepare(ctx); err != nil {
		a.log.Warn("not connected to the database in advance; taking over would take longer", "error", err)
	}
	a.running.Go(func() { gate.Watch(a.standing) })
	a.follow()
	go a.standBy()
	return nil
}

// standBy takes over when this node becomes the owner of the cell.
func (a *App) standBy() {
	select {
	case <-a.done:
	case <-a.standing.Done():
	case <-a.member.keeper.Owned():
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
	a.local.start()
	a.log.Info("took the cell over", "operations", len(a.doors.api.Handled()))
	return nil
}

// own opens the state of the cell, which this node owns now, and serves it. Opening takes
// the fence from any other owner, so a node that was paused since it got the lease must
// check that it still has it.
func (a *App) own(ctx context.Context) error {
	if !a.member.keeper.Holds() {
		return errOvertaken
	}
	if err := a.openState(ctx); err != nil {
		return err
	}
	if err := a.work(ctx); err != nil {
		return err
	}
	a.running.Go(func() { a.raiseLevel(a.standing) })
	// The next write would end a node without its lease anyway, but later.
	a.running.Go(func() { a.endWhenLost(a.standing, a.member.keeper.Lost()) })
	a.member.gate.Own(a.routes())
	return nil
}
