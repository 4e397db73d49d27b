package cell

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/feature"
	"github.com/musterhq/muster/internal/release"
)

// DefaultTTL is how long a lease lasts unless it is renewed.
const DefaultTTL = 5 * time.Second

// MinTTL is the shortest lease that leaves room for renewing it.
const MinTTL = 500 * time.Millisecond

// renewals is how often a lease is renewed during its TTL, and how often a standby
// checks whether it has ended.
const renewals = 4

// Options configures a node's part in its cell.
type Options struct {
	URL      string        // postgres:// URL of the cell's database
	Password string        // for the database; "" uses the URL's
	Cell     string        // the cell's name
	Node     Node          // this node; Check is filled in
	Secret   []byte        // shared by the nodes of a deployment
	TTL      time.Duration // of the lease; default DefaultTTL, at least MinTTL
	// BodyTimeout limits how long a body that a standby passes on may make no
	// progress. Default 30 s.
	BodyTimeout time.Duration
	// Level is the highest feature level that this node agrees to; default feature.Known.
	Level feature.Level
	// Release is of this node's program; default release.Number.
	Release string
	// Confirmed returns the last sequence of the state that is known to be confirmed, for
	// nodes that may find less of it later. nil: none is known.
	Confirmed func() uint64
	// Yield returns how long this node waits before it takes the cell once that is free,
	// since others may be better for it (Spread). nil: not at all.
	Yield  func() time.Duration
	Logger *slog.Logger // nil discards

	clock func() time.Time // this node's; nil is time.Now
}

// Keeper takes, renews and gives back a cell's lease for one node.
type Keeper struct {
	opts   Options
	log    *slog.Logger
	lease  *lease
	owned  chan struct{} // closed when this node gets the lease
	lost   chan struct{} // closed when another node takes it from this one
	stop   context.CancelFunc
	raises chan raising  // calls of Raise, for the owner's loop
	done   chan struct{} // closed when the loop has ended

	blind   bool      // this standby's last read failed; only the loop uses it
	sighted time.Time // when a read succeeded again; only the loop uses it
	ends    time.Time // when the lease seen last ends; only the loop uses it
	free    time.Time // when the lease was first found to have ended; zero: it has not; only the loop uses it

	registered time.Time // when this node last told that it is there; only the loop uses it

	mu        sync.Mutex
	route     Route
	changed   chan struct{} // closed at the next change of route
	over      chan struct{} // closed when the owner changes
	epoch     uint64        // of our lease; 0 while we have none
	renewed   time.Time     // when the last successful renewal began
	skew      skew          // of this node's clock
	levels    levels
	members   []Member // of the cell, by name
	confirmed uint64   // the highest sequence that an owner told of
}

// Route says where requests of the cell go.
type Route struct {
	Owner Node            // the last one known
	Mine  bool            // the owner is this node
	Live  bool            // the owner's lease had not ended when it was last read
	Over  <-chan struct{} // closed when another takes over from the owner
	epoch uint64
}

// Open joins the cell: it takes the lease if it is free, and otherwise waits for it
// in the background. It fails if the owner has another secret.
func Open(ctx context.Context, o Options) (*Keeper, error) {
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.TTL < MinTTL {
		return nil, fmt.Errorf("lease: %s is shorter than %s", o.TTL, MinTTL)
	}
	o.Level, o.Release = cmp.Or(o.Level, feature.Known()), cmp.Or(o.Release, release.Number())
	if o.Confirmed == nil {
		o.Confirmed = func() uint64 { return 0 }
	}
	if o.clock == nil {
		o.clock = time.Now
	}
	o.Node.Check = hex.EncodeToString(mac(o.Secret, "check"))[:16]
	l, err := openLease(ctx, o)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		opts: o, log: o.Logger.With("component", "cell", "cell", o.Cell), lease: l,
		owned: make(chan struct{}), lost: make(chan struct{}), done: make(chan struct{}),
		raises: make(chan raising), changed: make(chan struct{}), over: make(chan struct{}), levels: levels{raised: make(chan struct{})},
	}
	if err := k.begin(ctx); err != nil {
		l.close()
		return nil, err
	}
	ctx, k.stop = context.WithCancel(context.Background())
	go k.run(ctx)
	return k, nil
}

// begin makes the first read, whose errors go to the caller of Open.
func (k *Keeper) begin(ctx context.Context) error {
	s, err := k.read(ctx)
	if err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	if s.left > 0 && s.owner.Check != k.opts.Node.Check {
		return fmt.Errorf("this node's master key is not that of %s, which owns the cell; all nodes of a cell need the same", s.owner.Name)
	}
	if err := k.register(ctx); err != nil {
		return fmt.Errorf("register node: %w", err)
	}
	if err := k.take(ctx); err != nil {
		return fmt.Errorf("take lease: %w", err)
	}
	return nil
}

// run waits for the lease and then renews it.
func (k *Keeper) run(ctx context.Context) {
	defer close(k.done)
	for !k.isOwner() {
		k.lease.wait(ctx, k.untilLook())
		if ctx.Err() != nil {
			return
		}
		if err := k.standBy(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("the lease cannot be read; trying again", "error", err)
		} else if err == nil && !k.isOwner() {
			k.announce(ctx)
		}
	}
	k.lease.deafen()
	k.keep(ctx)
	for ctx.Err() == nil { // after a loss, requests are forwarded until the node stops
		k.look(ctx)
		k.lease.wait(ctx, k.interval())
	}
}

// standBy checks who has the lease, and takes it if it has ended. After an outage of
// the database, during which the owner could not renew it, the owner gets two more
// attempts before it counts as gone.
func (k *Keeper) standBy(ctx context.Context) error {
	if !k.blind && !k.ends.IsZero() && !time.Now().Before(k.ends) { // take reads the lease itself
		err := k.take(ctx)
		k.blind = err != nil
		return err
	}
	s, err := k.look(ctx)
	if err != nil {
		k.blind = true
		return err
	}
	if k.blind {
		k.blind, k.sighted = false, time.Now()
	}
	if s.left > 0 || time.Since(k.sighted) < 2*k.interval() {
		if spare := k.sighted.Add(2 * k.interval()); k.ends.Before(spare) {
			k.ends = spare
		}
		return nil
	}
	return k.take(ctx)
}

// untilLook returns how long a standby waits before it reads the lease again: at most
// until the end of the lease that it saw.
func (k *Keeper) untilLook() time.Duration {
	if left := time.Until(k.ends); left > 0 {
		return min(left, k.interval())
	}
	return k.interval()
}

// announce registers this node if it is time to. What fails is tried again at the next look
// or renewal.
func (k *Keeper) announce(ctx context.Context) {
	if err := k.register(ctx); err != nil && ctx.Err() == nil {
		k.log.Warn("this node was not registered; trying again", "error", err)
	}
}

// take takes the lease if possible, and otherwise learns who has it.
func (k *Keeper) take(ctx context.Context) error {
	if _, wrong := k.Skew(); wrong != "" || k.Aside() != nil || k.yields() {
		_, err := k.look(ctx)
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, k.opts.TTL)
	defer cancel()
	begun := time.Now()
	epoch, err := k.lease.take(ctx, k.opts.Node, k.opts.TTL)
	if errors.Is(err, errTaken) {
		_, err := k.look(ctx)
		return err
	}
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.epoch, k.renewed = epoch, begun
	k.mu.Unlock()
	k.learn(Route{Owner: k.opts.Node, epoch: epoch, Live: true, Mine: true})
	k.log.Info("this node owns the cell", "epoch", epoch)
	close(k.owned)
	return nil
}

// yields reports whether another node shall have the first chance to take the cell, whose
// lease has ended.
func (k *Keeper) yields() bool {
	if k.opts.Yield == nil {
		return false
	}
	wait := k.opts.Yield()
	return wait > 0 && (k.free.IsZero() || time.Since(k.free) < wait)
}

// look learns who has the lease.
func (k *Keeper) look(ctx context.Context) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, k.interval())
	defer cancel()
	s, err := k.read(ctx)
	if err == nil {
		switch k.ends = s.ends; {
		case s.left > 0:
			k.free = time.Time{}
		case k.free.IsZero():
			k.free = time.Now()
		}
		k.learn(Route{Owner: s.owner, epoch: s.epoch, Live: s.left > 0})
	}
	return s, err
}

// read reads the lease, and compares the clocks.
func (k *Keeper) read(ctx context.Context) (state, error) {
	asked := k.opts.clock()
	s, err := k.lease.read(ctx)
	if err == nil {
		k.compare(skewOf(asked, s.now, k.opts.clock()))
		k.weigh(s.level, s.needs)
		k.remember(s.confirmed)
	}
	return s, err
}

// remember keeps the highest sequence that an owner told of.
func (k *Keeper) remember(confirmed uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.confirmed = max(k.confirmed, confirmed)
}

// Confirmed returns the last sequence of the state that an owner is known to have confirmed,
// as this node last read it: what was confirmed during the last renewals may be missing.
func (k *Keeper) Confirmed() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.confirmed
}

// learn publishes where requests go from now on.
func (k *Keeper) learn(r Route) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.epoch != k.route.epoch {
		close(k.over)
		k.over = make(chan struct{})
		k.log.Info("the owner of the cell", "node", r.Owner.Name, "address", r.Owner.Address, "epoch", r.epoch, "this", r.Mine)
	}
	r.Over = k.over
	if r == k.route {
		return
	}
	k.route = r
	close(k.changed)
	k.changed = make(chan struct{})
}

// renewAgain is the pause after a failed renewal, short so that the owner knows that
// it still owns the cell as soon as the database is back.
const renewAgain = 250 * time.Millisecond

// keep renews the lease until ctx ends or another node has it.
func (k *Keeper) keep(ctx context.Context) {
	next := time.NewTimer(k.interval())
	defer next.Stop()
	failing := false
	k.registered = time.Time{}
	k.announce(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-k.raises:
			r.done <- k.raise(ctx, r.level)
			continue
		case <-next.C:
		}
		begun := time.Now()
		err := k.renew(ctx)
		pause := k.interval()
		if err != nil {
			pause = min(pause, renewAgain)
		}
		next.Reset(max(0, pause-time.Since(begun)))
		switch {
		case errors.Is(err, errTaken):
			k.log.Error("another node took the cell; this one was not heard in time")
			k.mu.Lock()
			k.epoch = 0
			k.mu.Unlock()
			close(k.lost)
			return
		case err != nil && !failing && ctx.Err() == nil:
			k.log.Warn("the lease was not renewed; trying again", "error", err)
		case err == nil && failing:
			k.log.Info("the lease is renewed again")
		case err == nil:
			k.announce(ctx)
		}
		failing = err != nil
	}
}

// renew extends the lease. Its timeout leaves time for another attempt on a new
// connection, because a connection that went silent would outlast the lease.
func (k *Keeper) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.interval())
	defer cancel()
	begun, asked := time.Now(), k.opts.clock()
	now, err := k.lease.renew(ctx, k.opts.Node, k.epoch, k.opts.TTL, k.opts.Confirmed())
	if err != nil {
		return err
	}
	k.compare(skewOf(asked, now, k.opts.clock()))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed = begun
	return nil
}

// interval is the time between two renewals, or two reads of a standby.
func (k *Keeper) interval() time.Duration { return k.opts.TTL / renewals }

// Owned returns a channel that is closed when this node owns the cell.
func (k *Keeper) Owned() <-chan struct{} { return k.owned }

// Lost returns a channel that is closed when another node has taken the cell from
// this one, which can no longer change anything.
func (k *Keeper) Lost() <-chan struct{} { return k.lost }

func (k *Keeper) isOwner() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.epoch != 0
}

// Holds reports whether this node is sure to own the cell now. An owner that could
// not renew for three quarters of the TTL is not: another node may have taken over.
func (k *Keeper) Holds() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.epoch != 0 && time.Since(k.renewed) < k.opts.TTL*3/4
}

// Route returns where requests go, and a channel that is closed when that changes.
func (k *Keeper) Route() (Route, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.route, k.changed
}

// Close stops waiting or renewing, and gives the lease back. The next owner starts
// immediately, so everything that needs the cell must have ended before.
func (k *Keeper) Close(ctx context.Context) error {
	k.stop()
	<-k.done
	defer k.lease.close()
	k.mu.Lock()
	epoch := k.epoch
	k.epoch = 0
	k.mu.Unlock()
	if epoch == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.opts.TTL)
	defer cancel()
	if err := k.lease.release(ctx, k.opts.Node, epoch); err != nil {
		return fmt.Errorf("give the cell back: %w", err)
	}
	return nil
}

// mac returns a MAC of a text with the nodes' secret.
func mac(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}
