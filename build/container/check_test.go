package container_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/internal/fault"
)

// support returns a sound support container.
func support(name string, on ...container.Dependency) container.Container {
	return container.Container{Name: name, Image: "r.example/" + name + "@" + sum, DependsOn: on}
}

func on(name string, c container.Condition) container.Dependency {
	return container.Dependency{Container: name, Condition: c}
}

func TestCheck(t *testing.T) {
	health := &container.HealthCheck{Command: []string{"CMD-SHELL", "true"}}
	in(t, func(y *yard) {
		for name, c := range map[string]struct {
			change func(s *container.Spec)
			part   string // of the error; "": it is sound
		}{
			"no game server": {func(s *container.Spec) { s.Game = nil }, "GameServerContainerDefinition: is required"},
			"too many":       {func(s *container.Spec) { s.Support = many(9) }, "at most 8"},
			"old SDK":        {func(s *container.Spec) { s.Game.SDK = "5.1.9" }, "5.2.0 or higher"},
			"next SDK":       {func(s *container.Spec) { s.Game.SDK = "6.0.0" }, ""},
			"bad image":      {func(s *container.Spec) { s.Game.Image = "Arena" }, "GameServerContainerDefinition.ImageUri"},
			"same name":      {func(s *container.Spec) { s.Support = []container.Container{support("game")} }, `"game" names two`},
			"memory of one":  {func(s *container.Spec) { s.Support = many(1); s.Support[0].Memory = 1024 }, "SupportContainerDefinitions.1.MemoryHardLimitMebibytes"},
			"vCPU of all":    {func(s *container.Spec) { s.Support = many(2); s.Support[0].VCPU, s.Support[1].VCPU = 0.5, 0.625 }, "TotalVcpuLimit"},
			"vCPU that fits": {func(s *container.Spec) { s.Support = many(2); s.Support[0].VCPU, s.Support[1].VCPU = 0.5, 0.5 }, ""},
			"vCPU of thirds": {func(s *container.Spec) {
				s.Support = many(3)
				s.VCPU, s.Support[0].VCPU, s.Support[1].VCPU, s.Support[2].VCPU = 0.6, 0.2, 0.2, 0.2
			}, ""},
			"ports backward":     {func(s *container.Spec) { s.Game.Ports = []container.PortRange{{9, 8, "TCP"}} }, "less than FromPort"},
			"ports that overlap": {func(s *container.Spec) { s.Game.Ports = []container.PortRange{{1, 9, "TCP"}, {9, 9, "TCP"}} }, "ContainerPortRanges.2: overlaps range 1"},
			"ports of two kinds": {func(s *container.Spec) { s.Game.Ports = []container.PortRange{{1, 9, "TCP"}, {9, 9, "UDP"}} }, ""},
			"variable twice":     {func(s *container.Spec) { s.Game.Env = []container.Variable{{"A", "1"}, {"A", "2"}} }, `"A" is given twice`},
			"variable with =":    {func(s *container.Spec) { s.Game.Env = []container.Variable{{"A=B", "1"}} }, "contains ="},
			"capability twice":   {func(s *container.Spec) { s.Game.Capabilities = []string{"KILL", "CHOWN", "KILL"} }, `"KILL" is given twice`},
			"capabilities":       {func(s *container.Spec) { s.Game.Capabilities = []string{"KILL", "CHOWN"} }, ""},
			"path up":            {func(s *container.Spec) { s.Game.Mounts = []container.Mount{{Instance: "/a/../b"}} }, "MountPoints.1"},
			"path of the root":   {func(s *container.Spec) { s.Game.Mounts = []container.Mount{{Instance: "/a", Container: "//"}} }, "cannot be replaced"},
			"path twice": {func(s *container.Spec) {
				s.Game.Mounts = []container.Mount{{Instance: "/a"}, {Instance: "/b", Container: "/a/"}}
			}, "same path"},
			"health check": {func(s *container.Spec) {
				s.Support = many(1)
				s.Support[0].Health = &container.HealthCheck{Command: []string{"true"}}
			}, "CMD-SHELL"},
			"unknown dependency": {func(s *container.Spec) { s.Game.DependsOn = []container.Dependency{on("x", container.Start)} }, "not in the group"},
			"dependency twice": {func(s *container.Spec) {
				s.Support = []container.Container{support("a", on("game", container.Start), on("game", container.Healthy))}
			}, "twice"},
			"on itself": {func(s *container.Spec) { s.Game.DependsOn = []container.Dependency{on("game", container.Start)} }, "game → game"},
			"end of the game": {func(s *container.Spec) {
				s.Support = []container.Container{support("a", on("game", container.Complete))}
			}, "essential"},
			"health without": {func(s *container.Spec) {
				s.Support = []container.Container{support("a"), support("b", on("a", container.Healthy))}
			}, "no HealthCheck"},
			"health with": {func(s *container.Spec) {
				s.Support = []container.Container{support("a"), support("b", on("a", container.Healthy))}
				s.Support[0].Health = health
			}, ""},
			"health of the game": {func(s *container.Spec) {
				s.Support = []container.Container{support("a", on("game", container.Healthy))}
			}, ""},
			"end of a helper": {func(s *container.Spec) {
				s.Support = many(1)
				s.Game.DependsOn = []container.Dependency{on("s0", container.Success)}
			}, ""},
			"cycle": {func(s *container.Spec) {
				s.Support = []container.Container{support("a", on("b", container.Start)), support("b", on("c", container.Start)), support("c", on("a", container.Start))}
				s.Game.DependsOn = []container.Dependency{on("a", container.Start)}
			}, "a → b → c → a"},
			"two ways, no cycle": {func(s *container.Spec) {
				s.Support = []container.Container{support("a", on("c", container.Start)), support("b", on("c", container.Start)), support("c")}
				s.Game.DependsOn = []container.Dependency{on("a", container.Start), on("b", container.Start)}
			}, ""},
		} {
			spec := group()
			c.change(&spec)
			_, err := y.groups.Create.Do(y.Ctx, container.CreateInput{Name: "arena", Spec: spec})
			if c.part != "" {
				y.refused(name, err, fault.InvalidRequest, c.part)
				continue
			}
			if err == nil {
				err = y.groups.Delete.Do(y.Ctx, container.DeleteInput{Name: "arena"})
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range y.groups.Newest(y.Store.View(), "") {
			t.Error("a refused definition is there")
		}
	})
}

func TestCheck_PerInstance(t *testing.T) {
	in(t, func(y *yard) {
		essential := many(10)
		essential[3].Essential = true
		for name, c := range map[string]struct {
			spec container.Spec
			part string
		}{
			"ten":           {container.Spec{Memory: 100, VCPU: 1, Support: essential}, ""},
			"eleven":        {container.Spec{Memory: 100, VCPU: 1, Support: many(11)}, "at most 10"},
			"none":          {container.Spec{Memory: 100, VCPU: 1}, "at least one"},
			"not essential": {container.Spec{Memory: 100, VCPU: 1, Support: many(1)}, "Essential true"},
			"game server":   {group(), "GAME_SERVER group only"},
		} {
			_, err := y.groups.Create.Do(y.Ctx, container.CreateInput{Name: name, Type: container.PerInstance, Spec: c.spec})
			if c.part != "" {
				y.refused(name, err, fault.InvalidRequest, c.part)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func many(n int) (all []container.Container) {
	for i := range n {
		all = append(all, support(fmt.Sprintf("s%d", i)))
	}
	return all
}
