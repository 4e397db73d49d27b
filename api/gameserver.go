package api

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerGameServers(srv *awsrpc.Server) {
	on(srv, "RegisterGameServer", h.registerGameServer)
	on(srv, "UpdateGameServer", h.updateGameServer)
	on(srv, "DeregisterGameServer", h.deregisterGameServer)
	on(srv, "DescribeGameServer", h.describeGameServer)
	on(srv, "ListGameServers", h.listGameServers)
	on(srv, "ClaimGameServer", h.claimGameServer)
}

func (h handlers) registerGameServer(ctx context.Context, in *gamelift.RegisterGameServerInput) (*gamelift.RegisterGameServerOutput, error) {
	v, err := h.FleetIQ.Servers.Register.Do(ctx, fleetiq.RegisterInput{
		ServerName: fleetiq.ServerName{Group: *in.GameServerGroupName, ID: *in.GameServerId},
		InstanceID: *in.InstanceId, Connection: val(in.ConnectionInfo), Data: val(in.GameServerData),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.RegisterGameServerOutput{GameServer: h.gameServerOut(v)}, nil
}

func (h handlers) updateGameServer(ctx context.Context, in *gamelift.UpdateGameServerInput) (*gamelift.UpdateGameServerOutput, error) {
	v, err := h.FleetIQ.Servers.Update.Do(ctx, fleetiq.ServerUpdate{
		ServerName: fleetiq.ServerName{Group: *in.GameServerGroupName, ID: *in.GameServerId},
		Data:       in.GameServerData, Utilization: as[fleetiq.Utilization](in.UtilizationStatus), Healthy: in.HealthCheck != nil,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateGameServerOutput{GameServer: h.gameServerOut(v)}, nil
}

func (h handlers) deregisterGameServer(ctx context.Context, in *gamelift.DeregisterGameServerInput) (*gamelift.DeregisterGameServerOutput, error) {
	return nil, h.FleetIQ.Servers.Deregister.Do(ctx, fleetiq.ServerName{Group: *in.GameServerGroupName, ID: *in.GameServerId})
}

func (h handlers) describeGameServer(_ context.Context, in *gamelift.DescribeGameServerInput) (*gamelift.DescribeGameServerOutput, error) {
	v, err := h.FleetIQ.Servers.Find(h.Store.View(), fleetiq.ServerName{Group: *in.GameServerGroupName, ID: *in.GameServerId})
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeGameServerOutput{GameServer: h.gameServerOut(v)}, nil
}

func (h handlers) listGameServers(ctx context.Context, in *gamelift.ListGameServersInput) (*gamelift.ListGameServersOutput, error) {
	view := h.Store.View()
	g, err := h.FleetIQ.Groups.Find(view, *in.GameServerGroupName)
	if err != nil {
		return nil, err
	}
	shown := h.places(ctx)
	newestFirst := val(in.SortOrder) == "DESCENDING"
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*fleetiq.GameServer] {
		return filtered(h.FleetIQ.Servers.Of(view, g.Name, newestFirst, after), func(v *fleetiq.GameServer) bool {
			return shown == nil || shown(h.FleetIQ.Instances.Location(view, v.InstanceID))
		})
	}, func(v *fleetiq.GameServer) string { return v.Position(newestFirst) }, "ListGameServers", g.Name, val(in.SortOrder))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListGameServersOutput{
		GameServers: list(page, func(v *fleetiq.GameServer) gamelift.GameServer { return *h.gameServerOut(v) }), NextToken: next,
	}, nil
}

func (h handlers) claimGameServer(ctx context.Context, in *gamelift.ClaimGameServerInput) (*gamelift.ClaimGameServerOutput, error) {
	claim := fleetiq.ClaimInput{Group: *in.GameServerGroupName, ID: val(in.GameServerId), Data: val(in.GameServerData)}
	if in.FilterOption != nil && in.FilterOption.InstanceStatuses != nil {
		claim.Statuses = list(in.FilterOption.InstanceStatuses, func(s string) fleetiq.InstanceStatus { return fleetiq.InstanceStatus(s) })
	}
	if shown := h.places(ctx); shown != nil {
		claim.Locations = slices.AppendSeq([]string{}, filtered(slices.Values(h.locationNames(nil, "")), shown)) // not nil, which allows all
	}
	v, err := h.FleetIQ.Servers.Claim.Do(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &gamelift.ClaimGameServerOutput{GameServer: h.gameServerOut(v)}, nil
}

func (h handlers) gameServerOut(v *fleetiq.GameServer) *gamelift.GameServer {
	out := &gamelift.GameServer{
		GameServerGroupName: &v.Group, GameServerGroupArn: new(h.FleetIQ.Groups.ARN(v.Group)), GameServerId: &v.ID, InstanceId: &v.InstanceID,
		ConnectionInfo: opt(v.Connection), GameServerData: opt(v.Data), UtilizationStatus: new(string(v.Utilization)),
		RegistrationTime: gamelift.At(v.Registered), LastClaimTime: gamelift.MaybeAt(v.LastClaim), LastHealthCheckTime: gamelift.At(v.LastHealthCheck),
	}
	if v.IsClaimed(time.Now()) {
		out.ClaimStatus = new("CLAIMED")
	}
	return out
}
