package beacon

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// The exchange that produces a receipt by HTTP, for pages of browsers, on one connection:
//
//	GET ?nonce=NONCE               → STAMP     (the beacon's time, under a MAC)
//	GET ?nonce=NONCE&stamp=STAMP   → RECEIPT
//
// The nonce is 16 hexadecimal digits. As with datagrams, the beacon keeps no state, and a
// client can make the round trip longer, not shorter. Without a key both answers are 204.

// Ping answers 204 to GET: the beacon for clients that only have HTTP. Pages of any
// origin may send requests and read the timing. It issues no receipts.
func Ping() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		forPages(w.Header())
		w.WriteHeader(http.StatusNoContent)
	})
}

// forPages lets pages of any origin read an answer and its timing.
func forPages(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Timing-Allow-Origin", "*")
}

// Web is a beacon for HTTP at any path: it answers GET with 204, and with stamps and
// receipts if o has a key. client returns the address that a request comes from, which
// behind a proxy is not the connection's. One client's requests count against
// o.PerNetwork and o.Total; what exceeds them is answered with 429.
func Web(o Options, client func(*http.Request) netip.Addr) http.Handler {
	o.setDefaults()
	o.PerPeer = o.PerNetwork // a browser changes its port with each connection
	return &web{location: o.Location, client: client, gate: newGate(o), receipts: o.receipts()}
}

type web struct {
	location string
	client   func(*http.Request) netip.Addr
	receipts *Receipts // or nil

	mu   sync.Mutex
	gate gate
}

// ServeHTTP implements http.Handler.
func (b *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	forPages(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a beacon answers GET", http.StatusMethodNotAllowed)
		return
	}
	from := b.client(r)
	if !b.open(from, now) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests from this network", http.StatusTooManyRequests)
		return
	}
	q := r.URL.Query()
	if b.receipts == nil || !q.Has("nonce") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, err := b.receipts.answerWeb(q, b.location, from, now)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, text) // fails if the client has gone
}

// open reports whether a request may be answered, and counts it if so.
func (b *web) open(from netip.Addr, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return from.IsValid() && b.gate.open(netip.AddrPortFrom(from, 0), now)
}

// Errors of the exchange by HTTP.
var (
	errNonce = errors.New("nonce: must be 16 hexadecimal digits")
	errStamp = errors.New("stamp: is not this beacon's answer to that nonce from this address, or is older than 5 seconds")
)

// answerWeb is the beacon's side of the exchange by HTTP. Errors: errNonce, errStamp.
func (r *Receipts) answerWeb(q url.Values, location string, from netip.Addr, now time.Time) (string, error) {
	nonce, err := hex.DecodeString(q.Get("nonce"))
	if err != nil || len(nonce) != nonceSize {
		return "", errNonce
	}
	if !q.Has("stamp") {
		body := binary.BigEndian.AppendUint64(nonce, uint64(now.UnixNano()))
		return base64.RawURLEncoding.EncodeToString(append(body[nonceSize:], r.stamp(body, location, from)...)), nil
	}
	stamp, err := base64.RawURLEncoding.DecodeString(q.Get("stamp"))
	if err != nil || len(stamp) != stampSize+macSize {
		return "", errStamp
	}
	mac := r.stamp(append(nonce, stamp[:stampSize]...), location, from)
	rtt, ok := since(stamp, now)
	if !hmac.Equal(mac, stamp[stampSize:]) || !ok {
		return "", errStamp
	}
	return r.issue(location, rtt, from, now), nil
}
