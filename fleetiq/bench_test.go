package fleetiq_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/store"
)

// BenchmarkClaim claims any of 10,000 game servers on 100 hosts, of which every other is
// being drained, and deregisters and registers it again.
func BenchmarkClaim(b *testing.B) {
	c := open(b, store.NewMemory(), fleetiq.Options{})
	c.group("g")
	for i, host := range c.instances(100) {
		if i%2 == 0 {
			c.drain(host)
		}
		for n := range 100 {
			c.register("g", fmt.Sprintf("server-%d-%d", i, n), host)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		v := c.claim(fleetiq.ClaimInput{Group: "g"})
		c.Must(c.iq.Servers.Deregister.Do(c.Ctx, of("g", v.ID)))
		c.register("g", v.ID, v.InstanceID)
	}
	c.Must(c.Store.Close())
}

// BenchmarkHealth reports the health of one of 10,000 game servers.
func BenchmarkHealth(b *testing.B) {
	c := open(b, store.NewMemory(), fleetiq.Options{})
	c.group("g")
	host := c.instances(1)[0]
	for n := range 10_000 {
		c.register("g", fmt.Sprint("server-", n), host)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.beat("g", "server-77")
	}
	c.Must(c.Store.Close())
}
