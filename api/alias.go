package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerAliases(srv *awsrpc.Server) {
	on(srv, "CreateAlias", h.createAlias)
	on(srv, "DescribeAlias", h.describeAlias)
	on(srv, "ListAliases", h.listAliases)
	on(srv, "ResolveAlias", h.resolveAlias)
	on(srv, "UpdateAlias", h.updateAlias)
	on(srv, "DeleteAlias", h.deleteAlias)
}

func (h handlers) createAlias(ctx context.Context, in *gamelift.CreateAliasInput) (*gamelift.CreateAliasOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	r := in.RoutingStrategy
	a, err := h.Fleets.Aliases.Create.Do(ctx, fleet.AliasInput{
		Name: *in.Name, Description: val(in.Description),
		Routing: routingType(r), FleetID: val(r.FleetId), Message: val(r.Message), Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateAliasOutput{Alias: new(h.aliasOut(a))}, nil
}

func (h handlers) updateAlias(ctx context.Context, in *gamelift.UpdateAliasInput) (*gamelift.UpdateAliasOutput, error) {
	update := fleet.AliasUpdate{AliasID: *in.AliasId, Name: in.Name, Description: in.Description}
	if r := in.RoutingStrategy; r != nil {
		update.Routing, update.FleetID, update.Message = routingType(r), val(r.FleetId), val(r.Message)
	}
	a, err := h.Fleets.Aliases.Update.Do(ctx, update)
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateAliasOutput{Alias: new(h.aliasOut(a))}, nil
}

// routingType returns the strategy's type; if that is omitted, it follows from the
// other members.
func routingType(r *gamelift.RoutingStrategy) fleet.Routing {
	switch {
	case r.Type != nil:
		return fleet.Routing(*r.Type)
	case r.Message != nil:
		return fleet.Terminal
	}
	return fleet.Simple
}

func (h handlers) describeAlias(_ context.Context, in *gamelift.DescribeAliasInput) (*gamelift.DescribeAliasOutput, error) {
	a, err := h.Fleets.Aliases.Find(h.Store.View(), *in.AliasId)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeAliasOutput{Alias: new(h.aliasOut(a))}, nil
}

func (h handlers) listAliases(ctx context.Context, in *gamelift.ListAliasesInput) (*gamelift.ListAliasesOutput, error) {
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*fleet.Alias] {
		all := reached(ctx, h.Fleets.Aliases.All(h.Store.View(), after), func(a *fleet.Alias) string { return h.Home.OfAlias(a.ID) })
		return filtered(all, func(a *fleet.Alias) bool {
			return (in.Name == nil || a.Name == *in.Name) && (in.RoutingStrategyType == nil || string(a.Routing) == *in.RoutingStrategyType)
		})
	}, func(a *fleet.Alias) string { return a.ID }, "ListAliases", val(in.Name), val(in.RoutingStrategyType))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListAliasesOutput{Aliases: list(page, h.aliasOut), NextToken: next}, nil
}

func (h handlers) resolveAlias(_ context.Context, in *gamelift.ResolveAliasInput) (*gamelift.ResolveAliasOutput, error) {
	f, err := h.Fleets.Aliases.Resolve(h.Store.View(), *in.AliasId)
	if err != nil {
		return nil, err
	}
	return &gamelift.ResolveAliasOutput{FleetId: &f.ID, FleetArn: h.fleetARN(f.ID)}, nil
}

func (h handlers) deleteAlias(ctx context.Context, in *gamelift.DeleteAliasInput) (*gamelift.DeleteAliasOutput, error) {
	return nil, h.Fleets.Aliases.Delete.Do(ctx, *in.AliasId)
}

func (h handlers) aliasOut(a *fleet.Alias) gamelift.Alias {
	return gamelift.Alias{
		AliasId: &a.ID, AliasArn: new(h.Home.OfAlias(a.ID)), Name: &a.Name, Description: opt(a.Description),
		RoutingStrategy: &gamelift.RoutingStrategy{Type: new(string(a.Routing)), FleetId: opt(a.FleetID), Message: opt(a.Message)},
		CreationTime:    gamelift.At(a.Created), LastUpdatedTime: gamelift.At(a.Updated),
	}
}
