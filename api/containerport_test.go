package api

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// groupOfName is version 1 of a container group definition: game has a game server with a
// UDP port and another container, side is a per-instance group.
func groupOfName(_ store.Reader, name string) (fleet.Definition, error) {
	d := fleet.Definition{
		Group: fleet.Group{Name: name, Version: 1, CPUMillis: 500, MemoryMiB: 512, Ports: 3, Ranges: []fleet.PortRange{
			{Container: "main", Game: true, From: 7000, To: 7001, Protocol: "UDP"}, {Container: "metrics", From: 9000, To: 9000, Protocol: "TCP"},
		}},
		Status: "READY", Ready: true, PerInstance: name == "side",
	}
	if d.PerInstance {
		d.Ports, d.Ranges = 1, []fleet.PortRange{{Container: "log", From: 5000, To: 5000, Protocol: "TCP"}}
	}
	return d, nil
}

// inBerth runs f with handlers over a cell with a machine that has an engine, which runs one
// instance of a container fleet with two groups; the game server of slot 1 is ready.
func inBerth(t *testing.T, f func(h handlers, of *fleet.Fleet, i *instance.Instance)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := celltest.New(t, celltest.Options{Definitions: groupOfName})
		c.Open()
		c.Start(c.Computes.Run, c.Sessions.Run, c.Instances.Run)
		token, _, err := c.Instances.CreateJoinToken(c.Ctx, instance.JoinTokenInput{Location: celltest.Home.Region})
		c.Must(err)
		machine := instance.HostInfo{
			Name: "machine", IPAddress: "192.0.2.9", OS: "linux", Arch: "amd64", Engine: "docker 28",
			CPUMillis: 4000, MemoryMiB: 8192, PortFrom: 20000, PortTo: 29999,
		}
		host, err := c.Instances.Join(c.Ctx, instance.JoinInput{Token: token, HostInfo: machine})
		c.Must(err)
		c.Must(c.Instances.HostConnected.Do(c.Ctx, instance.HostPresence{HostID: host.HostID, Info: machine}))
		of, err := c.Fleets.CreateContainer.Do(c.Ctx, fleet.ContainerInput{Role: "r", Game: "game", PerInstance: "side", InstanceType: "c5.large", Copies: 2})
		c.Must(err)
		celltest.Pass(0)
		assigned := c.Instances.Assignments(c.Store.View(), host.HostID)
		if len(assigned) != 1 {
			t.Fatalf("assigned %v", assigned)
		}
		ref := compute.Ref{FleetID: of.ID, ComputeName: compute.GroupName(assigned[0].ID, "1"), ProcessID: "p"}
		c.Must(c.Instances.ReportHost.Do(c.Ctx, instance.HostReport{HostID: host.HostID, Instances: []instance.InstanceReport{{
			InstanceID: assigned[0].ID, Phase: instance.Activating,
			Groups: []instance.GroupReport{
				{Name: "1", Phase: instance.GroupRunning, Containers: []instance.Container{{Name: "main", RuntimeID: "c1"}, {Name: "plain", RuntimeID: "c2"}}},
			},
			Processes: []instance.ProcessReport{{ID: ref.ProcessID, Group: "1", Started: time.Now()}},
		}}}))
		_, err = c.Computes.Connect(c.Ctx, compute.ConnectInput{Ref: ref}, mute{})
		c.Must(err)
		c.Must(c.Computes.Ready(c.Ctx, compute.ReadyInput{Ref: ref, Port: 7000}))
		celltest.Pass(0)
		h := handlers{Services{Store: c.Store, Home: celltest.Home, Fleets: c.Fleets, Computes: c.Computes, Instances: c.Instances, Sessions: c.Sessions}}
		f(h, c.Fleets.Get(c.Store.View(), of.ID), c.Instances.Instance(c.Store.View(), assigned[0].ID))
		c.Close()
	})
}

// mute is a connection whose game server is told nothing.
type mute struct{}

func (mute) StartGameSession(compute.Start)   {}
func (mute) UpdateGameSession(compute.Update) {}
func (mute) Terminate(time.Time)              {}
func (mute) Drop()                            {}

func TestPortMappings(t *testing.T) {
	inBerth(t, func(h handlers, f *fleet.Fleet, i *instance.Instance) {
		game, per := "GAME_SERVER", "PER_INSTANCE"
		one := i.ID + "/1"
		ask := func(in gamelift.DescribeContainerGroupPortMappingsInput) (*gamelift.DescribeContainerGroupPortMappingsOutput, error) {
			in.FleetId = &f.ID
			return h.describeContainerGroupPortMappings(t.Context(), &in)
		}
		out, err := ask(gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &game, ComputeName: &one})
		if err != nil {
			t.Fatal(err)
		}
		m := out.ContainerGroupPortMappings
		if *out.ComputeName != one || *out.InstanceId != i.ID || *out.Location != f.Home || !strings.HasSuffix(*out.ContainerGroupDefinitionArn, "/game:1") ||
			len(m) != 3 || *m[0].ContainerName != "main" || *m[0].ContainerRuntimeId != "c1" || *m[1].ContainerName != "metrics" || *m[2].ContainerName != "plain" || len(m[2].ContainerPortMappings) != 0 {
			t.Fatalf("mappings %+v", out)
		}
		for n, want := range []gamelift.ContainerPortMapping{
			{ContainerPort: num(7000), ConnectionPort: num(i.PortFrom + 3), Protocol: new("UDP")},
			{ContainerPort: num(7001), ConnectionPort: num(i.PortFrom + 4), Protocol: new("UDP")},
		} {
			if got := m[0].ContainerPortMappings[n]; *got.ContainerPort != *want.ContainerPort || *got.ConnectionPort != *want.ConnectionPort || *got.Protocol != *want.Protocol {
				t.Errorf("port %d of slot 1 is %d to %d", n, *got.ContainerPort, *got.ConnectionPort)
			}
		}
		arn := "arn:aws:gamelift:us-east-1:000000000000:compute/" + one
		if only, err := ask(gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &game, ComputeName: &arn, InstanceId: &i.ID, ContainerName: new("metrics")}); err != nil ||
			len(only.ContainerGroupPortMappings) != 1 || *only.ContainerGroupPortMappings[0].ContainerPortMappings[0].ConnectionPort != int32(i.PortFrom+5) {
			t.Errorf("one container by the compute's ARN: %+v, %v", only, err)
		}
		beside, err := ask(gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &per, InstanceId: &i.ID})
		if err != nil || beside.ComputeName != nil || *beside.ContainerGroupPortMappings[0].ContainerPortMappings[0].ConnectionPort != int32(i.PortFrom+6) {
			t.Errorf("the per-instance group: %+v, %v", beside, err)
		}
		for what, c := range map[string]struct {
			in   gamelift.DescribeContainerGroupPortMappingsInput
			kind fault.Kind
		}{
			"no compute":            {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &game}, fault.InvalidRequest},
			"no instance":           {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &per}, fault.InvalidRequest},
			"a compute of the host": {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &per, InstanceId: &i.ID, ComputeName: &one}, fault.InvalidRequest},
			"another instance":      {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &game, ComputeName: &one, InstanceId: new("i-2")}, fault.InvalidRequest},
			"an unknown instance":   {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &per, InstanceId: new("i-2")}, fault.NotFound},
			"an unknown compute":    {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &game, ComputeName: new(i.ID + "/7")}, fault.NotFound},
			"an unknown container":  {gamelift.DescribeContainerGroupPortMappingsInput{ContainerGroupType: &game, ComputeName: &one, ContainerName: new("none")}, fault.NotFound},
		} {
			if _, err := ask(c.in); !fault.Is(err, c.kind) {
				t.Errorf("%s: %v, want %s", what, err, c.kind)
			}
		}
	})
}

// The computes of a container fleet are its groups.
func TestComputesOfGroups(t *testing.T) {
	inBerth(t, func(h handlers, f *fleet.Fleet, i *instance.Instance) {
		listed := func(in gamelift.ListComputeInput) map[string]gamelift.Compute {
			in.FleetId = &f.ID
			out, err := h.listCompute(t.Context(), &in)
			if err != nil {
				t.Fatal(err)
			}
			all := map[string]gamelift.Compute{}
			for _, c := range out.ComputeList {
				all[*c.ComputeName] = c
			}
			return all
		}
		all := listed(gamelift.ListComputeInput{})
		first, second := all[i.ID+"/0"], all[i.ID+"/1"]
		if len(all) != 2 || *first.ComputeStatus != "PENDING" || *second.ComputeStatus != "ACTIVE" || *second.InstanceId != i.ID || !strings.HasSuffix(*second.ComputeArn, ":compute/"+i.ID+"/1") ||
			!strings.HasSuffix(*second.GameServerContainerGroupDefinitionArn, "/game:1") || len(second.ContainerAttributes) != 2 || *second.ContainerAttributes[0].ContainerRuntimeId != "c1" {
			t.Errorf("computes %+v and %+v", first, second)
		}
		for name, want := range map[string]int{"game": 2, "none": 0, h.Home.Of(containerGroupKind, "game:1"): 2, h.Home.Of(containerGroupKind, "game:2"): 0} {
			if got := listed(gamelift.ListComputeInput{ContainerGroupDefinitionName: &name}); len(got) != want {
				t.Errorf("%d computes of %s, want %d", len(got), name, want)
			}
		}
		if got := listed(gamelift.ListComputeInput{ComputeStatus: new("ACTIVE")}); len(got) != 1 {
			t.Errorf("ACTIVE computes %v", got)
		}
		counted := func(pending, idle int32) {
			t.Helper()
			n := h.capacityOut(f, *f.Place(f.Home)).GameServerContainerGroupCounts
			if *n.PENDING != pending || *n.IDLE != idle || *n.ACTIVE != 0 || *n.TERMINATING != 0 {
				t.Errorf("%d groups are PENDING, %d IDLE, %d ACTIVE, %d TERMINATING; want %d PENDING and %d IDLE", *n.PENDING, *n.IDLE, *n.ACTIVE, *n.TERMINATING, pending, idle)
			}
		}
		ref := compute.Ref{FleetID: f.ID, ComputeName: i.ID + "/1", ProcessID: "p"}
		counted(2, 0) // CreateGameSession would be refused until the game server hears
		if err := h.Computes.Hearing(context.Background(), ref); err != nil {
			t.Fatal(err)
		}
		counted(1, 1)
		if err := h.Computes.Disconnect(context.Background(), ref); err != nil {
			t.Fatal(err)
		}
		counted(2, 0)
	})
}
