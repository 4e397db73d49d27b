package instance_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/wait"
)

// A drained host takes nothing new, and its game sessions are played to their end.
func TestHost_Drain(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		h := y.host()
		f := y.managed("")
		i := y.assigned(h)[0].ID
		y.run(h, i, "p")
		y.run(h, i, "q")
		busy, err := y.takeOf(f)
		y.Must(err)
		other := y.host()
		y.Must(y.Instances.DrainHost.Do(y.Ctx, h))
		wait.Settle(time.Second)
		if n := len(y.assigned(other)); n != 1 {
			y.Errorf("%d instances on the other host, want the one that replaces", n)
		}
		y.Refused("a game session on a drained host", fault.FleetCapacityExceeded, func() error { _, err := y.takeOf(f); return err })
		wait.Settle(3 * time.Hour)
		if p := y.Computes.Process(y.Store.View(), busy.Key); p.Status != compute.Active {
			y.Fatalf("the game server with a game session is %s", p.Status)
		}
		if len(y.Recorded(event.HostDrained)) != 0 {
			y.Error("it counts as drained while a game is played")
		}
		y.Must(y.Computes.End(y.Ctx, busy.Ref()))
		wait.Settle(6 * time.Minute)
		if y.Instances.Instance(y.Store.View(), i) != nil || len(y.Recorded(event.HostDrained)) != 1 {
			y.Errorf("after the last game: instance %+v, %d events", y.Instances.Instance(y.Store.View(), i), len(y.Recorded(event.HostDrained)))
		}
		y.Must(y.Instances.DrainHost.Do(y.Ctx, h)) // a second call is no error
		y.Must(y.Instances.ResumeHost.Do(y.Ctx, h))
		if host := y.Instances.Host(y.Store.View(), h); !host.Open() {
			y.Errorf("after it was resumed the host is %+v", host)
		}
		if gone, err := y.Instances.RemoveHost.Do(y.Ctx, instance.HostRemoval{HostID: h}); err != nil || !gone {
			y.Errorf("a host without instances is removed: %t, %v", gone, err)
		}
		y.Refused("an unknown host", fault.NotFound, func() error { return y.Instances.DrainHost.Do(y.Ctx, "host-x") })
	})
}

// A removed host is deleted with its last instance, which has its grace.
func TestHost_Remove(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		secret, h := y.joined(region)
		f := y.managed("")
		i := y.assigned(h)[0].ID
		ref := y.run(h, i, "p")
		if _, err := y.takeOf(f); err != nil {
			y.Fatal(err)
		}
		gone, err := y.Instances.RemoveHost.Do(y.Ctx, instance.HostRemoval{HostID: h, Now: false})
		y.Must(err)
		if gone {
			y.Error("it went at once, with a game session on it")
		}
		wait.Settle(0)
		if p := y.Computes.Process(y.Store.View(), ref.Key()); p.Status != compute.Terminating {
			y.Errorf("its game server is %s", p.Status)
		}
		y.Refused("to resume it", fault.Conflict, func() error { return y.Instances.ResumeHost.Do(y.Ctx, h) })
		if _, err := y.Instances.AuthenticateHost(h, secret); err != nil {
			y.Errorf("its agent is refused before it could end anything: %v", err)
		}
		wait.Settle(5*time.Minute + time.Second)
		y.isRemoved(h, secret)
		if len(y.Recorded(event.HostRemoving)) != 1 {
			y.Error("nothing says that it was being removed")
		}
	})
}

// A host is removed at once if that is asked for, and later if its agent never comes back.
func TestHost_RemoveNowOrAway(t *testing.T) {
	for _, now := range []bool{true, false} {
		in(t, instance.Options{}, func(y *yard) {
			secret, h := y.joined(region)
			y.managed("")
			y.run(h, y.assigned(h)[0].ID, "p")
			remove := func() (bool, error) {
				return y.Instances.RemoveHost.Do(y.Ctx, instance.HostRemoval{HostID: h, Now: now})
			}
			if !now {
				y.Must(y.Instances.HostLost.Do(y.Ctx, h))
			}
			if gone, err := remove(); err != nil || gone != now {
				y.Errorf("gone at once: %t, %v", gone, err)
			}
			if !now {
				wait.Settle(6 * time.Minute)
			}
			y.isRemoved(h, secret)
			y.Refused("to remove it again", fault.NotFound, func() error { _, err := remove(); return err })
		})
	}
}

func (y *yard) isRemoved(host, secret string) {
	y.Helper()
	if y.Instances.Host(y.Store.View(), host) != nil || len(y.assigned(host)) != 0 || len(y.Recorded(event.HostRemoved)) != 1 {
		y.Errorf("the host is %+v, assigned %v", y.Instances.Host(y.Store.View(), host), y.assigned(host))
	}
	if _, err := y.Instances.AuthenticateHost(host, secret); !errors.Is(err, instance.ErrHostRemoved) {
		y.Errorf("its credential: %v", err)
	}
	if _, err := y.Instances.AuthenticateHost(host, "guess"); errors.Is(err, instance.ErrHostRemoved) || !fault.Is(err, fault.Unauthorized) {
		y.Errorf("a guess at its credential: %v", err)
	}
}

// A new secret is valid as soon as it is offered, and the old one until the agent
// has kept the new one.
func TestHost_Rotate(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		old, h := y.joined(region)
		good := func(secret string) bool { _, err := y.Instances.AuthenticateHost(h, secret); return err == nil }
		due := func() bool { return y.Instances.SecretDue(y.Instances.Host(y.Store.View(), h), time.Now()) }
		if due() {
			y.Error("a new secret is due on the first day")
		}
		y.Must(y.Instances.RotateHost.Do(y.Ctx, h))
		if !due() {
			y.Error("it is not due though an operator wants it")
		}
		lost, err := y.Instances.OfferSecret(y.Ctx, h)
		y.Must(err)
		next, err := y.Instances.OfferSecret(y.Ctx, h)
		y.Must(err)
		y.Must(y.Instances.SecretKept(y.Ctx, h, lost)) // has no effect: the next offer superseded it
		if !good(old) || !good(next) || good(lost) {
			y.Errorf("before it is kept: old %v, next %v, lost %v", good(old), good(next), good(lost))
		}
		y.Must(y.Instances.SecretKept(y.Ctx, h, next))
		if good(old) || !good(next) || due() {
			y.Errorf("after it was kept: old %v, next %v, due %v", good(old), good(next), due())
		}
		wait.Settle(30 * 24 * time.Hour)
		if !due() {
			y.Error("it is not due after 30 days")
		}
	})
}

// Where no host is open, each cause is said with the number of hosts that it keeps from taking
// instances.
func TestReason_NoHostOpen(t *testing.T) {
	in(t, instance.Options{}, func(y *yard) {
		drained, full, both := y.host(), y.host(), y.host()
		y.Must(y.Instances.DrainHost.Do(y.Ctx, drained))
		y.Must(y.Instances.ReportHost.Do(y.Ctx, instance.HostReport{HostID: full, DiskFull: true}))
		y.Must(y.Instances.ReportHost.Do(y.Ctx, instance.HostReport{HostID: both, DiskFull: true}))
		want := "1 of 3 hosts of location us-east-1 is being drained ('muster hosts resume " + drained + "' takes it back); 2 of 3 hosts of location us-east-1 are without disk space (free some there)"
		if _, texts := y.told(y.managed("")); !strings.Contains(texts, want) {
			y.Errorf("no event says %q:\n%s", want, texts)
		}
	})
}
