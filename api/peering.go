package api

import (
	"context"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

// VPC peering connects AWS's network with a customer's. With self-hosted machines there
// is nothing to connect: creating is refused, and lists are empty.
func (h handlers) registerPeering(srv *awsrpc.Server) {
	on(srv, "CreateVpcPeeringAuthorization", refusePeering[gamelift.CreateVpcPeeringAuthorizationInput, gamelift.CreateVpcPeeringAuthorizationOutput])
	on(srv, "CreateVpcPeeringConnection", refusePeering[gamelift.CreateVpcPeeringConnectionInput, gamelift.CreateVpcPeeringConnectionOutput])
	on(srv, "DeleteVpcPeeringAuthorization", noPeering[gamelift.DeleteVpcPeeringAuthorizationInput, gamelift.DeleteVpcPeeringAuthorizationOutput])
	on(srv, "DeleteVpcPeeringConnection", noPeering[gamelift.DeleteVpcPeeringConnectionInput, gamelift.DeleteVpcPeeringConnectionOutput])
	on(srv, "DescribeVpcPeeringAuthorizations", func(context.Context, *gamelift.DescribeVpcPeeringAuthorizationsInput) (*gamelift.DescribeVpcPeeringAuthorizationsOutput, error) {
		return &gamelift.DescribeVpcPeeringAuthorizationsOutput{VpcPeeringAuthorizations: []gamelift.VpcPeeringAuthorization{}}, nil
	})
	on(srv, "DescribeVpcPeeringConnections", func(_ context.Context, in *gamelift.DescribeVpcPeeringConnectionsInput) (*gamelift.DescribeVpcPeeringConnectionsOutput, error) {
		if in.FleetId != nil {
			if _, err := h.Fleets.Find(h.Store.View(), *in.FleetId); err != nil {
				return nil, err
			}
		}
		return &gamelift.DescribeVpcPeeringConnectionsOutput{VpcPeeringConnections: []gamelift.VpcPeeringConnection{}}, nil
	})
}

func refusePeering[In, Out any](context.Context, *In) (*Out, error) {
	return nil, fault.Invalid("VPC peering is not available: game servers run on machines of your own, in your own network")
}

func noPeering[In, Out any](context.Context, *In) (*Out, error) {
	return nil, fault.Missing("the VPC peering does not exist: game servers run on machines of your own, in your own network")
}
