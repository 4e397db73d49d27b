package api

import (
	"context"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

// There are no container fleets and no game server groups in this version. What
// lists them finds none, and what describes or deletes one does not find it, so
// that inventories are complete and what is left of a resource elsewhere can be
// let go. All other operations on them are refused.
func registerUnserved(srv *awsrpc.Server) {
	none[gamelift.ListContainerFleetsInput](srv, "ListContainerFleets", gamelift.ListContainerFleetsOutput{ContainerFleets: []gamelift.ContainerFleet{}})
	none[gamelift.ListContainerGroupDefinitionsInput](srv, "ListContainerGroupDefinitions", gamelift.ListContainerGroupDefinitionsOutput{ContainerGroupDefinitions: []gamelift.ContainerGroupDefinition{}})
	none[gamelift.ListContainerGroupDefinitionVersionsInput](srv, "ListContainerGroupDefinitionVersions", gamelift.ListContainerGroupDefinitionVersionsOutput{ContainerGroupDefinitions: []gamelift.ContainerGroupDefinition{}})
	none[gamelift.ListFleetDeploymentsInput](srv, "ListFleetDeployments", gamelift.ListFleetDeploymentsOutput{FleetDeployments: []gamelift.FleetDeployment{}})
	none[gamelift.ListGameServerGroupsInput](srv, "ListGameServerGroups", gamelift.ListGameServerGroupsOutput{GameServerGroups: []gamelift.GameServerGroup{}})
	none[gamelift.ListGameServersInput](srv, "ListGameServers", gamelift.ListGameServersOutput{GameServers: []gamelift.GameServer{}})

	const containers, groups = "container fleets and container groups", "game server groups and their game servers"
	missing[gamelift.DescribeContainerFleetInput, gamelift.DescribeContainerFleetOutput](srv, "DescribeContainerFleet", containers)
	missing[gamelift.DescribeContainerGroupDefinitionInput, gamelift.DescribeContainerGroupDefinitionOutput](srv, "DescribeContainerGroupDefinition", containers)
	missing[gamelift.DescribeContainerGroupPortMappingsInput, gamelift.DescribeContainerGroupPortMappingsOutput](srv, "DescribeContainerGroupPortMappings", containers)
	missing[gamelift.DescribeFleetDeploymentInput, gamelift.DescribeFleetDeploymentOutput](srv, "DescribeFleetDeployment", containers)
	missing[gamelift.DeleteContainerFleetInput, gamelift.DeleteContainerFleetOutput](srv, "DeleteContainerFleet", containers)
	missing[gamelift.DeleteContainerGroupDefinitionInput, gamelift.DeleteContainerGroupDefinitionOutput](srv, "DeleteContainerGroupDefinition", containers)
	missing[gamelift.DescribeGameServerInput, gamelift.DescribeGameServerOutput](srv, "DescribeGameServer", groups)
	missing[gamelift.DescribeGameServerGroupInput, gamelift.DescribeGameServerGroupOutput](srv, "DescribeGameServerGroup", groups)
	missing[gamelift.DescribeGameServerInstancesInput, gamelift.DescribeGameServerInstancesOutput](srv, "DescribeGameServerInstances", groups)
	missing[gamelift.DeleteGameServerGroupInput, gamelift.DeleteGameServerGroupOutput](srv, "DeleteGameServerGroup", groups)
	missing[gamelift.DeregisterGameServerInput, gamelift.DeregisterGameServerOutput](srv, "DeregisterGameServer", groups)
}

// none registers an operation that lists nothing.
func none[In, Out any](srv *awsrpc.Server, operation string, out Out) {
	awsrpc.Empty(srv, operation, func(context.Context, *In) (*Out, error) { return &out, nil })
}

// missing registers an operation on one resource, which does not exist.
func missing[In, Out any](srv *awsrpc.Server, operation, what string) {
	awsrpc.Empty(srv, operation, func(context.Context, *In) (*Out, error) {
		return nil, fault.Missing("it does not exist: %s are not available in this version of Muster", what)
	})
}
