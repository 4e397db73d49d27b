package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
)

// begin creates a fleet of either kind, without waiting for it.
func (m *maker) begin(ctx context.Context, a setup.Action) error {
	m.tell("%s %s: creating", a.Kind, a.Name)
	if a.Kind == setup.FleetKind {
		return m.createFleet(ctx, a.Name, a.Name, m.want.Fleets[a.Name])
	}
	w := m.want.ContainerFleets[a.Name]
	given := begun(len(w.Tags)+1, w.Placement()) // and NameTag
	out, err := m.API.CreateContainerFleet(ctx, &gamelift.CreateContainerFleetInput{
		FleetRoleArn: w.FleetRoleArn, BillingType: w.BillingType, Description: w.Description, GameServerContainerGroupDefinitionName: some(w.GameServerContainerGroupDefinition),
		PerInstanceContainerGroupDefinitionName: some(w.PerInstanceContainerGroupDefinition), GameServerContainerGroupsPerInstance: w.GameServerContainerGroupsPerInstance,
		GameSessionCreationLimitPolicy: w.GameSessionCreationLimitPolicy, InstanceConnectionPortRange: w.InstanceConnectionPortRange, InstanceInboundPermissions: w.InstanceInboundPermissions,
		InstanceType: w.InstanceType, Locations: placesOf(w.Locations), LogConfiguration: w.LogConfiguration, MetricGroups: w.MetricGroups,
		NewGameSessionProtectionPolicy: w.NewGameSessionProtectionPolicy, PlayerGatewayMode: w.PlayerGatewayMode, Tags: append(tagsOf(w.Tags, setup.NameTag, a.Name), tagsOf(given.Tags())...),
	}, once)
	if err == nil {
		m.containerFleets[a.Name] = *out.ContainerFleet
		m.given[*out.ContainerFleet.FleetId] = given
		m.is(a.Kind, a.Name, *out.ContainerFleet.FleetArn)
	}
	return err
}

// createFleet creates a fleet of a build, or an Anywhere fleet, under a key and a name.
func (m *maker) createFleet(ctx context.Context, key, name string, w *setup.Fleet) error {
	in := &gamelift.CreateFleetInput{
		Name: &name, AnywhereConfiguration: w.AnywhereConfiguration, CertificateConfiguration: w.CertificateConfiguration, ComputeType: w.ComputeType, Description: w.Description,
		EC2InboundPermissions: w.EC2InboundPermissions, EC2InstanceType: w.EC2InstanceType, FleetType: w.FleetType, InstanceRoleArn: w.InstanceRoleArn,
		InstanceRoleCredentialsProvider: w.InstanceRoleCredentialsProvider, Locations: placesOf(w.Locations), MetricGroups: w.MetricGroups,
		NewGameSessionProtectionPolicy: w.NewGameSessionProtectionPolicy, PlayerGatewayMode: w.PlayerGatewayMode, ResourceCreationLimitPolicy: w.ResourceCreationLimitPolicy,
		RuntimeConfiguration: w.RuntimeConfiguration,
	}
	given := begun(len(w.Tags), w.Placement())
	in.Tags = append(tagsOf(w.Tags), tagsOf(given.Tags())...)
	if w.Build != "" {
		b, ok := m.builds[w.Build]
		if !ok {
			return fmt.Errorf("there is no build %s", w.Build)
		}
		in.BuildId = b.BuildId
	}
	out, err := m.API.CreateFleet(ctx, in, once)
	if err != nil {
		return err
	}
	m.fleets[key] = *out.FleetAttributes
	m.given[*out.FleetAttributes.FleetId] = given
	m.is(setup.FleetKind, key, *out.FleetAttributes.FleetArn)
	return nil
}

// mostTags is how many tags a resource may have.
const mostTags = 50

// begun returns what a new fleet with so many other tags is told of its capacity, which can be set
// once it is ACTIVE: where it is to have no instances then. These locations become ACTIVE without a
// host as soon as another one is, and no event asks for a host there.
func begun(tags int, p setup.Placement) setup.Given {
	given := p.Unused()
	if tags+len(given) > mostTags {
		return setup.Given{}
	}
	return given
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// placesOf returns locations as the API takes them.
func placesOf(all map[string]*setup.Capacity) (out []types.LocationConfiguration) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, types.LocationConfiguration{Location: &name})
	}
	return out
}

// fleet waits for a fleet, and makes it as the file describes it.
func (m *maker) fleet(ctx context.Context, a setup.Action) error {
	switch {
	case a.Kind == setup.ContainerFleetKind:
		return m.shapeContainerFleet(ctx, a.Name)
	case a.Op == setup.Replace:
		return (&rollout{m}).roll(ctx, a.Name)
	}
	w := m.want.Fleets[a.Name]
	given := setup.GivenBy(w.Placement())
	if m.deployed != nil {
		given = m.deployed.given
	}
	return m.shapeFleet(ctx, a.Name, w, given)
}

// shapeFleet waits until a fleet is ACTIVE, and changes what is not as it is to be. given is what
// of its capacity is the file's.
func (m *maker) shapeFleet(ctx context.Context, key string, w *setup.Fleet, given setup.Given) error {
	id := *m.fleets[key].FleetId
	var fails func(context.Context) error
	if m.rolling != nil || setup.Former(key) { // it is deployed
		fails = (&crashing{Server: m.Server, id: id}).look
	}
	if err := m.active(ctx, setup.FleetKind, key, id, m.unused(w.Placement()), fails); err != nil {
		return err
	}
	h, err := m.described(ctx, id)
	if err != nil {
		return err
	}
	changes := setup.Differences(setup.FleetKind, w, h)
	if err := m.shapeMembers(ctx, id, w, h, changes); err != nil {
		return err
	}
	f := identity{key, id, m.arns[setup.FleetKind][key]}
	if err := m.shapePlaces(ctx, f, w.Placement(), h.Placement(), w.ComputeType == types.ComputeTypeAnywhere); err != nil {
		return err
	}
	if w.ComputeType != types.ComputeTypeAnywhere {
		if err := m.note(ctx, f, given); err != nil {
			return err
		}
	}
	return m.retag(ctx, f.arn, w.Tags, changes)
}

// shapeMembers makes what a fleet has in every location as it is to be: its attributes, ports and
// runtime configuration.
func (m *maker) shapeMembers(ctx context.Context, id string, w, h *setup.Fleet, changes []setup.Change) error {
	if touched(changes, "Description", "NewGameSessionProtectionPolicy", "ResourceCreationLimitPolicy", "MetricGroups", "AnywhereConfiguration") {
		_, err := m.API.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{
			FleetId: &id, Description: w.Description, NewGameSessionProtectionPolicy: w.NewGameSessionProtectionPolicy, ResourceCreationLimitPolicy: w.ResourceCreationLimitPolicy,
			MetricGroups: w.MetricGroups, AnywhereConfiguration: w.AnywhereConfiguration,
		})
		if err != nil {
			return err
		}
	}
	if touched(changes, "EC2InboundPermissions") {
		open, shut := permissions(w.EC2InboundPermissions, h.EC2InboundPermissions)
		_, err := m.API.UpdateFleetPortSettings(ctx, &gamelift.UpdateFleetPortSettingsInput{FleetId: &id, InboundPermissionAuthorizations: open, InboundPermissionRevocations: shut})
		if err != nil {
			return err
		}
	}
	if touched(changes, "RuntimeConfiguration") {
		config := *w.RuntimeConfiguration
		if h := h.RuntimeConfiguration; h != nil {
			config.GameSessionActivationTimeoutSeconds = cmp.Or(config.GameSessionActivationTimeoutSeconds, h.GameSessionActivationTimeoutSeconds)
			config.MaxConcurrentGameSessionActivations = cmp.Or(config.MaxConcurrentGameSessionActivations, h.MaxConcurrentGameSessionActivations)
			if config.ServerProcesses == nil {
				config.ServerProcesses = h.ServerProcesses
			}
		}
		if _, err := m.API.UpdateRuntimeConfiguration(ctx, &gamelift.UpdateRuntimeConfigurationInput{FleetId: &id, RuntimeConfiguration: &config}); err != nil {
			return err
		}
	}
	return nil
}

// described reads one fleet anew.
func (m *maker) described(ctx context.Context, id string) (*setup.Fleet, error) {
	out, err := m.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{id}})
	if err != nil {
		return nil, err
	}
	if len(out.FleetAttributes) != 1 {
		return nil, fmt.Errorf("fleet %s is not there any more", id)
	}
	return (&reader{State: m.State, api: m.API}).fleet(ctx, &out.FleetAttributes[0])
}

// touched reports whether a change is of one of the members.
func touched(changes []setup.Change, members ...string) bool {
	return slices.ContainsFunc(changes, func(c setup.Change) bool {
		member, _, _ := strings.Cut(c.Member, ".")
		return slices.Contains(members, member)
	})
}

// permissions returns which permissions to open and which to shut, so that have becomes want.
func permissions(want, have []types.IpPermission) (open, shut []types.IpPermission) {
	key := func(p types.IpPermission) string {
		return fmt.Sprint(val(p.FromPort), val(p.ToPort), val(p.IpRange), p.Protocol)
	}
	in := func(all []types.IpPermission, p types.IpPermission) bool {
		return slices.ContainsFunc(all, func(o types.IpPermission) bool { return key(o) == key(p) })
	}
	for _, p := range want {
		if !in(have, p) {
			open = append(open, p)
		}
	}
	for _, p := range have {
		if !in(want, p) {
			shut = append(shut, p)
		}
	}
	return open, shut
}

// identity is what a fleet of either kind is called in the file, and at the server.
type identity struct{ key, id, arn string }

// shapePlaces makes the locations, capacities and scaling policies of a fleet of either kind as
// they are to be.
func (m *maker) shapePlaces(ctx context.Context, f identity, w, h setup.Placement, anywhere bool) error {
	if err := m.shapeLocations(ctx, f, w.Locations, h.Locations); err != nil || anywhere {
		return err
	}
	scaled := setup.Scaled(w.ScalingPolicies, h.ScalingPolicies)
	if err := m.size(ctx, f.id, "", w.HomeRegion, h.HomeRegion, scaled); err != nil {
		return err
	}
	if err := m.sizeOthers(ctx, f.key, f.id, w.Locations, h.Locations, scaled); err != nil {
		return err
	}
	return m.shapePolicies(ctx, f.id, w.ScalingPolicies, h.ScalingPolicies)
}

// shapeLocations adds locations to a fleet, and removes those that it is not to have any more;
// w is nil if all stay.
func (m *maker) shapeLocations(ctx context.Context, f identity, w, h map[string]*setup.Capacity) error {
	if w == nil {
		return nil
	}
	id := f.id
	add, drop := map[string]*setup.Capacity{}, []string(nil)
	for name, c := range w {
		if h[name] == nil {
			add[name] = c
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if w[name] != nil {
			continue
		}
		n, err := m.sessions(ctx, id, name)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("it has %s in %s, which would end with that location: let queues place none there, and run the command again when they have ended", plain.Count(n, "game session"), name)
		}
		drop = append(drop, name)
	}
	if len(add) > 0 {
		if err := m.announce(ctx, f, add); err != nil {
			return err
		}
		if _, err := m.API.CreateFleetLocations(ctx, &gamelift.CreateFleetLocationsInput{FleetId: &id, Locations: placesOf(add)}); err != nil {
			return err
		}
	}
	if len(drop) > 0 {
		if _, err := m.API.DeleteFleetLocations(ctx, &gamelift.DeleteFleetLocationsInput{FleetId: &id, Locations: drop}); err != nil {
			return err
		}
	}
	return nil
}

// announce tells an ACTIVE fleet in which of the locations that it gets it is to have no instances: these
// become ACTIVE without a host.
func (m *maker) announce(ctx context.Context, f identity, add map[string]*setup.Capacity) error {
	given := setup.Given{}
	maps.Copy(given, m.given[f.id])
	maps.Copy(given, setup.Placement{Locations: add}.Unused())
	return m.note(ctx, f, given)
}

// shapePolicies makes the scaling policies of a fleet as they are to be; w is nil if all stay.
func (m *maker) shapePolicies(ctx context.Context, id string, w, h map[string]*setup.ScalingPolicy) error {
	for _, name := range slices.Sorted(maps.Keys(w)) {
		p := w[name]
		if h := h[name]; h != nil && len(setup.Differences("", p, h)) == 0 {
			continue
		}
		_, err := m.API.PutScalingPolicy(ctx, &gamelift.PutScalingPolicyInput{
			FleetId: &id, Name: &name, PolicyType: p.PolicyType, MetricName: p.MetricName, TargetConfiguration: p.TargetConfiguration, ComparisonOperator: p.ComparisonOperator,
			Threshold: p.Threshold, EvaluationPeriods: p.EvaluationPeriods, ScalingAdjustment: p.ScalingAdjustment, ScalingAdjustmentType: p.ScalingAdjustmentType,
		})
		if err != nil {
			return fmt.Errorf("scaling policy %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if w != nil && w[name] == nil {
			if _, err := m.API.DeleteScalingPolicy(ctx, &gamelift.DeleteScalingPolicyInput{FleetId: &id, Name: &name}); err != nil && !missing(err) {
				return err
			}
		}
	}
	return nil
}

// resized returns the capacity that a location is to have, and what of it is different from h, which
// is nil if the location is new. If the fleet is scaled, its policies decide on the desired instances
// as far as the limits allow.
func resized(w, h *setup.Capacity, scaled bool) (want setup.Capacity, changes []setup.Change) {
	if h == nil {
		h = &setup.Capacity{}
	}
	want = *w
	if scaled {
		if want.DesiredInstances = setup.ScaledWithin(w, h); want.DesiredInstances == h.DesiredInstances {
			want.DesiredInstances = nil // left to the policies, which may just have changed it
		}
	}
	if h.MinSize != nil && (w.FromZero() || w.ManagedCapacityConfiguration == nil && h.FromZero()) {
		want.MinSize = nil // the server sets it
	}
	return want, setup.Differences("", &want, h)
}

// size sets the capacity of an ACTIVE location of a fleet; "" is the home region, which may be
// starting in an ACTIVE fleet.
func (m *maker) size(ctx context.Context, id, location string, w, h *setup.Capacity, scaled bool) error {
	if w == nil {
		return nil
	}
	want, changes := resized(w, h, scaled)
	if touched(changes, "MinSize", "MaxSize", "DesiredInstances", "ManagedCapacityConfiguration") {
		_, err := m.API.UpdateFleetCapacity(ctx, &gamelift.UpdateFleetCapacityInput{
			FleetId: &id, Location: some(location), MinSize: want.MinSize, MaxSize: want.MaxSize, DesiredInstances: want.DesiredInstances, ManagedCapacityConfiguration: want.ManagedCapacityConfiguration,
		})
		if err != nil {
			return fmt.Errorf("capacity of %s: %w", cmp.Or(location, "the home region"), err)
		}
	}
	if touched(changes, "StoppedActions") {
		return m.stop(ctx, id, location, w.StoppedActions, val(h).StoppedActions)
	}
	return nil
}

// stop stops and starts actions of a location.
func (m *maker) stop(ctx context.Context, id, location string, w, h []types.FleetAction) error {
	for _, action := range types.FleetAction("").Values() {
		stop, stopped := slices.Contains(w, action), slices.Contains(h, action)
		var err error
		switch {
		case stop && !stopped:
			_, err = m.API.StopFleetActions(ctx, &gamelift.StopFleetActionsInput{FleetId: &id, Location: some(location), Actions: []types.FleetAction{action}})
		case !stop && stopped:
			_, err = m.API.StartFleetActions(ctx, &gamelift.StartFleetActionsInput{FleetId: &id, Location: some(location), Actions: []types.FleetAction{action}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sizeOthers sets the capacities of the locations of a fleet besides its home region, each as soon
// as it is ACTIVE: before that its capacity is fixed.
func (m *maker) sizeOthers(ctx context.Context, key, id string, w, h map[string]*setup.Capacity, scaled bool) error {
	var pending []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if w[name] == nil {
			continue
		}
		if _, changes := resized(w[name], h[name], scaled); len(changes) > 0 {
			pending = append(pending, name)
		}
	}
	if pending == nil {
		return nil
	}
	return m.wait(ctx, "fleet "+key, func(ctx context.Context) (bool, string, error) {
		statuses, err := m.statuses(ctx, id)
		if err != nil {
			return false, "", err
		}
		var rest []string
		for _, name := range pending {
			if statuses[name] == types.FleetStatusActive {
				if err := m.size(ctx, id, name, w[name], h[name], scaled); err != nil {
					return false, "", err
				}
				continue
			}
			if statuses[name] == types.FleetStatusError {
				_, _, err := m.look(ctx, id, types.FleetStatusError, nil)
				return false, "", fmt.Errorf("location %s %w", name, err)
			}
			rest = append(rest, name)
		}
		if pending = rest; len(rest) == 0 {
			return true, "", nil
		}
		others := []string{m.Region}
		for _, name := range slices.Sorted(maps.Keys(statuses)) {
			if !slices.Contains(rest, name) {
				others = append(others, name)
			}
		}
		news := "waiting for " + strings.Join(rest, ", ") + " to be ACTIVE"
		if why, _ := m.reasons(ctx, id, others); why != "" {
			news += " (" + why + ")"
		}
		return false, news, nil
	})
}

// deleteFleet deletes a fleet that has no game sessions.
func (m *maker) deleteFleet(ctx context.Context, id string) error {
	err := m.unoccupied(ctx, id)
	if err == nil {
		_, err = m.API.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: &id})
	}
	if missing(err) {
		return nil
	}
	return err
}

// unoccupied returns an error if a fleet has game sessions.
func (m *maker) unoccupied(ctx context.Context, id string) error {
	n, err := m.sessions(ctx, id, "")
	if err == nil && n > 0 {
		return fmt.Errorf("it has %s, which would end with it: let nothing lead to it, and run the command again when they have ended", plain.Count(n, "game session"))
	}
	return err
}

// sessions returns how many game sessions of a fleet have not ended; location is "" for all.
func (m *Server) sessions(ctx context.Context, id, location string) (n int, err error) {
	seen := map[string]bool{} // one may change its status between two requests
	for _, status := range []string{"ACTIVATING", "ACTIVE", "TERMINATING"} {
		for page := gamelift.NewDescribeGameSessionsPaginator(m.API, &gamelift.DescribeGameSessionsInput{FleetId: &id, Location: some(location), StatusFilter: &status}); page.HasMorePages(); {
			out, err := page.NextPage(ctx)
			if err != nil {
				return 0, err
			}
			for _, g := range out.GameSessions {
				seen[*g.GameSessionId] = true
			}
		}
	}
	return len(seen), nil
}
