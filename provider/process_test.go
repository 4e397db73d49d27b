package provider_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/provider"
)

// randomWorld returns random hosts and wishes, and instances that fit them.
func randomWorld(t *rapid.T) provider.World {
	var w provider.World
	locations := []string{"here", "there"}
	for n := range rapid.IntRange(0, 5).Draw(t, "hosts") {
		w.Hosts = append(w.Hosts, provider.Host{
			ID: fmt.Sprint("host-", n), Location: rapid.SampledFrom(locations).Draw(t, "at"), Open: rapid.Bool().Draw(t, "open"),
			CPUMillis: rapid.IntRange(1, 8).Draw(t, "cpu") * 1000, MemoryMiB: rapid.IntRange(1, 16).Draw(t, "memory") << 10,
			PortFrom: 1000, PortTo: 1000 + rapid.IntRange(0, 500).Draw(t, "ports"),
		})
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "wishes") {
		w.Wishes = append(w.Wishes, provider.Wish{
			FleetID: fmt.Sprint("fleet-", n), Location: rapid.SampledFrom(locations).Draw(t, "in"), CPUMillis: rapid.IntRange(1, 3).Draw(t, "takes") * 1000,
			MemoryMiB: 1024, Ports: 100, Desired: rapid.IntRange(0, 6).Draw(t, "desired"),
		})
	}
	return w
}

// apply returns the world that a plan leads to.
func apply(w provider.World, p provider.Plan) provider.World {
	w.Instances = slices.DeleteFunc(slices.Clone(w.Instances), func(i provider.Instance) bool { return slices.Contains(p.Remove, i.ID) })
	for n, m := range p.Make {
		w.Instances = append(w.Instances, provider.Instance{
			ID: fmt.Sprintf("i-%d-%d", len(w.Instances), n), FleetID: m.Wish.FleetID, Location: m.Wish.Location, HostID: m.HostID,
			CPUMillis: m.Wish.CPUMillis, MemoryMiB: m.Wish.MemoryMiB, PortFrom: m.PortFrom, PortTo: m.PortTo, State: provider.Running,
		})
	}
	return w
}

// Whatever the hosts and wishes are: no host is overcommitted, no port is assigned
// twice, no fleet gets more than it wishes for, and a second plan does nothing except
// use the room that the first one freed.
func TestProcess_Plan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomWorld(t)
		for range 3 {
			first := provider.Process{}.Plan(w)
			w = apply(w, first)
			holds(t, w)
			again := provider.Process{}.Plan(w) // what was removed may have made room
			if len(again.Remove) > 0 || len(first.Remove) == 0 && len(again.Make) > 0 {
				t.Fatalf("a second plan still changes: %+v", again)
			}
			for n := range w.Wishes {
				w.Wishes[n].Desired = rapid.IntRange(0, 6).Draw(t, "then")
			}
		}
	})
}

func holds(t *rapid.T, w provider.World) {
	for _, h := range w.Hosts {
		cpu, memory, taken := 0, 0, map[int]bool{}
		for _, i := range w.Instances {
			if i.HostID != h.ID {
				continue
			}
			cpu, memory = cpu+i.CPUMillis, memory+i.MemoryMiB
			for p := i.PortFrom; p <= i.PortTo; p++ {
				if taken[p] || p < h.PortFrom || p > h.PortTo {
					t.Fatalf("port %d of %s is given twice, or not the host's", p, h.ID)
				}
				taken[p] = true
			}
			if i.Location != h.Location {
				t.Fatalf("an instance for %s is in %s", i.Location, h.Location)
			}
		}
		if cpu > h.CPUMillis || memory > h.MemoryMiB {
			t.Fatalf("%s gives %d and %d MiB of %d and %d", h.ID, cpu, memory, h.CPUMillis, h.MemoryMiB)
		}
	}
	for _, wish := range w.Wishes {
		n := 0
		for _, i := range w.Instances {
			if i.FleetID == wish.FleetID && i.Location == wish.Location {
				n++
			}
		}
		if n > wish.Desired {
			t.Fatalf("%s has %d instances and wishes for %d", wish.FleetID, n, wish.Desired)
		}
	}
}

// The instances with the least load are removed first, and those with a protected
// game session last.
func TestProcess_RemovesWhatCarriesLeast(t *testing.T) {
	w := provider.World{Instances: []provider.Instance{
		{ID: "protected", Sessions: 1, Protected: true, State: provider.Running, HostID: "a"},
		{ID: "busy", Sessions: 1, Players: 9, State: provider.Running, HostID: "a"},
		{ID: "quiet", Sessions: 1, Players: 1, State: provider.Running, HostID: "a"},
		{ID: "idle", State: provider.Running, HostID: "a"},
		{ID: "idle-alone", State: provider.Running, HostID: "b"},
		{ID: "pending", State: provider.Pending, HostID: "a"},
		{ID: "leaving", State: provider.Leaving, HostID: "a"},
	}, Wishes: []provider.Wish{{}}}
	got := provider.Process{}.Plan(w).Remove
	want := []string{"pending", "idle-alone", "idle", "quiet", "busy", "protected"}
	if !slices.Equal(got, want) {
		t.Errorf("removes %v, want %v", got, want)
	}
}

// Hosts are packed: the fullest one that has room comes first.
func TestProcess_Packs(t *testing.T) {
	host := func(id string) provider.Host {
		return provider.Host{ID: id, Open: true, CPUMillis: 4000, MemoryMiB: 4096, PortFrom: 1, PortTo: 1000}
	}
	w := provider.World{
		Hosts:     []provider.Host{host("a"), host("b")},
		Instances: []provider.Instance{{ID: "i", FleetID: "other", HostID: "b", CPUMillis: 1000, MemoryMiB: 1024, PortFrom: 1, PortTo: 100}},
		Wishes:    []provider.Wish{{FleetID: "f", CPUMillis: 1000, MemoryMiB: 1024, Ports: 100, Desired: 4}},
	}
	plan := provider.Process{}.Plan(w)
	var got []string
	for _, m := range plan.Make {
		got = append(got, m.HostID)
	}
	if want := []string{"b", "b", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("placed on %v, want %v", got, want)
	}
	if n := (provider.Process{}).Room(w, w.Wishes[0]); n != 7 {
		t.Errorf("room for %d more, want 7", n)
	}
}
