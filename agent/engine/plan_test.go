package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/musterhq/muster/hosts/protocol"
)

// randomGroup returns a group that can run, whose containers are shuffled.
func randomGroup(r *rand.Rand) Group {
	g := Group{MemoryMiB: 10_000, CPUMillis: 4000}
	n := 1 + r.IntN(10)
	essential := r.IntN(n)
	for i := range n {
		c := protocol.Container{Name: fmt.Sprint("c", i), Essential: i == essential, MemoryMiB: r.IntN(400), CPUMillis: r.IntN(400), Health: &protocol.ContainerHealth{}}
		for on := range i {
			if r.IntN(3) == 0 {
				conditions := []string{onStart, onHealthy, onComplete, onSuccess}
				if on == essential {
					conditions = conditions[:2]
				}
				c.DependsOn = append(c.DependsOn, protocol.Dependency{Container: fmt.Sprint("c", on), Condition: conditions[r.IntN(len(conditions))]})
			}
		}
		c.Ports = []protocol.Port{{Container: 7000 + i, Host: 20000 + i, Protocol: "UDP"}}
		g.Containers = append(g.Containers, c)
	}
	r.Shuffle(len(g.Containers), func(i, j int) { g.Containers[i], g.Containers[j] = g.Containers[j], g.Containers[i] })
	return g
}

func TestPlan_EachContainerFollowsWhatItDependsOn(t *testing.T) {
	for seed := range uint64(2000) {
		g := randomGroup(rand.New(rand.NewPCG(seed, 1)))
		l, err := plan(g)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(l.sorted) != len(g.Containers) {
			t.Fatalf("seed %d: %d of %d containers", seed, len(l.sorted), len(g.Containers))
		}
		started := map[string]bool{}
		for _, c := range l.sorted {
			for _, d := range c.DependsOn {
				if !started[d.Container] {
					t.Fatalf("seed %d: %s starts before %s", seed, c.Name, d.Container)
				}
			}
			if started[c.Name] {
				t.Fatalf("seed %d: %s starts twice", seed, c.Name)
			}
			started[c.Name] = true
		}
		free := slices.ContainsFunc(g.Containers, func(c protocol.Container) bool { return isEssential(c) && len(c.DependsOn) == 0 })
		if (l.holder == 0) != free || free && !isEssential(l.sorted[0]) {
			t.Fatalf("seed %d: the network is owned by %d of %+v", seed, l.holder, l.sorted)
		}
	}
}

func TestPlan_RefusesCycles(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := randomGroup(r)
		n := 1 + r.IntN(len(g.Containers))
		for i := range n { // a ring of n containers
			c := &g.Containers[i]
			c.DependsOn = append(c.DependsOn, protocol.Dependency{Container: g.Containers[(i+1)%n].Name, Condition: onStart})
		}
		if _, err := plan(g); err == nil || !strings.Contains(err.Error(), "wait for each other") {
			t.Fatalf("seed %d: a ring of %d containers: %v", seed, n, err)
		}
	}
}

func TestPlan_Refuses(t *testing.T) {
	base := func() Group {
		return Group{MemoryMiB: 100, CPUMillis: 1000, Containers: []protocol.Container{{Name: "a", Game: true}, {Name: "b"}}}
	}
	for want, change := range map[string]func(*Group){
		"no container":                   func(g *Group) { g.Containers = nil },
		"could never end":                func(g *Group) { g.Containers[0].Game = false },
		"two containers have the name a": func(g *Group) { g.Containers[1].Name = "a" },
		"which is not in the group": func(g *Group) {
			g.Containers[0].DependsOn = []protocol.Dependency{{Container: "z", Condition: onStart}}
		},
		"has no health check": func(g *Group) {
			g.Containers[0].DependsOn = []protocol.Dependency{{Container: "b", Condition: onHealthy}}
		},
		"unknown condition": func(g *Group) {
			g.Containers[0].DependsOn = []protocol.Dependency{{Container: "b", Condition: "SOON"}}
		},
		"with which the group ends": func(g *Group) {
			g.Containers[1].DependsOn = []protocol.Dependency{{Container: "a", Condition: onSuccess}}
		},
		"limit of memory and of processors": func(g *Group) { g.CPUMillis = 0 },
		"reserve 101 MiB":                   func(g *Group) { g.Containers[0].MemoryMiB = 101 },
		"reserve 100 MiB":                   func(g *Group) { g.Containers[0].MemoryMiB = 100 }, // nothing is left for b
		"reserve 1001 thousandths":          func(g *Group) { g.Containers[0].CPUMillis = 501; g.Containers[1].CPUMillis = 500 },
		"negative limit":                    func(g *Group) { g.Containers[0].CPUMillis = -1 },
		"both have the host's UDP port 9": func(g *Group) {
			g.Containers[0].Ports = []protocol.Port{{Container: 1, Host: 9, Protocol: "UDP"}}
			g.Containers[1].Ports = []protocol.Port{{Container: 2, Host: 9, Protocol: "UDP"}}
		},
		"both have the TCP port 1; the containers of a group share one network": func(g *Group) {
			g.Containers[0].Ports = []protocol.Port{{Container: 1, Host: 9, Protocol: "TCP"}}
			g.Containers[1].Ports = []protocol.Port{{Container: 1, Host: 8, Protocol: "TCP"}}
		},
		"port of the unknown protocol": func(g *Group) {
			g.Containers[0].Ports = []protocol.Port{{Container: 1, Host: 9, Protocol: "SCTP"}}
		},
		"port that is not between 1 and 65535": func(g *Group) {
			g.Containers[0].Ports = []protocol.Port{{Container: 1, Host: 65536, Protocol: "TCP"}}
		},
	} {
		g := base()
		change(&g)
		if _, err := plan(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	both := base()
	both.Containers[0].Ports = []protocol.Port{{Container: 7, Host: 9, Protocol: "UDP"}, {Container: 7, Host: 9, Protocol: "TCP"}}
	if _, err := plan(both); err != nil {
		t.Errorf("the same port of both protocols: %v", err)
	}
}

func TestDivide_NeverMoreThanTheGroup(t *testing.T) {
	for seed := range uint64(1000) {
		g := randomGroup(rand.New(rand.NewPCG(seed, 3)))
		reserved, most := 0, 0
		for _, c := range g.Containers {
			s := divide(g)[c.Name]
			if c.MemoryMiB > 0 && s.memoryMiB != c.MemoryMiB || c.CPUMillis > 0 && s.cpuWeight != c.CPUMillis || s.memoryMiB <= 0 || s.cpuWeight <= 0 {
				t.Fatalf("seed %d: %+v of %+v", seed, s, c)
			}
			reserved += c.MemoryMiB
			if c.MemoryMiB == 0 {
				most = s.memoryMiB
			}
		}
		if reserved+most > g.MemoryMiB {
			t.Fatalf("seed %d: %d and %d MiB are more than %d", seed, reserved, most, g.MemoryMiB)
		}
	}
}

func TestDescribe_HostNetwork(t *testing.T) {
	m := machine{opts: Options{Network: HostNetwork}, cpus: 2, resolve: filepath.EvalSymlinks}
	g := Group{MemoryMiB: 100, CPUMillis: 8000, Containers: []protocol.Container{{Name: "a", Game: true, Ports: []protocol.Port{{Container: 1, Host: 2, Protocol: "UDP"}}}}}
	if _, err := m.describe(g); err == nil || !strings.Contains(err.Error(), "cannot be reached as 2") {
		t.Errorf("another port: %v", err)
	}
	g.Containers[0].Ports[0].Container = 2
	all, err := m.describe(g)
	if err != nil || len(all) != 1 || all[0].HostConfig.NetworkMode != HostNetwork || all[0].HostConfig.PortBindings != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if n := all[0].HostConfig.NanoCPUs; n != 2e9 {
		t.Errorf("%d processors of two", n)
	}
}

func TestContainerName(t *testing.T) {
	key := groupKey{"i-1", "i-1/0"}
	a := containerName(Owner{"c", "h"}, key, "game")
	if !strings.HasPrefix(a, "muster-i-1-0-game-") {
		t.Error(a)
	}
	for _, other := range []string{
		containerName(Owner{"ch", ""}, key, "game"), containerName(Owner{"c", "h"}, groupKey{"i-1", "i-1-0"}, "game"), containerName(Owner{"c", "h"}, key, "Game"),
	} {
		if other == a {
			t.Errorf("%s twice", a)
		}
	}
	if long := containerName(Owner{}, groupKey{"i", strings.Repeat("g", 500)}, strings.Repeat("ü", 500)); len(long) > 128 {
		t.Errorf("%d bytes", len(long))
	}
}

func TestOutcome(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	game, helper, network := member{name: "game", role: roleGame}, member{name: "helper", role: roleOther}, member{name: networkName, role: roleNetwork}
	sidecar := member{name: "sidecar", role: roleEssential}
	for name, test := range map[string]struct {
		members []member
		states  []state
		want    string
	}{
		"all run":                   {[]member{network, game, helper}, []state{{phase: started}, {phase: started}, {phase: started}}, ""},
		"a helper ended":            {[]member{game, helper}, []state{{phase: started}, {phase: exited, code: 1}}, ""},
		"being started":             {[]member{game, helper}, []state{{phase: created}, {phase: exited}}, ""},
		"the game ended":            {[]member{network, game, helper}, []state{{phase: started}, {phase: exited, code: 5}, {phase: started}}, "container game exited with code 5"},
		"a signal":                  {[]member{game}, []state{{phase: exited, code: 139}}, "container game was ended by signal SIGSEGV"},
		"memory":                    {[]member{game}, []state{{phase: exited, code: 137, oom: true}}, "container game was killed because it exceeded its memory limit"},
		"the first of two":          {[]member{game, sidecar}, []state{{phase: exited, code: 1, finished: at(9)}, {phase: exited, code: 2, finished: at(8)}}, "container sidecar exited with code 2"},
		"an end, and an ill one":    {[]member{game, sidecar}, []state{{phase: started, health: "unhealthy"}, {phase: exited, code: 2, finished: at(8)}}, "container sidecar exited with code 2"},
		"an ill essential one":      {[]member{game, sidecar}, []state{{phase: started}, {phase: started, health: "unhealthy"}}, "container sidecar failed its health check"},
		"an ill helper":             {[]member{game, helper}, []state{{phase: started}, {phase: started, health: "unhealthy"}}, ""},
		"the game was removed":      {[]member{game, helper}, []state{{phase: removed}, {phase: started}}, "container game was removed by others"},
		"the network was removed":   {[]member{network, game}, []state{{phase: removed}, {phase: started}}, "container .network was removed by others"},
		"the engine could not":      {[]member{game}, []state{{phase: exited, code: 127, reason: "no such file"}}, "container game did not start: no such file"},
		"nothing essential, no end": {[]member{helper}, []state{{phase: exited, code: 3}}, "container helper exited with code 3"},
	} {
		end, over := outcome(test.members, test.states)
		if over != (test.want != "") || over && end.String() != test.want {
			t.Errorf("%s: %v, %v", name, over, end)
		}
	}
}

func TestMet(t *testing.T) {
	well := protocol.Container{Health: &protocol.ContainerHealth{}}
	for _, test := range []struct {
		condition string
		s         state
		on        protocol.Container
		ok, fails bool
	}{
		{onStart, state{}, well, false, false},
		{onStart, state{phase: started}, well, true, false},
		{onStart, state{phase: exited, code: 1}, well, true, false},
		{onComplete, state{phase: started}, well, false, false},
		{onComplete, state{phase: exited, code: 1}, well, true, false},
		{onSuccess, state{phase: exited}, well, true, false},
		{onSuccess, state{phase: exited, code: 1}, well, true, true},
		{onSuccess, state{phase: removed}, well, true, true},
		{onHealthy, state{phase: started, health: "starting"}, well, false, false},
		{onHealthy, state{phase: started, health: "healthy"}, well, true, false},
		{onHealthy, state{phase: started, health: "unhealthy"}, well, false, true},
		{onHealthy, state{phase: exited}, well, false, true},
		{onHealthy, state{phase: started}, protocol.Container{Game: true}, true, false},
		{onHealthy, state{}, protocol.Container{Game: true}, false, false},
	} {
		ok, err := met(test.condition, test.s, test.on)
		if (err != nil) != test.fails || err == nil && ok != test.ok {
			t.Errorf("%s of %+v: %v, %v", test.condition, test.s, ok, err)
		}
	}
}

func TestIsDue(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := container.InspectResponse{
		Config: &container.Config{Healthcheck: &container.HealthConfig{Interval: 10 * time.Second}},
		State:  &container.State{StartedAt: now.Add(-14 * time.Second).Format(time.RFC3339Nano)},
	}
	if isDue(c, now) || !isDue(c, now.Add(time.Second)) {
		t.Error("the first check")
	}
	c.State.Health = &container.Health{Log: []*container.HealthcheckResult{{End: now.Add(-time.Second)}, nil}}
	if isDue(c, now.Add(13*time.Second)) || !isDue(c, now.Add(14*time.Second)) {
		t.Error("the second check")
	}
	c.Config.Healthcheck = nil
	if isDue(c, now.Add(time.Hour)) {
		t.Error("a container without a check")
	}
}

func TestUsualHosts_AreTriedInTurn(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none"))
	if _, err := Open(t.Context(), Options{}); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}
