package placement

import (
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/wait"
)

// A placement shows where its game session is now: while that is being created, once it is
// FULFILLED and announced, and after it has been archived.
func TestAddress(t *testing.T) {
	inCell(t, Options{}, func(c *cell) {
		f := c.fleet(fleet.CreateInput{Locations: []string{"custom-home"}})
		c.create(Queue{Name: "q", Destinations: []string{c.fleetARN(f)}})
		host := c.process(f.ID, "custom-home", silent)
		move := func(ip string) {
			_, err := c.Computes.Register(c.Ctx, compute.RegisterInput{FleetID: f.ID, Name: "at-custom-home", Location: "custom-home", IPAddress: ip})
			c.Must(err)
		}
		want := func(status Status, ip string) {
			t.Helper()
			if p := c.get("p"); p.Status != status || p.IPAddress != ip || p.DNSName != ip || p.Port == 0 {
				t.Errorf("the placement is %s at %s, %s:%d, want %s at %s", p.Status, p.IPAddress, p.DNSName, p.Port, status, ip)
			}
		}
		c.place("q", Request{ID: "p"})
		wait.Settle(time.Second)
		want(Pending, "192.0.2.1")
		move("192.0.2.2")
		want(Pending, "192.0.2.2")
		host.activate(c.get("p").GameSessionID)
		wait.Settle(time.Second)
		want(Fulfilled, "192.0.2.2")
		if stored := c.places.Live(c.Store.View(), "p"); stored.IPAddress != "192.0.2.2" {
			t.Errorf("its end was announced at %s", stored.IPAddress)
		}
		wait.Settle(10 * time.Minute)
		if c.places.Live(c.Store.View(), "p") != nil {
			t.Fatal("the placement is not archived")
		}
		move("2001:db8::3")
		want(Fulfilled, "2001:db8::3")
	})
}
