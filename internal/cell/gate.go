package cell

import (
	"bytes"
	"crypto/hmac"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxHeld is how many requests may wait at a time for the cell to have an owner.
const maxHeld = 4096

// lookAgain is how long a held request waits before it tries an owner again that
// could not be reached.
const lookAgain = 100 * time.Millisecond

// Gate answers for a cell: by this node's own handler while it owns the cell, by
// the owner's otherwise. While there is no owner requests are held, for as long
// as it takes another node to see that one is gone.
type Gate struct {
	keeper *Keeper
	own    atomic.Pointer[http.Handler]
	proxy  *proxy
	held   atomic.Int64
	closed chan struct{}
	once   sync.Once
}

// NewGate makes the gate of a node.
func NewGate(k *Keeper) *Gate {
	return &Gate{keeper: k, proxy: newProxy(k.opts.Secret, k.log), closed: make(chan struct{})}
}

// Own gives the handler that answers from now on.
func (g *Gate) Own(h http.Handler) { g.own.Store(&h) }

// Close lets no request wait any more, ends streams soon, and drops the
// connections to the owner that nothing uses.
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
	if forwarded { // by a node that is behind: it shall look again
		w.Header().Set(notOwner, "true")
		refuse(w)
		return
	}
	if err := g.keepBody(w, r); err != nil {
		http.Error(w, "the body did not arrive", http.StatusBadRequest)
		return
	}
	g.find(w, r)
}

// find forwards a request until an owner has answered, which may be this node
// by then.
func (g *Gate) find(w http.ResponseWriter, r *http.Request) {
	patience := time.Now().Add(2 * g.keeper.opts.TTL)
	for {
		if h := g.serving(); h != nil {
			rewind(r)
			h.ServeHTTP(w, r)
			return
		}
		route, changed := g.keeper.Route()
		if !route.Mine && route.Live && g.proxy.forward(w, r, route) {
			return
		}
		if !g.hold(r, changed, patience) {
			refuse(w)
			return
		}
	}
}

// serving gives this node's own handler while the node owns the cell, else nil.
func (g *Gate) serving() http.Handler {
	if h := g.own.Load(); h != nil && g.keeper.Holds() {
		return *h
	}
	return nil
}

// maxKept is how long a body may be that is kept, in bytes, so that the request
// can be sent again to another owner; those of most operations are far shorter.
const maxKept = 64 << 10

// keepBody reads a short body, from which it can be read again and again.
func (g *Gate) keepBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength <= 0 || r.ContentLength > maxKept {
		return nil
	}
	if most := g.keeper.opts.BodyTimeout; most > 0 {
		control := http.NewResponseController(w)
		control.SetReadDeadline(time.Now().Add(most))
		defer control.SetReadDeadline(time.Time{}) // or it would end the request that waits
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	rewind(r)
	return nil
}

// rewind has a kept body be read from its beginning: a try that failed may have
// read some of it.
func rewind(r *http.Request) {
	if r.GetBody == nil {
		return
	}
	if body, err := r.GetBody(); err == nil {
		r.Body = body
	}
}

// hold waits until trying again may help, and tells whether there is time for it.
func (g *Gate) hold(r *http.Request, changed <-chan struct{}, until time.Time) bool {
	defer g.held.Add(-1)
	if g.held.Add(1) > maxHeld || time.Now().After(until) {
		return false
	}
	select {
	case <-r.Context().Done():
		return false
	case <-g.closed:
		return false
	case <-changed:
	case <-time.After(lookAgain):
	}
	return true
}

// forwardedFor carries the client's address from node to node, behind a proof
// that a node says so.
const forwardedFor = "Muster-Forwarded-For"

// receive takes over the client's address from a node that forwards. What others
// put into the header is thrown away.
func (g *Gate) receive(r *http.Request) bool {
	value := r.Header.Get(forwardedFor)
	r.Header.Del(forwardedFor)
	proof, address, ok := strings.Cut(value, " ")
	given, err := hex.DecodeString(proof)
	if !ok || err != nil || !hmac.Equal(given, mac(g.keeper.opts.Secret, address)) {
		return false
	}
	r.RemoteAddr = address
	return true
}

// notOwner marks the answer of a node that does not have the cell and did nothing.
const notOwner = "Muster-Not-Owner"

// refuse answers in a form that AWS's clients understand and try again after.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	io.WriteString(w, `{"__type":"InternalServiceException","message":"No node serves at the moment. Try again."}`+"\n")
}
