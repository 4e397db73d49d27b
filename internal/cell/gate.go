package cell

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/musterhq/muster/internal/door"
)

// lookAgain is how often a held request tries an owner that could not be reached.
const lookAgain = 100 * time.Millisecond

// Gate answers for a cell: with this node's own handler while it owns the cell,
// through the owner otherwise. While there is no owner, requests are held for as long
// as another node needs to notice that.
type Gate struct {
	keeper *Keeper
	own    atomic.Pointer[http.Handler]
	proxy  *proxy
	gone   outages
	reach  reach
	held   atomic.Int64
	closed chan struct{}
	once   sync.Once
}

// NewGate returns the gate of a node.
func NewGate(k *Keeper) *Gate {
	return &Gate{keeper: k, proxy: newProxy(k), closed: make(chan struct{})}
}

// Own sets the handler that answers while this node owns the cell.
func (g *Gate) Own(h http.Handler) { g.own.Store(&h) }

// Close stops requests from waiting, ends streams soon, and closes idle connections
// to the owner.
func (g *Gate) Close() {
	g.once.Do(func() {
		close(g.closed)
		g.proxy.close()
	})
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	forwarded := g.receive(r)
	if h := g.serving(); h != nil {
		h.ServeHTTP(w, r)
		return
	}
	if forwarded { // by a node with old information: it shall look again
		w.Header().Set(notOwner, "true")
		Refuse(w, r)
		return
	}
	if err := g.keepBody(w, r); err != nil {
		http.Error(w, "the body did not arrive", http.StatusBadRequest)
		return
	}
	g.find(w, r)
}

// find forwards a request until an owner has answered, which may be this node by
// then. From the first attempt that fails, the request is held.
func (g *Gate) find(w http.ResponseWriter, r *http.Request) {
	patience := time.Now().Add(2 * g.keeper.opts.TTL)
	p := place{gate: g}
	defer p.leave()
	for turn := false; ; {
		if h := g.serving(); h != nil {
			p.leave()
			rewind(r)
			h.ServeHTTP(w, r)
			return
		}
		route, changed := g.keeper.Route()
		answered, gone := g.try(w, r, route, turn, &p)
		if answered {
			return
		}
		var ok bool
		if turn, ok = g.hold(r, changed, gone, patience, &p); !ok {
			Refuse(w, r)
			return
		}
	}
}

// try forwards a request, unless another one's turn must be awaited. If the owner did
// not accept it, try returns the owner's outage.
func (g *Gate) try(w http.ResponseWriter, r *http.Request, to Route, turn bool, p *place) (answered bool, gone *outage) {
	if to.Mine || !to.Live {
		return false, nil
	}
	if gone := g.gone.of(to.epoch); gone != nil && !turn {
		return false, gone
	}
	taken := func() {
		g.gone.end(to.epoch)
		p.leave()
	}
	if g.proxy.forward(w, r, to, taken) {
		return true, nil
	}
	return false, g.gone.begin(to.epoch)
}

// Serves reports whether this node answers with its own handler now.
func (g *Gate) Serves() bool { return g.serving() != nil }

// serving returns this node's own handler while the node owns the cell, otherwise
// nil.
func (g *Gate) serving() http.Handler {
	if h := g.own.Load(); h != nil && g.keeper.Holds() {
		return *h
	}
	return nil
}

// maxKept is the longest body, in bytes, that is kept so that the request can be sent
// again to another owner; the bodies of most operations are far shorter.
const maxKept = 64 << 10

// keepBody reads a short body, so that it can be read repeatedly. Longer ones are
// passed on as they arrive; the owner limits how long one may take.
func (g *Gate) keepBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength < 0 || r.ContentLength > maxKept {
		r.Body = door.Patient(w, r.Body, g.keeper.opts.BodyTimeout)
		return nil
	}
	var body bytes.Buffer
	if err := door.ReadBody(r, &body, maxKept); err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body.Bytes())), nil }
	rewind(r)
	return nil
}

// rewind resets a kept body to its beginning: a failed attempt may have read some of
// it.
func rewind(r *http.Request) {
	if r.GetBody == nil {
		return
	}
	if body, err := r.GetBody(); err == nil {
		r.Body = body
	}
}

// hold waits until another attempt may succeed. It reports whether there is a place
// and time for one. While the owner accepts no requests, turn is set for the one that
// shall try nevertheless.
func (g *Gate) hold(r *http.Request, changed <-chan struct{}, gone *outage, until time.Time, p *place) (turn, ok bool) {
	most := time.Until(until)
	if most <= 0 || !p.take() {
		return false, false
	}
	if gone == nil { // nothing signals when this node serves by itself
		gone, most = &outage{}, min(most, lookAgain)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false, false
	case <-g.closed:
		return false, false
	case <-changed:
	case <-gone.over:
	case <-gone.turn:
		gone.next()
		turn = true
	case <-timer.C:
	}
	return turn, true
}

// receive sets the client's address that a forwarding node states, and removes the
// header, which others may have set.
func (g *Gate) receive(r *http.Request) bool {
	address, ok := g.Forwarded(r)
	r.Header.Del(forwardedFor)
	if ok {
		r.RemoteAddr = address
	}
	return ok
}

// Forwarded returns the client's address of a request that another node forwards.
func (g *Gate) Forwarded(r *http.Request) (address string, ok bool) {
	return proved(g.keeper.opts.Secret, r, g.keeper.now())
}

// notOwner marks the answer of a node that does not own the cell and did nothing.
const notOwner = "Muster-Not-Owner"

// Refuse answers that no node serves, in a form that AWS's clients understand and retry: in CBOR for those
// that use it, which check its header before anything else.
func Refuse(w http.ResponseWriter, r *http.Request) {
	body := map[string]string{"__type": "InternalServiceException", "message": "No node serves at the moment. Try again."}
	kind, encode := "application/json", json.Marshal
	if protocol := r.Header.Get("Smithy-Protocol"); protocol != "" {
		kind, encode = "application/cbor", cbor.Marshal
		w.Header().Set("Smithy-Protocol", protocol)
	}
	text, err := encode(body)
	if err != nil {
		panic(err) // two plain strings
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	w.Write(text)
}
