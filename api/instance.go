package api

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) describeInstances(ctx context.Context, in *gamelift.DescribeInstancesInput) (*gamelift.DescribeInstancesOutput, error) {
	f, err := h.managedFleet(*in.FleetId)
	if err != nil {
		return nil, err
	}
	if err := checkLocation(f, in.Location); err != nil {
		return nil, err
	}
	shown := h.places(ctx)
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*instance.Instance] {
		found := slices.SortedFunc(h.Instances.Instances(h.Store.View(), f.ID, val(in.Location)),
			func(a, b *instance.Instance) int { return cmp.Compare(a.ID, b.ID) })
		return filtered(slices.Values(found), func(i *instance.Instance) bool {
			return i.ID > after && (in.InstanceId == nil || *in.InstanceId == i.ID) && (shown == nil || shown(i.Location))
		})
	}, func(i *instance.Instance) string { return i.ID }, "DescribeInstances", f.ID, val(in.InstanceId), val(in.Location))
	if err != nil {
		return nil, err
	}
	if in.InstanceId != nil && len(page) == 0 {
		return nil, fault.Missing("InstanceId: fleet %s has no instance %s", f.ID, *in.InstanceId)
	}
	out := list(page, func(i *instance.Instance) gamelift.Instance { return h.instanceOut(f, i) })
	return &gamelift.DescribeInstancesOutput{Instances: out, NextToken: next}, nil
}

func (h handlers) instanceOut(f *fleet.Fleet, i *instance.Instance) gamelift.Instance {
	out := gamelift.Instance{
		FleetId: &f.ID, FleetArn: h.fleetARN(f.ID), InstanceId: &i.ID, OperatingSystem: opt(f.Managed.OS), Type: &f.Managed.InstanceType,
		Status: new(string(i.Status)), CreationTime: gamelift.At(i.Created), Location: &i.Location,
	}
	if c, err := h.Computes.Find(h.Store.View(), f.ID, i.ID); err == nil {
		ip, dns := c.Address()
		out.IpAddress, out.DnsName = &ip, &dns
	}
	return out
}

// getInstanceAccess always refuses: AWS returns a login to its machines, but Muster's
// machines are the operator's.
func (h handlers) getInstanceAccess(_ context.Context, in *gamelift.GetInstanceAccessInput) (*gamelift.GetInstanceAccessOutput, error) {
	f, err := h.managedFleet(*in.FleetId)
	if err != nil {
		return nil, err
	}
	i := h.Instances.Instance(h.Store.View(), *in.InstanceId)
	if i == nil || i.FleetID != f.ID {
		return nil, fault.Missing("InstanceId: fleet %s has no instance %s", f.ID, *in.InstanceId)
	}
	return nil, h.noAccess(i)
}

func (h handlers) noAccess(i *instance.Instance) error {
	return fault.Invalid("FleetId: Muster gives no remote access; instance %s is part of your own host %s", i.ID, i.HostID)
}

// describeEC2InstanceLimits returns how many instances of each type there are in a
// location, of fleets in the caller's scope, and how many the location's hosts could
// run.
func (h handlers) describeEC2InstanceLimits(ctx context.Context, in *gamelift.DescribeEC2InstanceLimitsInput) (*gamelift.DescribeEC2InstanceLimitsOutput, error) {
	location := cmp.Or(val(in.Location), h.Home.Region)
	view := h.Store.View()
	if !h.Fleets.Locations.Known(view, location) {
		return nil, fault.Invalid("Location: %s does not exist", location)
	}
	used := map[string]int{}
	for f := range reached(ctx, h.Fleets.Managed(view), h.arnOfFleet) {
		for range h.Instances.Instances(view, f.ID, location) {
			used[f.Managed.InstanceType]++
		}
	}
	types := gamelift.EC2InstanceTypeValues()
	if in.EC2InstanceType != nil {
		types = []string{*in.EC2InstanceType}
	}
	var out []gamelift.EC2InstanceLimit
	for _, kind := range types {
		if _, ok := fleet.SizeOf(kind); ok {
			n := used[kind]
			out = append(out, gamelift.EC2InstanceLimit{
				EC2InstanceType: &kind, CurrentInstances: num(n), InstanceLimit: num(n + h.Instances.Room(view, kind, location)), Location: &location,
			})
		}
	}
	return &gamelift.DescribeEC2InstanceLimitsOutput{EC2InstanceLimits: out}, nil
}
