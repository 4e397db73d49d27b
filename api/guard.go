package api

import (
	"context"
	"encoding/base64"
	"iter"
	"reflect"
	"strings"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

// guard wraps a handler: it enforces the caller's scope, based on the resources that
// the request names, and hides the ids of player sessions from callers that may not see
// them.
func (h handlers) guard(operation string, next awsrpc.Handler) awsrpc.Handler {
	return func(ctx context.Context, in any) (any, error) {
		caller, known := awsrpc.Caller(ctx).Identity.(auth.Caller)
		if !known { // the server does not authenticate callers
			return next(ctx, in)
		}
		if caller.Scoped() {
			if err := h.permit(ctx, caller, operation, in); err != nil {
				return nil, err
			}
		}
		if caller.Has(auth.ReadPlayerSessionIDs) == nil {
			return next(ctx, in)
		}
		return h.masked(ctx, next, in)
	}
}

// accountWide are operations that a caller with a scope may never call, even if they
// name a resource in scope: what they create goes beyond it.
var accountWide = map[string]bool{
	"CreateAlias": true, "CreateBuild": true, "CreateContainerFleet": true, "CreateFleet": true, "CreateScript": true,
	"CreateVpcPeeringAuthorization": true, "DeleteVpcPeeringAuthorization": true,
}

// lists are operations that return all resources of a kind if the request names none.
// Their handlers omit those outside of the caller's scope (reached).
var lists = map[string]bool{
	"DescribeEC2InstanceLimits": true, "DescribeFleetAttributes": true, "DescribeFleetCapacity": true, "DescribeFleetUtilization": true,
	"DescribeGameSessionQueues": true, "DescribeMatchmakingConfigurations": true, "DescribeMatchmakingRuleSets": true,
	"DescribePlayerSessions": true, "DescribeVpcPeeringAuthorizations": true, "DescribeVpcPeeringConnections": true,
	"ListAliases": true, "ListBuilds": true, "ListContainerFleets": true, "ListContainerGroupDefinitions": true, "ListFleetDeployments": true,
	"ListFleets": true, "ListGameServerGroups": true, "ListLocations": true, "ListScripts": true,
}

// harmless are operations that neither concern nor reveal any resource.
var harmless = map[string]bool{"ValidateMatchmakingRuleSet": true}

// atHome are operations on a location of a fleet that use its home Region if the
// request names none.
var atHome = map[string]bool{
	"CreateGameSession": true, "StartFleetActions": true, "StopFleetActions": true, "UpdateFleetCapacity": true,
}

// notNames are members, as OPERATION.MEMBER, that name no resource in this operation
// although they do in others: filters of a list, and an idempotency token.
var notNames = map[string]bool{
	"CreateGameSession.GameSessionId": true, "DescribeMatchmakingConfigurations.RuleSetName": true,
	"ListFleets.BuildId": true, "ListFleets.ScriptId": true,
}

// named says, by operation, which kind of resource the members Name and Names name.
var named = map[string]string{
	"CreateGameSessionQueue": "gamesessionqueue", "UpdateGameSessionQueue": "gamesessionqueue",
	"DeleteGameSessionQueue": "gamesessionqueue", "DescribeGameSessionQueues": "gamesessionqueue",
	"CreateMatchmakingConfiguration": "matchmakingconfiguration", "UpdateMatchmakingConfiguration": "matchmakingconfiguration",
	"DeleteMatchmakingConfiguration": "matchmakingconfiguration", "DescribeMatchmakingConfigurations": "matchmakingconfiguration",
	"CreateMatchmakingRuleSet": "matchmakingruleset", "DeleteMatchmakingRuleSet": "matchmakingruleset",
	"DescribeMatchmakingRuleSets": "matchmakingruleset",
}

// permit enforces the scope of a caller that has one: every resource that the request
// names must be in scope, and so must those that its tickets, placements and game
// sessions belong to.
func (h handlers) permit(ctx context.Context, caller auth.Caller, operation string, in any) error {
	action := auth.Action(operation)
	if harmless[operation] {
		return caller.Has(action)
	}
	if accountWide[operation] {
		return caller.May(action)
	}
	n := names{h: h, operation: operation}
	n.read(ctx, reflect.ValueOf(in).Elem())
	if n.err != nil {
		return n.err
	}
	if len(n.resources) == 0 && lists[operation] {
		return caller.Has(action)
	}
	if err := caller.May(action, n.resources...); err != nil {
		return err
	}
	for _, location := range n.locations {
		if !caller.ReachesBeside(location) {
			return caller.May(action, location)
		}
	}
	return nil
}

// names are the resources that a request names.
type names struct {
	h         handlers
	operation string
	resources []string // ARNs
	locations []string // ARNs of locations that the request combines with them
	err       error
}

// scopedMembers has a function for each member of inputs that names resources; it is
// called with each value of the member.
var scopedMembers = map[string]func(n *names, ctx context.Context, value string){
	"FleetId":              func(n *names, _ context.Context, v string) { n.fleet(v) },
	"FleetIds":             func(n *names, _ context.Context, v string) { n.fleet(v) },
	"AliasId":              (*names).alias,
	"BuildId":              func(n *names, _ context.Context, v string) { n.add("build", v) },
	"ScriptId":             func(n *names, _ context.Context, v string) { n.add("script", v) },
	"GameSessionId":        (*names).gameSession,
	"GameSessionArn":       (*names).gameSession,
	"GameSessionQueueName": func(n *names, _ context.Context, v string) { n.add("gamesessionqueue", v) },
	"GameSessionQueueArns": func(n *names, _ context.Context, v string) { n.add("gamesessionqueue", v) },
	"GameServerGroupName":  func(n *names, _ context.Context, v string) { n.add("gameservergroup", v) },
	"ConfigurationName":    func(n *names, _ context.Context, v string) { n.add("matchmakingconfiguration", v) },
	"RuleSetName":          func(n *names, _ context.Context, v string) { n.add("matchmakingruleset", v) },
	"Name":                 (*names).name,
	"Names":                (*names).name,
	"PlacementId":          (*names).placement,
	"TicketId":             (*names).ticket,
	"TicketIds":            (*names).ticket,
	"LocationName":         func(n *names, _ context.Context, v string) { n.add("location", v) },
	"Location":             func(n *names, _ context.Context, v string) { n.beside(v) },
	"Locations":            func(n *names, _ context.Context, v string) { n.beside(v) },
	"Destinations": func(n *names, _ context.Context, v string) {
		if arn.Kind(v) == "alias" {
			n.resources = append(n.resources, n.h.Home.OfAlias(n.h.Home.ID("alias", v)))
			return
		}
		n.fleet(v)
	},
	"ResourceARN":     func(n *names, _ context.Context, v string) { n.resources = append(n.resources, v) },
	"RoutingStrategy": func(n *names, _ context.Context, v string) { n.fleet(v) },
}

// within says, for members in scopedMembers that hold structures, which member of a
// structure has the name.
var within = map[string]string{"Destinations": "DestinationArn", "Locations": "Location", "RoutingStrategy": "FleetId"}

// read collects the names in all members of an input.
func (n *names) read(ctx context.Context, in reflect.Value) {
	for i := range in.NumField() {
		member := in.Type().Field(i).Name
		if name, ok := scopedMembers[member]; ok && !notNames[n.operation+"."+member] {
			for _, v := range texts(in.Field(i), within[member]) {
				name(n, ctx, v)
			}
		}
	}
	n.compute(text(in, "FleetId"), text(in, "ComputeName"), text(in, "InstanceId"))
	n.host(text(in, "GameServerGroupName"), text(in, "InstanceId"))
	n.server(text(in, "GameServerGroupName"), text(in, "GameServerId"))
	if len(n.locations) == 0 && atHome[n.operation] {
		n.beside(n.h.Home.Region)
	}
}

// text returns a member's string, or "" if it is absent.
func text(in reflect.Value, member string) string {
	if f := in.FieldByName(member); f.IsValid() {
		if all := texts(f, ""); len(all) == 1 {
			return all[0]
		}
	}
	return ""
}

// texts returns the strings in a member: its value, its elements, or the member inner
// of the structures in it.
func texts(v reflect.Value, inner string) []string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return texts(v.Elem(), inner)
	case reflect.String:
		return []string{v.String()}
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, texts(v.Index(i), inner)...)
		}
		return all
	case reflect.Struct:
		if f := v.FieldByName(inner); f.IsValid() {
			return texts(f, "")
		}
	}
	return nil
}

// add adds a resource by its id, name or ARN, as the domain reads them.
func (n *names) add(kind, idOrARN string) {
	n.resources = append(n.resources, n.h.Home.Of(kind, n.h.Home.ID(kind, idOrARN)))
}

// fleet adds a fleet by its id or ARN.
func (n *names) fleet(idOrARN string) {
	n.resources = append(n.resources, n.h.Home.OfFleet(n.h.Home.FleetID(idOrARN)))
}

// gameSession adds the fleet of a game session, and its location.
func (n *names) gameSession(_ context.Context, id string) {
	n.fleet(arn.SessionFleet(id))
	n.beside(arn.SessionLocation(id))
}

// compute adds the location of a compute or instance of a fleet, if it exists.
func (n *names) compute(fleetID, name, instanceID string) {
	if fleetID == "" || name == "" && instanceID == "" {
		return
	}
	if name == "" {
		if i := n.h.Instances.Instance(n.h.Store.View(), instanceID); i != nil {
			n.beside(i.Location)
		}
		return
	}
	if c, err := n.h.Computes.Find(n.h.Store.View(), fleetID, n.h.computeName(fleetID, name)); err == nil {
		n.beside(c.Location)
	}
}

// host adds the location of a host as an instance of a game server group, if it exists.
func (n *names) host(group, instanceID string) {
	if group == "" || instanceID == "" {
		return
	}
	if h := n.h.Instances.HostOfInstance(n.h.Store.View(), instanceID); h != nil {
		n.beside(h.Location)
	}
}

// server adds the location of the host of a game server, if the game server exists. One
// whose host is gone is in no location.
func (n *names) server(group, id string) {
	if group == "" || id == "" {
		return
	}
	view := n.h.Store.View()
	if v, err := n.h.FleetIQ.Servers.Find(view, fleetiq.ServerName{Group: group, ID: id}); err == nil {
		n.beside(n.h.FleetIQ.Instances.Location(view, v.InstanceID))
	}
}

func (n *names) name(_ context.Context, v string) {
	if kind := named[n.operation]; kind != "" {
		n.add(kind, v)
	}
}

// beside adds a location that the request combines with another resource.
func (n *names) beside(location string) {
	n.locations = append(n.locations, n.h.Home.Of("location", location))
}

// alias adds an alias if the operation is on aliases, otherwise the fleet that it leads
// to.
func (n *names) alias(_ context.Context, v string) {
	if !strings.HasSuffix(n.operation, "Alias") {
		if f, err := n.h.Fleets.Aliases.Resolve(n.h.Store.View(), v); err == nil {
			n.fleet(f.ID)
			return
		}
	}
	n.resources = append(n.resources, n.h.Home.OfAlias(n.h.Home.ID("alias", v)))
}

// placement adds the queue of a placement. A placement that does not exist, and is not
// about to be started, is added as a resource of its own, which is in no scope.
func (n *names) placement(ctx context.Context, v string) {
	p, _, err := n.h.Placements.Get(ctx, v)
	switch {
	case err == nil:
		n.add("gamesessionqueue", p.Queue)
	case !fault.Is(err, fault.NotFound):
		n.err = err
	case n.operation != "StartGameSessionPlacement":
		n.add("placement", v)
	}
}

// ticket adds the configuration of a ticket, in the same way as placement.
func (n *names) ticket(ctx context.Context, v string) {
	d, err := n.h.Matches.Get(ctx, v)
	switch {
	case err != nil:
		n.err = err
	case d != nil:
		n.add("matchmakingconfiguration", d.Ticket.Configuration)
	case n.operation != "StartMatchmaking" && n.operation != "StartMatchBackfill":
		n.add("matchmakingticket", v)
	}
}

// hiddenID replaces the ids of player sessions.
const hiddenID = "psess-00000000-0000-0000-0000-000000000000"

// masked calls the handler and hides every PlayerSessionId in its output. NextToken can
// contain one, so it is sealed.
func (h handlers) masked(ctx context.Context, next awsrpc.Handler, in any) (any, error) {
	const label = "next page"
	if f := tokenOf(in); f.IsValid() && !f.IsNil() {
		raw, err := base64.RawURLEncoding.DecodeString(f.Elem().String())
		if err == nil {
			var text string
			if text, err = h.Sealer.Open(raw, label); err == nil {
				f.Set(reflect.ValueOf(&text))
			}
		}
		if err != nil {
			return nil, fault.Invalid("NextToken: it does not belong to this caller's requests; leave it out to start anew")
		}
	}
	out, err := next(ctx, in)
	if err != nil {
		return nil, err
	}
	hide(reflect.ValueOf(out))
	if f := tokenOf(out); f.IsValid() && !f.IsNil() {
		sealed := base64.RawURLEncoding.EncodeToString(h.Sealer.Seal(f.Elem().String(), label))
		f.Set(reflect.ValueOf(&sealed))
	}
	return out, nil
}

// tokenOf returns the member NextToken of an input or output.
func tokenOf(v any) reflect.Value { return reflect.ValueOf(v).Elem().FieldByName("NextToken") }

// hide replaces the value of every member PlayerSessionId in v.
func hide(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			hide(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			hide(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "PlayerSessionId" {
				hide(v.Field(i))
			} else if f := v.Field(i); !f.IsNil() {
				hidden := hiddenID
				f.Set(reflect.ValueOf(&hidden))
			}
		}
	}
}

// scoped returns the caller of a request, and reports whether it has a scope.
func scoped(ctx context.Context) (auth.Caller, bool) {
	caller, known := awsrpc.Caller(ctx).Identity.(auth.Caller)
	return caller, known && caller.Scoped()
}

// reached returns the items of a list that are in the caller's scope; resource returns
// the ARN of an item. It must be applied before paging: then pages are full, and
// neither their number nor NextToken reveals that items were omitted.
func reached[T any](ctx context.Context, all iter.Seq[T], resource func(T) string) iter.Seq[T] {
	caller, some := scoped(ctx)
	if !some {
		return all
	}
	return filtered(all, func(item T) bool { return caller.Reaches(resource(item)) })
}

// filtered returns the items for which fits returns true.
func filtered[T any](all iter.Seq[T], fits func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for item := range all {
			if fits(item) && !yield(item) {
				return
			}
		}
	}
}

// places returns a function that reports whether the caller is shown what a fleet in
// its scope has in a location. It returns nil if all locations are shown.
func (h handlers) places(ctx context.Context) func(location string) bool {
	caller, some := scoped(ctx)
	if !some {
		return nil
	}
	return func(location string) bool { return caller.ReachesBeside(h.Home.Of("location", location)) }
}

// games returns a function that reports whether a game session is in the caller's
// scope, by its fleet and its location. It returns nil if all are.
func (h handlers) games(ctx context.Context) func(gameSessionID string) bool {
	caller, some := scoped(ctx)
	if !some {
		return nil
	}
	places := h.places(ctx)
	return func(id string) bool {
		return caller.Reaches(h.Home.OfFleet(arn.SessionFleet(id))) && places(arn.SessionLocation(id))
	}
}
