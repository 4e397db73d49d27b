package beacon

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// gate limits how many datagrams are answered. Its memory is fixed: peers whose
// hashes collide share a bucket. It must be used by one goroutine only.
type gate struct {
	seed              maphash.Seed
	peers, networks   []bucket
	total             bucket
	peer, network, of float64 // rates per second
}

// buckets is the number of buckets in each table: 64 Ki of 16 bytes.
const buckets = 1 << 16

// bucket is a token bucket that holds one second's tokens.
type bucket struct {
	at     int64 // nanoseconds since the epoch
	tokens float64
}

func newGate(o Options) gate {
	return gate{
		seed: maphash.MakeSeed(), peers: make([]bucket, buckets), networks: make([]bucket, buckets),
		peer: float64(o.PerPeer), network: float64(o.PerNetwork), of: float64(o.Total),
	}
}

// open reports whether a datagram may be answered, and counts it if so.
func (g *gate) open(from netip.AddrPort, now time.Time) bool {
	at := now.UnixNano()
	p, n, err := g.buckets(from)
	if err != nil {
		return false
	}
	if !p.has(at, g.peer) || !n.has(at, g.network) || !g.total.has(at, g.of) {
		return false
	}
	p.tokens--
	n.tokens--
	g.total.tokens--
	return true
}

// buckets returns those of a peer and of its network.
func (g *gate) buckets(from netip.AddrPort) (peer, network *bucket, err error) {
	addr := from.Addr().Unmap()
	bits := 24
	if addr.Is6() {
		bits = 56
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return nil, nil, err
	}
	return &g.peers[maphash.Comparable(g.seed, netip.AddrPortFrom(addr, from.Port()))%buckets], &g.networks[maphash.Comparable(g.seed, prefix)%buckets], nil
}

// has fills the bucket up to the present time and reports whether there is a token.
func (b *bucket) has(at int64, rate float64) bool {
	if passed := at - b.at; passed > 0 {
		b.tokens = min(rate, b.tokens+float64(passed)*rate/float64(time.Second))
		b.at = at
	}
	return b.tokens >= 1
}
