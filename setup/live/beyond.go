package live

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// Beyond returns a sentence for each resource of an account that is no part of a set-up.
func Beyond(ctx context.Context, api *gamelift.Client) (notes []string, err error) {
	for page := gamelift.NewListScriptsPaginator(api, &gamelift.ListScriptsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range out.Scripts {
			notes = append(notes, fmt.Sprintf("script %s (%s): scripts are stored, and not hosted (docs/migrating.md#scripts)", val(s.Name), val(s.ScriptId)))
		}
	}
	for page := gamelift.NewListGameServerGroupsPaginator(api, &gamelift.ListGameServerGroupsInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range out.GameServerGroups {
			notes = append(notes, fmt.Sprintf("game server group %s: create it yourself, over machines that have joined (docs/fleetiq.md)", val(g.GameServerGroupName)))
		}
	}
	peers, err := api.DescribeVpcPeeringConnections(ctx, &gamelift.DescribeVpcPeeringConnectionsInput{})
	if err != nil {
		return nil, err
	}
	for _, p := range peers.VpcPeeringConnections {
		notes = append(notes, fmt.Sprintf("VPC peering %s: there are no VPCs; the network between your machines is yours", val(p.VpcPeeringConnectionId)))
	}
	return notes, nil
}
