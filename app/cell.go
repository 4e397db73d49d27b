package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/serversdk"
)

// join makes the node one of its cell: it answers at once, by itself if it got
// the cell, else through the node that has it; then it stands by.
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
	a.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_cell_owner", Help: "Whether this node owns its cell: 1, or stands by: 0.",
	}, func() float64 {
		if a.keeper.Holds() {
			return 1
		}
		return 0
	}))
	a.serve(a.memberMux())
	select {
	case <-a.keeper.Owned():
		return a.own(ctx)
	default:
		go a.standBy()
		return nil
	}
}

// membership is what the other nodes of the cell learn of this one. Its name has
// an id besides host and address, which two nodes can have in common: they would
// take the cell from each other for ever.
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
		URL: a.opts.Store, Cell: a.opts.Cell, TTL: a.opts.LeaseTTL, BodyTimeout: a.opts.BodyTimeout, Secret: a.secret, Logger: a.log,
		Node: cell.Node{Name: host + "/" + address + "/" + id, Address: address, Certificate: cell.Fingerprint(a.leaf)},
	}, nil
}

// standBy takes over when the cell falls to this node.
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

// own opens the state of the cell, which is this node's now, and serves it. Opening
// moves the fence away from whoever owns the cell, so a node that was paused since
// it got the lease has to see that it still has it.
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

// watchLease ends the app when another node has taken the cell. It would end
// with the next write anyway; this way it ends sooner.
func (a *App) watchLease() {
	select {
	case <-a.standing.Done():
	case <-a.keeper.Lost():
		a.fail(errOvertaken)
	}
}

// leave gives the cell back, after everything that needed it.
func (a *App) leave(ctx context.Context) error {
	defer a.freeNodeID()
	if a.keeper == nil {
		return nil
	}
	return a.keeper.Close(ctx)
}

// memberMux answers for this node itself what is asked of it, and has the gate
// see to all else.
func (a *App) memberMux() http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /healthz", a.healthz)
	own.HandleFunc("GET /readyz", a.memberReadyz)
	own.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := own.Handler(r)
		if pattern == "" || serversdk.Match(r) {
			a.gate.ServeHTTP(w, r)
			return
		}
		own.ServeHTTP(w, r)
	})
}

// memberReadyz tells whether requests to this node are served, and by whom.
func (a *App) memberReadyz(w http.ResponseWriter, r *http.Request) {
	route, _ := a.keeper.Route()
	switch {
	case !a.ready.Load() || (route.Mine && !a.gate.Serves()) || !route.Live:
		writeJSON(w, http.StatusServiceUnavailable, `{"status":"not ready"}`)
	case route.Mine:
		writeJSON(w, http.StatusOK, `{"status":"ready","role":"owner"}`)
	default:
		writeJSON(w, http.StatusOK, fmt.Sprintf(`{"status":"ready","role":"standby","owner":%q}`, route.Owner.Address))
	}
}
