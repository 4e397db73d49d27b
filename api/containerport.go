package api

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

func (h handlers) describeContainerGroupPortMappings(_ context.Context, in *gamelift.DescribeContainerGroupPortMappingsInput) (*gamelift.DescribeContainerGroupPortMappingsOutput, error) {
	view := h.Store.View()
	f, err := h.Fleets.FindContainer(view, *in.FleetId)
	if err != nil {
		return nil, err
	}
	i, g, err := h.groupAsked(view, f, in)
	if err != nil {
		return nil, err
	}
	out := &gamelift.DescribeContainerGroupPortMappingsOutput{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), Location: &i.Location, ContainerGroupDefinitionArn: h.groupARN(&g.Of), ContainerGroupType: in.ContainerGroupType,
		InstanceId: &i.ID, ContainerGroupPortMappings: portMappings(i, g),
	}
	if !g.PerInstance {
		out.ComputeName = new(compute.GroupName(i.ID, g.Name))
	}
	if in.ContainerName == nil {
		return out, nil
	}
	only := slices.DeleteFunc(out.ContainerGroupPortMappings, func(m gamelift.ContainerGroupPortMapping) bool { return *m.ContainerName != *in.ContainerName })
	if len(only) == 0 {
		return nil, fault.Missing("ContainerName: the container group has no container %s that has ports or runs", *in.ContainerName)
	}
	out.ContainerGroupPortMappings = only
	return out, nil
}

// groupAsked returns the container group that a request for port mappings names, and its
// instance. Errors: NotFound, InvalidRequest.
func (h handlers) groupAsked(r store.Reader, f *fleet.Fleet, in *gamelift.DescribeContainerGroupPortMappingsInput) (*instance.Instance, *instance.Group, error) {
	game := *in.ContainerGroupType == string(container.GameServer)
	switch {
	case game && in.ComputeName == nil:
		return nil, nil, fault.Invalid("ComputeName: required with ContainerGroupType GAME_SERVER; ListCompute has the names")
	case !game && in.ComputeName != nil:
		return nil, nil, fault.Invalid("ComputeName: not allowed with ContainerGroupType PER_INSTANCE, whose groups are no computes; give InstanceId")
	case !game && in.InstanceId == nil:
		return nil, nil, fault.Invalid("InstanceId: required with ContainerGroupType PER_INSTANCE; DescribeInstances has the ids")
	case !game:
		return h.perInstanceGroup(r, f, *in.InstanceId)
	}
	c, err := h.Computes.Find(r, f.ID, h.computeName(*in.FleetId, *in.ComputeName))
	if err != nil {
		return nil, nil, err
	}
	if in.InstanceId != nil && *in.InstanceId != c.InstanceID {
		return nil, nil, fault.Invalid("InstanceId: compute %s is on instance %s, not on %s; leave it out", c.Name, c.InstanceID, *in.InstanceId)
	}
	i, g := h.groupOf(r, c)
	if g == nil {
		return nil, nil, fault.Missing("ComputeName: compute %s has no container group any more", c.Name)
	}
	return i, g, nil
}

func (h handlers) perInstanceGroup(r store.Reader, f *fleet.Fleet, id string) (*instance.Instance, *instance.Group, error) {
	i := h.Instances.Instance(r, id)
	if i == nil || i.FleetID != f.ID {
		return nil, nil, fault.Missing("InstanceId: fleet %s has no instance %s", f.ID, id)
	}
	for n := range i.Groups {
		if i.Groups[n].PerInstance {
			return i, &i.Groups[n], nil
		}
	}
	return nil, nil, fault.Missing("ContainerGroupType: instance %s runs no per-instance container group", id)
}

// groupOf returns the container group that is a compute, and its instance; nil for a compute
// of another kind.
func (h handlers) groupOf(r store.Reader, c *compute.Compute) (*instance.Instance, *instance.Group) {
	id, name := compute.InstanceOf(c.Name)
	i := h.Instances.Instance(r, id)
	if i == nil || name == "" || i.FleetID != c.FleetID {
		return nil, nil
	}
	return i, i.Group(name)
}

// isOf reports whether a compute's container group is of a definition, by name or ARN, which
// may have the number of a version.
func (h handlers) isOf(c *compute.Compute, nameOrARN string) bool {
	_, g := h.groupOf(h.Store.View(), c)
	name, number, _ := strings.Cut(h.Home.ID(containerGroupKind, nameOrARN), ":")
	return g != nil && g.Of.Name == name && (number == "" || strconv.Itoa(g.Of.Version) == number)
}

// portMappings returns the ports of a group by container: those that have ports in the order
// of the definition, then others that run.
func portMappings(i *instance.Instance, g *instance.Group) []gamelift.ContainerGroupPortMapping {
	var all []gamelift.ContainerGroupPortMapping
	of := func(name string) *gamelift.ContainerGroupPortMapping {
		for n := range all {
			if *all[n].ContainerName == name {
				return &all[n]
			}
		}
		all = append(all, gamelift.ContainerGroupPortMapping{ContainerName: &name, ContainerPortMappings: []gamelift.ContainerPortMapping{}})
		return &all[len(all)-1]
	}
	for _, p := range i.Ports(g) {
		m := of(p.Container)
		m.ContainerPortMappings = append(m.ContainerPortMappings, gamelift.ContainerPortMapping{
			ContainerPort: num(p.Inside), ConnectionPort: num(p.Outside), Protocol: &p.Protocol,
		})
	}
	for n := range g.Containers {
		of(g.Containers[n].Name).ContainerRuntimeId = opt(g.Containers[n].RuntimeID)
	}
	return all
}

// memberGroup adds the members that only a compute of a container fleet has.
func (h handlers) memberGroup(out *gamelift.Compute, g *instance.Group) {
	out.GameServerContainerGroupDefinitionArn = h.groupARN(&g.Of)
	out.ContainerAttributes = some(g.Containers, func(c instance.Container) gamelift.ContainerAttribute {
		return gamelift.ContainerAttribute{ContainerName: &c.Name, ContainerRuntimeId: opt(c.RuntimeID)}
	})
}

// groupStatus returns the status of a compute that is a container group.
func groupStatus(i *instance.Instance, g *instance.Group) string {
	switch {
	case g.Stop != instance.Keep || i.Stop != instance.Keep:
		return gamelift.ComputeStatusTerminating
	case !g.Ready:
		return gamelift.ComputeStatusPending
	}
	return gamelift.ComputeStatusActive
}
