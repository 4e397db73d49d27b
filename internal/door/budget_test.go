package door

import (
	"fmt"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// For any sequence of take and give, neither the total nor a network's part ever
// exceeds its limit, what fits is granted, and nothing is left at the end.
func TestBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most, each = 100, 30
		b := newBudget(most, each)
		held, all := map[netip.Prefix][]int64{}, int64(0)
		sum := func(of []int64) (n int64) {
			for _, v := range of {
				n += v
			}
			return n
		}
		for range 100 {
			network := Network(netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 6).Draw(t, "network"))))
			if mine := held[network]; len(mine) > 0 && rapid.Bool().Draw(t, "give back") {
				b.give(network, mine[0])
				all -= mine[0]
				held[network] = mine[1:]
				continue
			}
			n := rapid.Int64Range(1, 40).Draw(t, "bytes")
			fits := all+n <= most && sum(held[network])+n <= each
			if got := b.take(network, n); got != fits {
				t.Fatalf("%d bytes for %s, of %d it has %d: granted %v", n, network, all, sum(held[network]), got)
			}
			if fits {
				held[network] = append(held[network], n)
				all += n
			}
		}
		for network, mine := range held {
			for _, n := range mine {
				b.give(network, n)
			}
		}
		if b.inUse() != 0 || len(b.of) > 0 {
			t.Fatalf("%d bytes of %d networks are left", b.inUse(), len(b.of))
		}
	})
}
