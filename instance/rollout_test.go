package instance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/fleet"
)

func rollingFleet(version, slots int) *fleet.Fleet {
	return &fleet.Fleet{
		ID: "containerfleet-1", Managed: &fleet.Managed{InstanceType: "c5.large"},
		Containers: &fleet.Containers{Game: &fleet.Group{Name: "game", Version: version, CPUMillis: 1, MemoryMiB: 1, Ports: 1}, Copies: slots},
	}
}

// world of one location, in which a test plays the hosts and the players.
type location struct {
	*rapid.T
	in   rollout
	busy map[groupRef]bool // protected game sessions
}

func newLocation(t *rapid.T) *location {
	slots := rapid.IntRange(1, 5).Draw(t, "slots")
	l := &location{T: t, busy: map[groupRef]bool{}, in: rollout{
		fleet: rollingFleet(1, slots), desired: rapid.IntRange(1, 5).Draw(t, "instances"),
		config: fleet.DeploymentConfig{Protect: true, MinHealthy: rapid.IntRange(30, 75).Draw(t, "min healthy")},
	}}
	for n := range l.in.desired {
		l.create(n)
		for _, g := range l.in.instances[n].Groups {
			l.busy[groupRef{l.in.instances[n].ID, g.Name}] = rapid.Bool().Draw(t, "busy")
		}
	}
	for _, i := range l.in.instances {
		for n := range i.Groups {
			i.Groups[n].Ready = true
		}
	}
	return l
}

func (l *location) create(n int) {
	f := l.in.fleet
	l.in.instances = append(l.in.instances, rolling{Instance: &Instance{
		ID: fmt.Sprintf("i-%d", n), Slots: f.Slots(), Stride: f.Containers.Game.Ports, PortFrom: 1000, PortTo: 1999, Groups: groupsOf(f, f.Slots()),
	}})
}

func (l *location) each(f func(ref groupRef, g *Group)) {
	for _, i := range l.in.instances {
		for n := range i.Groups {
			f(groupRef{i.ID, i.Groups[n].Name}, &i.Groups[n])
		}
	}
}

func (l *location) group(ref groupRef) (found *Group) {
	l.each(func(r groupRef, g *Group) {
		if r == ref {
			found = g
		}
	})
	return found
}

func (l *location) ready() (n int) {
	l.each(func(_ groupRef, g *Group) {
		if g.works() && g.Stop == Keep {
			n++
		}
	})
	return n
}

// plan plans and applies the plan, as runPlan does.
func (l *location) plan() rolled {
	for n := range l.in.instances {
		l.in.instances[n].load = map[string]groupLoad{}
		for _, g := range l.in.instances[n].Groups {
			if l.busy[groupRef{l.in.instances[n].ID, g.Name}] {
				l.in.instances[n].load[g.Name] = groupLoad{session: true, protected: true}
			}
		}
	}
	out := planRollout(l.in)
	before := l.ready()
	for _, ref := range out.drain {
		l.group(ref).Stop = Drain
	}
	least := l.in.desired * l.in.fleet.Slots() * l.in.config.MinHealthy / 100
	if after := l.ready(); after < before && after < least {
		l.Fatalf("%d groups are ready after a plan that drains %d, at least %d must be", after, before-after, least)
	}
	for _, ref := range out.keep {
		l.group(ref).Stop = Keep
	}
	for _, ref := range out.start {
		*l.group(ref) = Group{Name: ref.name, Of: *l.in.fleet.Containers.Game}
	}
	return out
}

// pass lets a while pass: game sessions end, drained groups end, and new ones become ready or
// fail.
func (l *location) pass(bad func(version int) bool) {
	l.each(func(ref groupRef, g *Group) {
		if l.busy[ref] && rapid.IntRange(0, 3).Draw(l.T, "ends") == 0 {
			l.busy[ref] = false
		}
		switch {
		case g.Stop == Drain && !l.busy[ref]:
			g.Phase, g.Ready = GroupGone, false
		case g.Stop == Keep && !g.Ready && bad(g.Of.Version):
			g.Failures++
			g.Cause = "it crashed"
		case g.Stop == Keep && !g.Ready && rapid.Bool().Draw(l.T, "becomes ready"):
			g.Ready = true
			if !g.Worked {
				g.New = time.Unix(1, 0)
			}
		case !g.New.IsZero() && rapid.Bool().Draw(l.T, "has been ready for long enough"):
			g.worked()
		case g.Stop == Keep && g.Worked && rapid.IntRange(0, 3).Draw(l.T, "game server ends") == 0:
			g.Ready = false // it starts again
		}
	})
}

// until plans until the location has a status.
func (l *location) until(want fleet.DeploymentStatus, bad func(version int) bool) {
	for range 1000 {
		if out := l.plan(); out.status == want {
			return
		} else if out.status != fleet.DeploymentInProgress {
			l.Fatalf("the location is %s (%s), not %s", out.status, out.cause, want)
		}
		l.pass(bad)
	}
	l.Fatalf("the location does not become %s", want)
}

func TestRollout_ReplacesEveryGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLocation(t)
		l.in.fleet = rollingFleet(2, l.in.fleet.Slots())
		l.until(fleet.DeploymentComplete, func(int) bool { return false })
		l.each(func(ref groupRef, g *Group) {
			if g.Of.Version != 2 || !g.hasWorked() || g.Stop != Keep {
				t.Errorf("%v is %+v", ref, *g)
			}
		})
	})
}

func TestRollout_ImpairedAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLocation(t)
		slots := l.in.fleet.Slots()
		bad := func(version int) bool { return version == 2 }
		l.in.fleet = rollingFleet(2, slots)
		l.until(fleet.DeploymentImpaired, bad)
		replaced := 0
		l.each(func(_ groupRef, g *Group) {
			if g.Of.Version == 2 || g.Stop != Keep {
				replaced++
			}
		})
		total := l.in.desired * slots
		if most := max(1, total-total*l.in.config.MinHealthy/100); replaced > most {
			t.Errorf("%d of %d groups were replaced by a version that fails, at most %d may be", replaced, total, most)
		}
		l.in.fleet = rollingFleet(1, slots)
		l.until(fleet.DeploymentComplete, bad)
		l.each(func(ref groupRef, g *Group) {
			if g.Of.Version != 1 || !g.hasWorked() {
				t.Errorf("after the rollback %v is %+v", ref, *g)
			}
		})
	})
}

func TestRollout_AnotherVersionInBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLocation(t)
		slots := l.in.fleet.Slots()
		for version := 2; version < 5; version++ {
			l.in.fleet = rollingFleet(version, slots)
			for range rapid.IntRange(0, 5).Draw(t, "plans") {
				l.plan()
				l.pass(func(int) bool { return false })
			}
		}
		l.until(fleet.DeploymentComplete, func(int) bool { return false })
	})
}

// An instance without room for what its fleet should run is replaced as a whole, even if it
// is the only one.
func TestRollout_ReplacesWhatDoesNotSuit(t *testing.T) {
	i := &Instance{ID: "i-1", Slots: 2, Stride: 1, PortFrom: 1000, PortTo: 1001, Groups: groupsOf(rollingFleet(1, 2), 2)}
	for n := range i.Groups {
		i.Groups[n].Ready = true
	}
	in := rollout{fleet: rollingFleet(2, 3), config: fleet.DeploymentConfig{MinHealthy: 75}, desired: 1, instances: []rolling{{Instance: i}}}
	out := planRollout(in)
	if len(out.replace) != 1 || len(out.drain) != 0 || out.status != fleet.DeploymentInProgress {
		t.Errorf("planned %+v", out)
	}
	in.instances = nil // its end has begun, and no host has made another one yet
	if out := planRollout(in); out.status != fleet.DeploymentInProgress {
		t.Errorf("without an instance the deployment is %s", out.status)
	}
}

// A group that fails again and again impairs the deployment although others are ready.
func TestRollout_OneGroupFails(t *testing.T) {
	i := &Instance{ID: "i-1", Slots: 2, Stride: 1, PortFrom: 1000, PortTo: 1001, Groups: groupsOf(rollingFleet(2, 2), 2)}
	i.Groups[0].Ready = true
	in := rollout{fleet: rollingFleet(2, 2), config: fleet.DeploymentConfig{MinHealthy: 75}, desired: 1, instances: []rolling{{Instance: i}}}
	for i.Groups[1].Failures < maxGroupFailures {
		if out := planRollout(in); out.status != fleet.DeploymentInProgress {
			t.Fatalf("after %d failures the location is %s", i.Groups[1].Failures, out.status)
		}
		i.Groups[1].Failures++
		i.Groups[1].Cause = "its port is taken"
	}
	if out := planRollout(in); out.status != fleet.DeploymentImpaired || !strings.Contains(out.cause, "its port is taken") {
		t.Errorf("planned %+v", out)
	}
}

// A group whose game server is just being started again is not free to take: with the others
// it is what makes the healthy minimum.
func TestRollout_BetweenGames(t *testing.T) {
	i := &Instance{ID: "i-1", Slots: 4, Stride: 1, PortFrom: 1000, PortTo: 1003, Groups: groupsOf(rollingFleet(1, 4), 4)}
	for n := range i.Groups {
		i.Groups[n].Ready, i.Groups[n].Worked = n > 1, true
	}
	i.Groups[0] = Group{Name: "0", Of: *rollingFleet(2, 4).Containers.Game} // is being replaced
	in := rollout{fleet: rollingFleet(2, 4), config: fleet.DeploymentConfig{MinHealthy: 75}, desired: 1, instances: []rolling{{Instance: i}}}
	if out := planRollout(in); len(out.drain) != 0 {
		t.Errorf("with two of four groups ready, %v are drained", out.drain)
	}
	i.Groups[1].Failures = 1 // it does not start again
	if out := planRollout(in); len(out.drain) != 1 || out.drain[0].name != "1" {
		t.Errorf("of a group that fails, %v are drained", out.drain)
	}
}

// Failures on one machine of several do not condemn a version.
func TestRollout_OneMachineFails(t *testing.T) {
	in := rollout{fleet: rollingFleet(2, 3), config: fleet.DeploymentConfig{MinHealthy: 30}, desired: 2}
	for _, id := range []string{"i-1", "i-2"} {
		in.instances = append(in.instances, rolling{Instance: &Instance{ID: id, Slots: 3, Stride: 1, PortFrom: 1000, PortTo: 1002, Groups: groupsOf(rollingFleet(2, 3), 3)}})
	}
	first, second := in.instances[0].Groups, in.instances[1].Groups
	for n := range first {
		first[n].Failures, first[n].Cause = 1, "no space left"
	}
	if out := planRollout(in); out.status != fleet.DeploymentInProgress {
		t.Errorf("after three failures on one machine the location is %s", out.status)
	}
	second[0].Failures = 1
	if out := planRollout(in); out.status != fleet.DeploymentImpaired {
		t.Errorf("after failures on two machines the location is %s", out.status)
	}
	second[0].Failures, first[0].Failures = 0, maxFailures
	if out := planRollout(in); out.status != fleet.DeploymentImpaired {
		t.Errorf("after three failures of one group the location is %s", out.status)
	}
}

func BenchmarkRollout(b *testing.B) {
	f := rollingFleet(2, 10)
	in := rollout{fleet: f, config: fleet.DeploymentConfig{Protect: true, MinHealthy: 75}, desired: 100}
	for n := range in.desired {
		i := &Instance{ID: fmt.Sprintf("i-%d", n), Slots: 10, Stride: 1, PortFrom: 1000, PortTo: 1999, Groups: groupsOf(rollingFleet(1, 10), 10)}
		for n := range i.Groups {
			i.Groups[n].Ready = true
		}
		in.instances = append(in.instances, rolling{Instance: i})
	}
	b.ReportAllocs()
	for b.Loop() {
		if out := planRollout(in); len(out.drain) != 250 {
			b.Fatalf("%d groups are drained", len(out.drain))
		}
	}
}

func TestReports_OfTheVersionBefore(t *testing.T) {
	t.Parallel()
	g := &Group{Name: perInstance, PerInstance: true, Of: fleet.Group{Name: "beside", Version: 12}}
	for version, want := range map[string]bool{
		"arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/beside:12":   true,
		"arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/beside:2":    false,
		"arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/besides:12":  false,
		"arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/inbeside:12": false,
		"": true, // nothing was begun
	} {
		if got := (GroupReport{Name: g.Name, Version: version}).isOf(g); got != want {
			t.Errorf("a report of %q counts: %v", version, got)
		}
	}
}
