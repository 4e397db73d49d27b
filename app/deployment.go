package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/cell"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// The paths of the home region for the other regions of the deployment.
const (
	sharedPath = "/deployment/v1/shared"
	dataPath   = "/deployment/v1/player-data"
)

// sharedEvery is how often the home region looks whether what is shared has changed, and
// sharedWait how long another region's request waits for that.
const (
	sharedEvery = 50 * time.Millisecond
	sharedWait  = 10 * time.Second
)

// How long a takeover waits for the home region: if this region has nothing from it yet, and if it
// has copies, which are good if late.
const (
	firstCopyWait = 5 * time.Second
	newCopyWait   = 250 * time.Millisecond
)

// shared is what the other regions of the deployment need of the home region.
type shared struct {
	Region  string          `json:"region"`
	Digest  string          `json:"digest"` // of the rest
	Keys    auth.Shared     `json:"keys"`
	Players identity.Shared `json:"players"`
}

// homeDoor answers the other regions of the deployment. Only nodes are let in.
type homeDoor struct {
	domain *domain
	region string
	secret []byte
	ends   <-chan struct{} // closed when the replica ends

	mu   sync.Mutex
	view *store.Snapshot // of last
	last *shared         // nil: nobody has asked
}

func (h *homeDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !cell.FromNode(h.secret, r, time.Now()) {
		nothingHere(w, r)
		return
	}
	var answer any
	switch r.URL.Path {
	case sharedPath:
		answer = h.await(r.Context(), r.URL.Query().Get("digest"))
	case dataPath:
		q := r.URL.Query()
		d, err := h.domain.identity.Data.Get(q.Get("player"), identity.Namespace(q.Get("namespace")), q.Get("key"))
		if err != nil && !refusal.Is(err, identity.NotFound) {
			writeJSON(w, http.StatusBadRequest, `{"message":"this is no value of a player"}`)
			return
		}
		answer = d // null: there is none
	default:
		nothingHere(w, r)
		return
	}
	body, err := json.Marshal(answer)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, `{"message":"the answer cannot be written"}`)
		return
	}
	writeJSON(w, http.StatusOK, string(body))
}

// await returns what is shared once its digest is another one, or after a while.
func (h *homeDoor) await(ctx context.Context, digest string) shared {
	end := time.NewTimer(sharedWait)
	defer end.Stop()
	look := time.NewTicker(sharedEvery)
	defer look.Stop()
	for {
		if s := h.now(); s.Digest != digest {
			return *s
		}
		select {
		case <-look.C:
		case <-end.C:
			return shared{Region: h.region, Digest: digest}
		case <-ctx.Done():
			return shared{Region: h.region, Digest: digest}
		case <-h.ends:
			return shared{Region: h.region, Digest: digest}
		}
	}
}

// now returns what is shared, which is computed once for all regions that ask, and again when
// it may have changed.
func (h *homeDoor) now() *shared {
	d, view := h.domain, h.domain.store.View()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || !d.keys.SameShared(h.view, view) || !d.identity.SameShared(h.view, view) {
		h.last = d.shared(view, h.region)
	}
	h.view = view
	return h.last
}

// shared returns what other regions need of the home region.
func (d *domain) shared(view *store.Snapshot, region string) *shared {
	s := &shared{Region: region, Keys: d.keys.Shared(view), Players: d.identity.Shared(view, time.Now())}
	text, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		panic(err) // rows that were read from JSON
	}
	sum := sha256.Sum256(text)
	s.Digest = hex.EncodeToString(sum[:])
	return s
}

// homeClient asks the home region, from another one.
type homeClient struct {
	node *App
}

// get reads a JSON answer of the home region, whichever node owns that.
func (c *homeClient) get(ctx context.Context, path string, query url.Values, into any) (err error) {
	// A proxy panics with http.ErrAbortHandler if the answer ends in its middle.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the answer of the home region was cut off: %v", p)
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	r.Host, r.RemoteAddr = "localhost", "node" // a server that requires no credentials answers its own machine alone
	cell.Sign(c.node.masterKey.NodeSecret(), r, time.Now())
	a := &answer{header: http.Header{}, status: http.StatusOK}
	c.node.regions[0].ServeHTTP(a, r)
	if a.status != http.StatusOK {
		return fmt.Errorf("the home region answered %d: %.200s", a.status, a.body.String())
	}
	return json.Unmarshal(a.body.Bytes(), into)
}

// datum returns a value of a player of the home region (identity.Options.Home).
func (c *homeClient) datum(playerID string, ns identity.Namespace, key string) (*identity.Datum, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var d *identity.Datum
	err := c.get(ctx, dataPath, url.Values{"player": {playerID}, "namespace": {string(ns)}, "key": {key}}, &d)
	if err != nil {
		return nil, fmt.Errorf("read data of player %s: %w", playerID, err)
	}
	if d == nil {
		return nil, &refusal.Refusal{Code: identity.NotFound, Message: "the key does not exist"}
	}
	return d, nil
}

// copyAtTakeover copies what is shared before this region is served, if the home region answers
// soon. It returns the digest of that.
func (r *replica) copyAtTakeover(ctx context.Context) string {
	wait := newCopyWait
	if keys := r.domain.keys.Shared(r.domain.store.View()).Keys; len(keys) == 0 {
		wait = firstCopyWait
	}
	r.copied.Store(time.Now().UnixNano())
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	digest, err := r.copyHome(ctx, "")
	if err != nil {
		r.log.Warn("keys and players are as last copied from the home region, which does not answer yet", "region", r.opts.Region, "error", err)
	}
	return digest
}

// measureCopy registers how old is what this region has from the home region.
func (r *replica) measureCopy(metrics prometheus.Registerer) {
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_region_copy_age_seconds",
		Help: "How long ago the keys, logins and bans of this region were those of the home region, or this node took the region over if they were not since; 0 on nodes that do not own the region.",
	}, func() float64 {
		at := r.copied.Load()
		if at == 0 || !r.health.serves.Load() {
			return 0
		}
		return time.Since(time.Unix(0, at)).Seconds()
	}))
}

// copyHome makes the keys, logins, players' keys and bans of this region copies of the home
// region's, once.
func (r *replica) copyHome(ctx context.Context, digest string) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*sharedWait)
	defer cancel()
	var s shared
	home := homeClient{r.node}
	if err := home.get(ctx, sharedPath, url.Values{"digest": {digest}}, &s); err != nil {
		return digest, err
	}
	if s.Digest == digest {
		r.copied.Store(time.Now().UnixNano())
		return digest, nil
	}
	if err := r.domain.keys.Copy.Do(ctx, s.Keys); err != nil {
		return digest, err
	}
	if err := r.domain.identity.Copy.Do(ctx, s.Players); err != nil {
		return digest, err
	}
	r.copied.Store(time.Now().UnixNano())
	return s.Digest, nil
}

// keepCopying repeats copyHome whenever the home region has changed, until ctx ends. While the
// home region does not answer, what was copied last is good.
func (r *replica) keepCopying(ctx context.Context, digest string) {
	failing := false
	for ctx.Err() == nil {
		next, err := r.copyHome(ctx, digest)
		digest = next
		switch {
		case err == nil && failing:
			r.log.Info("keys and players of the home region are copied again", "region", r.opts.Region)
		case err != nil && !failing && ctx.Err() == nil:
			r.log.Warn("keys and players of the home region were not copied; trying again", "region", r.opts.Region, "error", err)
		}
		if failing = err != nil; failing {
			wake.Sleep(ctx, time.Second)
		}
	}
}
