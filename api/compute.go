package api

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

func (h handlers) registerComputes(srv *awsrpc.Server) {
	on(srv, "RegisterCompute", h.registerCompute)
	on(srv, "DeregisterCompute", h.deregisterCompute)
	on(srv, "DescribeCompute", h.describeCompute)
	on(srv, "ListCompute", h.listCompute)
	on(srv, "GetComputeAuthToken", h.getComputeAuthToken)
	on(srv, "GetComputeAccess", h.getComputeAccess)
}

func (h handlers) registerCompute(ctx context.Context, in *gamelift.RegisterComputeInput) (*gamelift.RegisterComputeOutput, error) {
	c, err := h.Computes.Register(ctx, compute.RegisterInput{
		FleetID: *in.FleetId, Name: *in.ComputeName, Location: val(in.Location),
		IPAddress: val(in.IpAddress), DNSName: val(in.DnsName), CertificatePath: val(in.CertificatePath),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.RegisterComputeOutput{Compute: new(h.computeOut(c))}, nil
}

func (h handlers) deregisterCompute(ctx context.Context, in *gamelift.DeregisterComputeInput) (*gamelift.DeregisterComputeOutput, error) {
	return nil, h.Computes.Deregister(ctx, *in.FleetId, h.computeName(*in.FleetId, *in.ComputeName))
}

func (h handlers) describeCompute(_ context.Context, in *gamelift.DescribeComputeInput) (*gamelift.DescribeComputeOutput, error) {
	c, err := h.Computes.Find(h.Store.View(), *in.FleetId, h.computeName(*in.FleetId, *in.ComputeName))
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeComputeOutput{Compute: new(h.computeOut(c))}, nil
}

// computeName returns the name of a compute from its name or ARN, which has the fleet
// before the name.
func (h handlers) computeName(fleetID, s string) string {
	return strings.TrimPrefix(h.Home.ID("compute", s), h.Home.FleetID(fleetID)+"/")
}

func (h handlers) listCompute(ctx context.Context, in *gamelift.ListComputeInput) (*gamelift.ListComputeOutput, error) {
	f := h.Fleets.Get(h.Store.View(), *in.FleetId)
	if f == nil {
		return nil, fault.Invalid("FleetId: fleet %s does not exist", *in.FleetId)
	}
	if in.ContainerGroupDefinitionName != nil && f.Containers == nil {
		return nil, fault.Invalid("ContainerGroupDefinitionName: allowed for container fleets only")
	}
	shown := h.places(ctx)
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*compute.Compute] {
		return filtered(h.Computes.InFleet(h.Store.View(), f.ID, val(in.Location), after), func(c *compute.Compute) bool {
			return (shown == nil || shown(c.Location)) && (in.ComputeStatus == nil || *in.ComputeStatus == h.computeStatus(c)) &&
				(in.ContainerGroupDefinitionName == nil || h.isOf(c, *in.ContainerGroupDefinitionName))
		})
	}, func(c *compute.Compute) string { return c.Name }, "ListCompute", f.ID, val(in.Location), val(in.ComputeStatus), val(in.ContainerGroupDefinitionName))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListComputeOutput{ComputeList: list(page, h.computeOut), NextToken: next}, nil
}

func (h handlers) getComputeAuthToken(_ context.Context, in *gamelift.GetComputeAuthTokenInput) (*gamelift.GetComputeAuthTokenOutput, error) {
	c, err := h.Computes.Find(h.Store.View(), *in.FleetId, h.computeName(*in.FleetId, *in.ComputeName))
	if err != nil {
		return nil, err
	}
	token, expires := h.Computes.IssueToken(c, time.Now())
	return &gamelift.GetComputeAuthTokenOutput{
		FleetId: &c.FleetID, FleetArn: h.fleetARN(c.FleetID), ComputeName: &c.Name, ComputeArn: new(h.Computes.ARN(c)),
		AuthToken: &token, ExpirationTimestamp: gamelift.At(expires),
	}, nil
}

func (h handlers) getComputeAccess(ctx context.Context, in *gamelift.GetComputeAccessInput) (*gamelift.GetComputeAccessOutput, error) {
	c, err := h.Computes.Find(h.Store.View(), *in.FleetId, h.computeName(*in.FleetId, *in.ComputeName))
	if err != nil {
		return nil, err
	}
	i := h.Instances.Instance(h.Store.View(), c.InstanceID)
	if i == nil {
		return nil, fault.Invalid("FleetId: remote access is not offered for ANYWHERE fleets; compute %s is a machine of your own", c.Name)
	}
	t, err := h.access(ctx, i, c)
	if err != nil {
		return nil, err
	}
	var containers []gamelift.ContainerIdentifier
	if _, g := h.groupOf(h.Store.View(), c); g != nil {
		containers = some(g.Containers, func(c instance.Container) gamelift.ContainerIdentifier {
			return gamelift.ContainerIdentifier{ContainerName: &c.Name, ContainerRuntimeId: opt(c.RuntimeID)}
		})
	}
	return &gamelift.GetComputeAccessOutput{
		ContainerIdentifiers: containers,
		FleetId:              &c.FleetID, FleetArn: h.fleetARN(c.FleetID), ComputeName: &c.Name, ComputeArn: new(h.Computes.ARN(c)), Target: &i.ID,
		Credentials: &gamelift.AwsCredentials{AccessKeyId: &t.AccessKeyID, SecretAccessKey: &t.SecretAccessKey, SessionToken: &t.SessionToken},
	}, nil
}

func (h handlers) computeOut(c *compute.Compute) gamelift.Compute {
	at := c.Address.Shown()
	out := gamelift.Compute{
		FleetId: &c.FleetID, FleetArn: h.fleetARN(c.FleetID), ComputeName: &c.Name, ComputeArn: new(h.Computes.ARN(c)),
		IpAddress: &at.IPAddress, DnsName: &at.DNSName, ComputeStatus: new(h.computeStatus(c)),
		Location: &c.Location, CreationTime: gamelift.At(c.Registered), GameLiftServiceSdkEndpoint: &h.GameServerURL,
	}
	if f := h.Fleets.Get(h.Store.View(), c.FleetID); f != nil && f.Managed != nil {
		out.InstanceId, out.Type, out.OperatingSystem = &c.InstanceID, &f.Managed.InstanceType, opt(f.Managed.OS)
		out.ComputeArn = nil // instances have none in AWS
	}
	if _, g := h.groupOf(h.Store.View(), c); g != nil {
		out.ComputeArn = new(h.Computes.ARN(c))
		h.memberGroup(&out, g)
	}
	return out
}

// computeStatus returns the status of the compute's container group or instance; a compute of an ANYWHERE
// fleet is ACTIVE while it is registered.
func (h handlers) computeStatus(c *compute.Compute) string {
	view := h.Store.View()
	i := h.Instances.Instance(view, c.InstanceID)
	_, g := h.groupOf(view, c)
	switch {
	case i == nil:
		return gamelift.ComputeStatusActive
	case g != nil && (i.Status != instance.Active || !h.Instances.Impaired(view, i)):
		return groupStatus(i, g)
	case i.Status == instance.Active && h.Instances.Impaired(view, i):
		return gamelift.ComputeStatusImpaired
	}
	return string(i.Status)
}
