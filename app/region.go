package app

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/placement/remote"
)

// maxRegions limits the regions of a deployment: each has its own connections to the
// database, and a copy of its state in every node.
const maxRegions = 32

// regions returns the regions of the deployment, the home region first.
func (o *Options) regions() []string {
	if len(o.Regions) == 0 {
		return []string{o.Region}
	}
	return o.Regions
}

// several reports whether the deployment has more than one region.
func (o *Options) several() bool { return len(o.Regions) > 1 }

// isHome reports whether the options are those of the home region.
func (o *Options) isHome() bool { return o.Region == o.regions()[0] }

func (o *Options) validateRegions() error {
	if len(o.Regions) > maxRegions {
		return fmt.Errorf("regions: %d of them; a deployment has at most %d", len(o.Regions), maxRegions)
	}
	if !slices.Contains(o.regions(), o.Region) {
		return fmt.Errorf("region: %s is not one of the regions %s", o.Region, strings.Join(o.Regions, ", "))
	}
	for i, name := range o.Regions {
		switch {
		case !arn.ValidRegion(name):
			return fmt.Errorf("regions: %q does not look like us-east-1; AWS's game server SDKs would refuse its ARNs", name)
		case slices.Contains(o.Regions[:i], name):
			return fmt.Errorf("regions: %s is there twice", name)
		}
	}
	for _, name := range o.PreferRegions {
		if !slices.Contains(o.regions(), name) {
			return fmt.Errorf("prefer-regions: %s is not one of the regions %s", name, strings.Join(o.regions(), ", "))
		}
	}
	return nil
}

// remoteFrom returns the deployment that remotes must not be: none with several regions, where
// each is remote from the others.
func (o *Options) remoteFrom() arn.Home {
	if o.several() {
		return arn.Home{}
	}
	return o.home()
}

// validateServer returns an error if the options are not those of a whole deployment.
func (o *Options) validateServer() error {
	if !o.isHome() {
		return fmt.Errorf("region: %s is not the first of regions, which is home; a server has all of them, so leave region out", o.Region)
	}
	return o.validate()
}

// in returns the options for one region of the deployment. The home region's state is
// where that of a deployment with one region is; the others have names and directories of
// their own beside it.
func (o *Options) in(name string) *Options {
	own := *o
	own.Region = name
	if o.several() { // a remote that is this region is for the others
		own.Remotes = slices.DeleteFunc(slices.Clone(o.Remotes), func(c remote.Config) bool { return c.Region == name && c.Account == o.Account })
	}
	if own.isHome() {
		return &own
	}
	own.Cell = o.Cell + "_" + name
	own.directory = filepath.Join(o.DataDir, "regions", name)
	own.Beacon = false
	if o.Host != nil { // a program of a developer's own is hosted in the home region
		own.Host = new(*o.Host)
		own.Host.Exec, own.Host.Image, own.Host.Legacy = nil, nil, nil
	}
	if o.Record != "" {
		own.Record = o.Record + "." + name
	}
	if o.AuditSink != "" && !strings.Contains(o.AuditSink, "://") {
		own.AuditSink = o.AuditSink + "." + name
	}
	return &own
}

// region is one region of the deployment on this node. The node always has a replica of it,
// which is replaced by another one when it cannot go on.
type region struct {
	name string
	node *App
	now  atomic.Pointer[replica]

	mu      sync.Mutex
	changed chan struct{} // closed when now changes
	answers chan struct{} // closed once requests of this node itself may come
}

func newRegion(a *App, name string) (*region, error) {
	g := &region{name: name, node: a, changed: make(chan struct{}), answers: make(chan struct{})}
	r, err := g.replica()
	if err != nil {
		return nil, err
	}
	g.use(r)
	return g, nil
}

// regionOf returns a region of the deployment by its name.
func (a *App) regionOf(name string) *region {
	for _, g := range a.regions {
		if g.name == name {
			return g
		}
	}
	return nil
}

// replica returns a new replica, which does not run yet.
func (g *region) replica() (*replica, error) {
	return newReplica(g.node, g.node.optionsIn(g.name))
}

// use makes r answer the region's requests.
func (g *region) use(r *replica) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now.Store(r)
	close(g.changed)
	g.changed = make(chan struct{})
	g.node.metrics.set(g.name, r.registry)
}

// next returns a channel that is closed when another replica answers.
func (g *region) next() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// ServeHTTP answers with the replica of now. While one replica makes room for the next,
// requests wait.
func (g *region) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rep := g.now.Load()
	if !rep.requests.enter(r) {
		if rep = g.await(r); rep == nil {
			cell.Refuse(w, r)
			return
		}
	}
	defer rep.requests.leave(r)
	rep.handler.ServeHTTP(w, r)
}

// await returns the next replica that takes a request, which it has entered; nil if there is
// none in time.
func (g *region) await(r *http.Request) *replica {
	patience := time.NewTimer(2 * g.node.opts.LeaseTTL)
	defer patience.Stop()
	for {
		changed := g.next()
		if rep := g.now.Load(); rep.requests.enter(r) {
			return rep
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return nil
		case <-patience.C:
			return nil
		}
	}
}

// How long a region waits for its next replica after one that failed: at first, and at most. A node
// that cannot serve a region, as with a wrong key, leaves it to others in between.
const firstReplacePause, longestReplacePause = time.Second, time.Minute

// replacePause returns the pause after a number of replicas in a row that served nothing.
func replacePause(failures int) time.Duration {
	pause := firstReplacePause
	for range failures - 1 {
		if pause *= 2; pause >= longestReplacePause {
			return longestReplacePause
		}
	}
	return pause
}

// keep replaces the replica whenever it is over, until ctx ends.
func (g *region) keep(ctx context.Context) {
	failures := 0
	for {
		r := g.now.Load()
		select {
		case <-ctx.Done():
			return
		case <-r.over:
		}
		log := r.log.With("region", g.name)
		pause := time.Duration(0)
		if r.failed != nil {
			if r.served.Load() {
				failures = 0
			}
			failures++
			pause = replacePause(failures)
			log.Error("the region gets another replica on this node", "error", r.failed, "in", pause)
		} else {
			failures = 0
			log.Info("the region gets another replica on this node")
		}
		g.end(ctx, r)
		for pause == 0 || wake.Sleep(ctx, pause) {
			err := g.replace(ctx)
			if err == nil {
				break
			}
			failures++
			pause = replacePause(failures)
			log.Warn("the region has no replica on this node; trying again", "error", err, "in", pause)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// end stops a replica.
func (g *region) end(ctx context.Context, r *replica) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.node.opts.DrainTimeout+stopMargin)
	defer cancel()
	if err := r.leave(ctx); err != nil {
		r.log.Warn("not everything of the replica ended in order", "region", g.name, "error", err)
	}
}

// replace starts a new replica, or leaves none running.
func (g *region) replace(ctx context.Context) error {
	r, err := g.replica()
	if err != nil {
		return err
	}
	if err = r.open(ctx); err == nil {
		g.use(r)
		err = r.settle(ctx)
	}
	if err != nil {
		g.end(ctx, r)
		return err
	}
	r.serves()
	return nil
}
