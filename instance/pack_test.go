package instance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// randomWorld returns random hosts and demands, without instances.
func randomWorld(t *rapid.T) world {
	var w world
	locations := []string{"here", "there"}
	for n := range rapid.IntRange(0, 5).Draw(t, "hosts") {
		var taken []TakenPort
		for range rapid.IntRange(0, 3).Draw(t, "taken") {
			taken = append(taken, TakenPort{Port: rapid.IntRange(990, 1510).Draw(t, "port")})
		}
		w.hosts = append(w.hosts, &Host{
			Engine: rapid.SampledFrom([]string{"", "docker"}).Draw(t, "engine"), Taken: taken,
			ID: fmt.Sprint("host-", n), Location: rapid.SampledFrom(locations).Draw(t, "at"), Connected: rapid.Bool().Draw(t, "open"),
			CPUMillis: rapid.IntRange(1, 8).Draw(t, "cpu") * 1000, MemoryMiB: rapid.IntRange(1, 16).Draw(t, "memory") << 10,
			PortFrom: 1000, PortTo: 1000 + rapid.IntRange(0, 500).Draw(t, "ports"),
		})
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "demands") {
		w.demands = append(w.demands, demand{
			Place:     Place{fmt.Sprint("fleet-", n), rapid.SampledFrom(locations).Draw(t, "in")},
			cpuMillis: rapid.IntRange(1, 3).Draw(t, "takes") * 1000, memoryMiB: 1024, portCount: 100, containers: n%2 == 1,
			desired: rapid.IntRange(0, 6).Draw(t, "desired"),
		})
	}
	return w
}

// apply returns the world that a plan leads to.
func apply(w world, p plan) world {
	w.instances = slices.DeleteFunc(slices.Clone(w.instances), func(i loaded) bool { return slices.Contains(p.remove, i.ID) })
	for n, c := range p.create {
		w.instances = append(w.instances, loaded{Instance: &Instance{
			ID: fmt.Sprintf("i-%d-%d", len(w.instances), n), FleetID: c.FleetID, Location: c.Location, HostID: c.hostID,
			CPUMillis: c.cpuMillis, MemoryMiB: c.memoryMiB, PortFrom: c.ports.from, PortTo: c.ports.to, Status: Active,
		}})
	}
	return w
}

// Whatever the hosts and demands are: no host is overcommitted, no port is assigned
// twice, no fleet gets more than it desires, and a second plan does nothing except
// use the room that the first one freed.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomWorld(t)
		for range 3 {
			first := planFor(w)
			w = apply(w, first)
			holds(t, w)
			again := planFor(w) // what was removed may have made room
			if len(again.remove) > 0 || len(first.remove) == 0 && len(again.create) > 0 {
				t.Fatalf("a second plan still changes: %+v", again)
			}
			isComplete(t, apply(w, again), planFor(apply(w, again)).short)
			for n := range w.demands {
				w.demands[n].desired = rapid.IntRange(0, 6).Draw(t, "then")
			}
		}
	})
}

// isComplete fails the test unless the shortages are the desired instances that are missing.
func isComplete(t *rapid.T, w world, short []Shortage) {
	for _, d := range w.demands {
		missing := d.desired - countAt(w, d.Place)
		for _, s := range short {
			if s.Place == d.Place {
				missing -= s.Missing
			}
		}
		if missing != 0 {
			t.Fatalf("%d of %d instances at %v are neither there nor short", missing, d.desired, d.Place)
		}
	}
}

func countAt(w world, at Place) (n int) {
	for _, i := range w.instances {
		if i.FleetID == at.FleetID && i.Location == at.Location {
			n++
		}
	}
	return n
}

func holds(t *rapid.T, w world) {
	for _, h := range w.hosts {
		cpu, memory, taken := 0, 0, map[int]bool{}
		for _, i := range w.instances {
			if i.HostID != h.ID {
				continue
			}
			cpu, memory = cpu+i.CPUMillis, memory+i.MemoryMiB
			for p := i.PortFrom; p <= i.PortTo; p++ {
				if taken[p] || p < h.PortFrom || p > h.PortTo {
					t.Fatalf("port %d of %s is assigned twice, or not the host's", p, h.ID)
				}
				taken[p] = true
				held := slices.ContainsFunc(h.Taken, func(t TakenPort) bool { return t.Port == p })
				if forContainers := (i.FleetID[len(i.FleetID)-1]-'0')%2 == 1; held && forContainers {
					t.Fatalf("port %d of %s, which another program holds, is a container group's", p, h.ID)
				}
			}
			if i.Location != h.Location {
				t.Fatalf("an instance for %s is in %s", i.Location, h.Location)
			}
		}
		if cpu > h.CPUMillis || memory > h.MemoryMiB {
			t.Fatalf("%s runs %d and %d MiB, and has %d and %d", h.ID, cpu, memory, h.CPUMillis, h.MemoryMiB)
		}
	}
	for _, d := range w.demands {
		if n := countAt(w, d.Place); n > d.desired {
			t.Fatalf("%s has %d instances and desires %d", d.FleetID, n, d.desired)
		}
	}
}

// The instances with the least load are removed first, and those with a protected
// game session last.
func TestPlan_RemovesWhatCarriesLeast(t *testing.T) {
	on := func(host, id string, change func(*loaded)) loaded {
		i := loaded{Instance: &Instance{ID: id, HostID: host, Status: Active}}
		if change != nil {
			change(&i)
		}
		return i
	}
	w := world{instances: []loaded{
		on("a", "protected", func(i *loaded) { i.sessions, i.protected = 1, true }),
		on("a", "busy", func(i *loaded) { i.sessions, i.players = 1, 9 }),
		on("a", "quiet", func(i *loaded) { i.sessions, i.players = 1, 1 }),
		on("a", "idle", nil),
		on("b", "idle-alone", nil),
		on("a", "pending", func(i *loaded) { i.Status = Pending }),
		on("a", "leaving", func(i *loaded) { i.Status, i.Stop = Terminating, Drain }),
	}, demands: []demand{{}}}
	got := planFor(w).remove
	want := []string{"pending", "idle-alone", "idle", "quiet", "busy", "protected"}
	if !slices.Equal(got, want) {
		t.Errorf("removes %v, want %v", got, want)
	}
}

// Hosts are packed: the fullest one that has room comes first.
func TestPlan_Packs(t *testing.T) {
	host := func(id string) *Host {
		return &Host{ID: id, Connected: true, CPUMillis: 4000, MemoryMiB: 4096, PortFrom: 1, PortTo: 1000}
	}
	w := world{
		hosts:     []*Host{host("a"), host("b")},
		instances: []loaded{{Instance: &Instance{ID: "i", FleetID: "other", HostID: "b", Status: Active, CPUMillis: 1000, MemoryMiB: 1024, PortFrom: 1, PortTo: 100}}},
		demands:   []demand{{Place: Place{FleetID: "f"}, cpuMillis: 1000, memoryMiB: 1024, portCount: 100, desired: 4}},
	}
	var got []string
	for _, c := range planFor(w).create {
		got = append(got, c.hostID)
	}
	if want := []string{"b", "b", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("placed on %v, want %v", got, want)
	}
	if n := roomFor(w, w.demands[0]); n != 7 {
		t.Errorf("room for %d more, want 7", n)
	}
}

// A shortage of ports is named with its remedy.
func TestPlan_Ports(t *testing.T) {
	p := planFor(world{
		hosts:   []*Host{{ID: "h", Location: "here", Connected: true, CPUMillis: 8000, MemoryMiB: 8192, PortFrom: 20000, PortTo: 20099}},
		demands: []demand{{Place: Place{"fleet", "here"}, cpuMillis: 1000, memoryMiB: 1024, portCount: PortsAnInstance, desired: 2}},
	})
	if len(p.create) != 1 || len(p.short) != 1 || !strings.Contains(p.short[0].Why, "no 100 ports in a row are free of its 20000 to 20099: start its agent with more (--ports)") {
		t.Errorf("the plan is %+v", p)
	}
}
