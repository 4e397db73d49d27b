package fleet_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// What a request may not say is refused by the name of the member, the rule and what to do,
// and changes nothing.
func TestCreateContainer_Refusals(t *testing.T) {
	t.Parallel()
	x := newFixture(t, celltest.Options{Definitions: shelf().find, Quotas: fleet.Quotas{Fleets: 1, LocationsPerFleet: 1}})
	for what, c := range map[string]struct {
		change func(*fleet.ContainerInput)
		kind   fault.Kind
		parts  string
	}{
		"no such definition": {func(in *fleet.ContainerInput) { in.Game = "none" }, fault.InvalidRequest, "none does not exist"},
		"of another type":    {func(in *fleet.ContainerInput) { in.Game = "side:1" }, fault.InvalidRequest, "GameServerContainerGroupDefinitionName: side is of type PER_INSTANCE"},
		"the other of another type": {func(in *fleet.ContainerInput) { in.PerInstance = "game:1" }, fault.InvalidRequest,
			"PerInstanceContainerGroupDefinitionName: game is of type GAME_SERVER"},
		"not READY":    {func(in *fleet.ContainerInput) { in.Game = "copying:1" }, fault.InvalidRequest, "COPYING; it must be READY"},
		"unknown type": {func(in *fleet.ContainerInput) { in.InstanceType = "z9.tiny" }, fault.InvalidRequest, "InstanceType"},
		"does not fit beside the other": {func(in *fleet.ContainerInput) { in.Game, in.PerInstance = "wide:1", "side:1" }, fault.InvalidRequest,
			"wide:1 needs 2 vCPU and 4096 MiB of memory; an instance of type c5.large has 2 vCPU and 4096 MiB of memory and also runs side:1"},
		"fits nowhere":         {func(in *fleet.ContainerInput) { in.Game, in.InstanceType = "huge:1", "" }, fault.InvalidRequest, "larger InstanceType"},
		"more groups than fit": {func(in *fleet.ContainerInput) { in.Copies = 5 }, fault.InvalidRequest, "GameServerContainerGroupsPerInstance: 5 groups of game:1 do not fit on an instance of type c5.large; at most 4 do"},
		"reserved ports":       {func(in *fleet.ContainerInput) { in.Ports = fleet.PortSpan{From: 4000, To: 4100} }, fault.InvalidRequest, "InstanceConnectionPortRange: 4000 to 4100 contains ports from 4092 to 4191"},
		"ports in wrong order": {func(in *fleet.ContainerInput) { in.Ports = fleet.PortSpan{From: 5000, To: 4999} }, fault.InvalidRequest, "ToPort 4999 is less than FromPort 5000"},
		"too few ports":        {func(in *fleet.ContainerInput) { in.Ports = fleet.PortSpan{From: 5000, To: 5006} }, fault.InvalidRequest, "has 7 ports; the container groups of an instance have 8 (4 game server groups)"},
		"a port of the system": {func(in *fleet.ContainerInput) {
			in.Inbound = []fleet.Permission{{FromPort: 80, ToPort: 80, Range: "0.0.0.0/0", Protocol: "TCP"}}
		}, fault.InvalidRequest, "IpPermission.1.FromPort"},
		"S3 without a bucket":    {func(in *fleet.ContainerInput) { in.Logs.Destination = "S3" }, fault.InvalidRequest, "LogConfiguration.S3BucketName: required"},
		"a bucket without S3":    {func(in *fleet.ContainerInput) { in.Logs.Bucket = "b" }, fault.InvalidRequest, "LogConfiguration.S3BucketName: allowed with LogDestination S3 only, not with CLOUDWATCH"},
		"a log group for no log": {func(in *fleet.ContainerInput) { in.Logs = fleet.Logs{Destination: "NONE", LogGroup: "g"} }, fault.InvalidRequest, "LogConfiguration.LogGroupArn"},
		"a required gateway":     {func(in *fleet.ContainerInput) { in.Gateway.Mode = "REQUIRED" }, fault.InvalidRequest, "PlayerGatewayMode"},
		"no such location":       {func(in *fleet.ContainerInput) { in.Locations = []string{"custom-none"} }, fault.InvalidRequest, "Locations.1.Location"},
		"too many locations":     {func(in *fleet.ContainerInput) { in.Locations = []string{other, "eu-central-1"} }, fault.LimitExceeded, "Locations"},
		"a reserved tag":         {func(in *fleet.ContainerInput) { in.Tags = map[string]string{"aws:x": ""} }, fault.TaggingFailed, "Tags"},
	} {
		in := fleet.ContainerInput{Role: "r", Game: "game:1", InstanceType: "c5.large"}
		c.change(&in)
		if _, err := x.Fleets.CreateContainer.Do(x.Ctx, in); !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.parts) {
			t.Errorf("%s: %v; want %s with %q", what, err, c.kind, c.parts)
		}
	}
	if x.now() != 0 || x.ids("", "") != nil {
		t.Error("a refusal left a trace")
	}
	x.containers(nil)
	_, err := x.Fleets.CreateContainer.Do(x.Ctx, fleet.ContainerInput{Game: "game:1"})
	x.refused(err, fault.LimitExceeded)
	y := newFixture(t, celltest.Options{})
	_, err = y.Fleets.CreateContainer.Do(y.Ctx, fleet.ContainerInput{Game: "game:1"})
	y.refused(err, fault.InvalidRequest)
}

func TestCreateContainer_Defaults(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(func(in *fleet.ContainerInput) { in.Game, in.PerInstance, in.InstanceType = "wide:1", "side:1", "" })
	c := f.Containers
	if f.Managed.InstanceType != "r5.large" && f.Managed.InstanceType != "c5.xlarge" || f.Slots() != 1 || f.MostCopies() != 1 {
		t.Errorf("the smallest type on which both fit is %s, with %d groups", f.Managed.InstanceType, f.Slots())
	}
	if f.Managed.FleetType != "ON_DEMAND" || c.Logs.Destination != "CLOUDWATCH" || f.Protection != fleet.NoProtection || f.MetricGroups[0] != "default" {
		t.Errorf("created %+v", f)
	}
	// From the API reference: from 4192, as many as the groups have and one group more.
	if got, want := f.ConnectionPorts(), (fleet.PortSpan{From: 4192, To: 4192 + 1*2 + 1 + 2}); got != want {
		t.Errorf("connection ports %v, want %v", got, want)
	}
	four := x.containers(func(in *fleet.ContainerInput) { in.Ports = fleet.PortSpan{From: 5000, To: 5007} })
	if four.Slots() != 4 || four.ConnectionPorts().To != 5007 {
		t.Errorf("groups %d, ports %v", four.Slots(), four.ConnectionPorts())
	}
}

// An update that is refused changes nothing; one that instances need not know starts no
// deployment.
func TestUpdateContainer(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	open := fleet.Permission{FromPort: 5000, ToPort: 5010, Range: "0.0.0.0/0", Protocol: "UDP"}
	f := x.run(x.containers(func(in *fleet.ContainerInput) { in.PerInstance, in.Inbound = "side:1", []fleet.Permission{open} }))
	since := x.now()
	for what, c := range map[string]struct {
		in    fleet.ContainerUpdate
		kind  fault.Kind
		parts string
	}{
		"no such fleet":      {fleet.ContainerUpdate{FleetID: "containerfleet-none"}, fault.NotFound, "containerfleet-none"},
		"another kind":       {fleet.ContainerUpdate{FleetID: x.managed().ID}, fault.InvalidRequest, "not a container fleet"},
		"no such definition": {fleet.ContainerUpdate{Game: ptr("none")}, fault.NotFound, "none"},
		"does not fit":       {fleet.ContainerUpdate{Game: ptr("wide:1")}, fault.InvalidRequest, "wide:1 needs"},
		"too many":           {fleet.ContainerUpdate{Copies: ptr(4)}, fault.InvalidRequest, "at most 3 do"},
		"removed and set":    {fleet.ContainerUpdate{PerInstance: ptr("side:1"), NoPerInstance: true}, fault.InvalidRequest, "RemoveAttributes"},
		"no such permission": {fleet.ContainerUpdate{Revoke: []fleet.Permission{{FromPort: 1}}}, fault.InvalidRequest, "InstanceInboundPermissionRevocations.1"},
		"no bucket":          {fleet.ContainerUpdate{Logs: &fleet.Logs{Destination: "S3"}}, fault.InvalidRequest, "S3BucketName"},
	} {
		c.in.Description = ptr("changed")
		if c.in.FleetID == "" {
			c.in.FleetID = f.ID
		}
		if _, err := x.Fleets.UpdateContainer.Do(x.Ctx, c.in); !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.parts) {
			t.Errorf("%s: %v; want %s with %q", what, err, c.kind, c.parts)
		}
	}
	if got := x.get(f.ID); got != f || len(x.codes(f.ID, since)) != 0 {
		t.Errorf("a refusal left %+v", got)
	}
	deployed := f.Containers.Deployment
	f = x.update(fleet.ContainerUpdate{
		FleetID: f.ID, Description: ptr("d"), Protection: ptr(fleet.FullProtection), Game: ptr("game:1"), Logs: ptr(f.Containers.Logs),
		CreationLimit: &fleet.CreationLimit{Sessions: 1}, MetricGroups: []string{"m"}, Deployment: fleet.DeploymentInput{MinHealthy: ptr(30)},
	})
	if f.Containers.Deployment != deployed || f.Status != fleet.Active || f.Description != "d" || f.Protection != fleet.FullProtection ||
		f.CreationLimit.Sessions != 1 || f.MetricGroups[0] != "m" {
		t.Errorf("updated %+v", f)
	}
	for what, in := range map[string]fleet.ContainerUpdate{
		"another version": {Game: ptr("game:2")}, "another count": {Copies: ptr(1)}, "none beside": {NoPerInstance: true},
		"other ports": {Ports: &fleet.PortSpan{From: 6000, To: 6100}}, "other logs": {Logs: &fleet.Logs{Destination: "S3", Bucket: "b"}},
		"other permissions": {Revoke: []fleet.Permission{open}},
	} {
		in.FleetID, in.Deployment = f.ID, fleet.DeploymentInput{Protect: ptr(false), MinHealthy: ptr(40), Rollback: ptr(false)}
		was := x.get(f.ID).Containers.Deployment
		x.update(in)
		d := x.latest(f.ID)
		if d.ID == was || d.Config != (fleet.DeploymentConfig{MinHealthy: 40}) || x.Fleets.Deployments.Get(x.Store.View(), was).Status == fleet.DeploymentInProgress {
			t.Errorf("%s: deployment %+v", what, d)
		}
	}
}

// What other operations change on a container fleet, and what they refuse.
func TestContainerFleet_OtherOperations(t *testing.T) {
	t.Parallel()
	x := containerFixture(t)
	f := x.containers(nil)
	x.refused(x.capacity(fleet.CapacityInput{FleetID: f.ID, Desired: ptr(1)}), fault.InvalidFleetStatus)
	x.run(f)
	x.update(fleet.ContainerUpdate{FleetID: f.ID, Game: ptr("game:2")}) // it is UPDATING from here on
	_, err := x.Fleets.Update.Do(x.Ctx, fleet.UpdateInput{FleetID: f.ID})
	x.refused(err, fault.InvalidRequest)
	_, err = x.Fleets.UpdateRuntime.Do(x.Ctx, fleet.RuntimeInput{FleetID: f.ID, Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/x", Concurrent: 1}}}})
	x.refused(err, fault.InvalidRequest)
	_, err = x.Fleets.UpdatePorts.Do(x.Ctx, fleet.PortsInput{FleetID: f.ID})
	x.refused(err, fault.InvalidRequest)
	x.Must(x.capacity(fleet.CapacityInput{FleetID: f.ID, Desired: ptr(3), Max: ptr(5)}))
	x.Update(func(tx *store.Tx) { x.Fleets.Capacities.SetDesired(tx, f.ID, home, 4, "use") })
	if l := x.at(f.ID, home); l.Capacity.Desired != 4 || l.Status != fleet.Updating {
		t.Errorf("location %+v", l)
	}
	x.refused(x.add(f.ID, other), fault.InvalidFleetStatus)
	x.report(f.ID, home, fleet.DeploymentComplete)
	got, err := x.Fleets.AddLocations.Do(x.Ctx, fleet.LocationsInput{FleetID: f.ID, Locations: []string{other}})
	x.Must(err)
	if l := got.Place(other); l.Status != fleet.Pending || !got.WantsInstances(*l) {
		t.Errorf("added %+v", l)
	}
	a, err := x.Fleets.Aliases.Create.Do(x.Ctx, fleet.AliasInput{Name: "a", Routing: fleet.Simple, FleetID: x.Fleets.Home().OfFleet(f.ID)})
	x.Must(err)
	if led, err := x.Fleets.Aliases.Resolve(x.Store.View(), a.ID); err != nil || led.ID != f.ID {
		t.Errorf("the alias leads to %v (%v)", led, err)
	}
}
