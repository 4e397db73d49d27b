package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/setup"
)

// rollout puts one fleet in the place of another.
//
// A fleet's build cannot be changed. Another fleet takes its place instead: it is created beside
// it (NextName), and becomes ACTIVE; then aliases and queues lead to it, and both change their
// names. The former one (PreviousName) is emptied, and stays without instances for a rollback.
// The names say how far it has come, so each step can be repeated after an interruption.
type rollout struct{ *maker }

// roll gives the place of a fleet to a new one, as the file describes it.
func (m *rollout) roll(ctx context.Context, key string) error {
	if _, _, err := m.next(ctx, key, 1); err != nil {
		return err
	}
	if err := m.promote(ctx, key, setup.NextName(key)); err != nil {
		return err
	}
	return m.drain(ctx, setup.PreviousName(key))
}

// next creates the fleet that is to take the place of another, with a share of its instances,
// and waits until they are ACTIVE. It returns how many instances it has, and of how many.
func (m *rollout) next(ctx context.Context, key string, share float64) (instances, of int, err error) {
	next, w := setup.NextName(key), m.want.Fleets[key]
	if why := m.unfit(key, next); why != "" {
		m.tell("fleet %s: %s; deleting it", next, why)
		if err := m.takeOut(ctx, key, func(context.Context) error { return nil }); err != nil {
			return 0, 0, err
		}
		m.rolling.reach(untouched)
	}
	copied := completed(*w, m.Setup.Fleets[key])
	given, of, err := m.share(ctx, key, &copied, share)
	if err != nil {
		return 0, 0, err
	}
	// Policies would take its instances away while it has no game sessions.
	policies := copied.ScalingPolicies
	copied.ScalingPolicies = map[string]*setup.ScalingPolicy{}
	if _, ok := m.fleets[next]; !ok {
		m.tell("fleet %s: creating", next)
		if err := m.createFleet(ctx, next, next, &copied); err != nil {
			return 0, 0, err
		}
		m.rolling.reach(beside)
	}
	if err := m.shapeFleet(ctx, next, &copied, given); err != nil {
		return 0, 0, err
	}
	id := *m.fleets[next].FleetId
	if instances, err = m.filled(ctx, next, id); err != nil || share < 1 { // a share stays as it is
		return instances, of, err
	}
	return instances, of, m.shapePolicies(ctx, id, policies, nil)
}

// share sets the capacities of the fleet w that is to take the place of another, for a share of
// its instances. It returns what of them is the file's, and how many instances the other has.
func (m *rollout) share(ctx context.Context, key string, w *setup.Fleet, share float64) (given setup.Given, of int, err error) {
	given = setup.GivenBy(m.want.Fleets[key].Placement())
	current, ok := m.fleets[key]
	var now *setup.Fleet
	if ok {
		if now, err = m.placed(ctx, current); err != nil {
			return nil, 0, err
		}
	}
	if m.deployed != nil {
		if ok {
			if err := m.keep(ctx, current, now); err != nil {
				return nil, 0, err
			}
		}
		given = m.deployed.given
		w.HomeRegion, w.Locations = m.deployed.kept.HomeRegion, m.deployed.kept.Locations
	}
	if !ok {
		return given, 0, nil
	}
	scaled := m.deployed == nil && setup.Scaled(m.want.Fleets[key].ScalingPolicies, now.ScalingPolicies)
	w.HomeRegion = sized(w.HomeRegion, now.HomeRegion, share, scaled)
	named := w.Locations
	w.Locations = map[string]*setup.Capacity{}
	for name, c := range named {
		w.Locations[name] = sized(c, now.Locations[name], share, scaled)
	}
	of = int(val(val(now.HomeRegion).DesiredInstances))
	for _, c := range now.Locations {
		of += int(val(c.DesiredInstances))
	}
	return given, of, nil
}

// placed returns the capacities and the scaling policies that a fleet has.
func (m *rollout) placed(ctx context.Context, f types.FleetAttributes) (*setup.Fleet, error) {
	r := &reader{State: m.State, api: m.API}
	home, others, err := r.places(ctx, *f.FleetId, f.StoppedActions, false)
	if err != nil {
		return nil, err
	}
	policies, err := r.policies(ctx, *f.FleetId)
	return &setup.Fleet{HomeRegion: home, Locations: others, ScalingPolicies: policies}, err
}

// completed returns a fleet with the members that are left out as they are now: a fleet that
// takes the place of another keeps them.
func completed(f setup.Fleet, now *setup.Fleet) setup.Fleet {
	if now == nil {
		return f
	}
	to, from := reflect.ValueOf(&f).Elem(), reflect.ValueOf(now).Elem()
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return f
}

// unfit returns why a fleet that was begun cannot become what the file describes, "" if it can or none
// was begun.
func (m *rollout) unfit(key, next string) string {
	w := *m.want.Fleets[key]
	f, begun := m.fleets[next]
	b, built := m.builds[w.Build]
	h := m.Setup.Fleets[next]
	switch {
	case !begun:
		return ""
	case f.Status == types.FleetStatusError:
		return "is in status ERROR"
	case !built || val(b.BuildId) != val(f.BuildId):
		return "is of another build"
	case h == nil: // created since the state was read
		return ""
	}
	w.Build = h.Build
	for _, c := range setup.Differences(setup.FleetKind, &w, h) {
		if setup.Fixed(setup.FleetKind, c.Member) {
			return "has another " + c.Member
		}
	}
	return ""
}

// sized returns the capacity of a location for a share of what is there now: w, and what that
// leaves out as it is. If the fleet is scaled, it desires as many instances as now, as far as the
// limits allow.
func sized(w, now *setup.Capacity, share float64, scaled bool) *setup.Capacity {
	out := setup.Capacity{}
	if w != nil {
		out = *w
	}
	if now == nil || now.DesiredInstances == nil {
		return &out
	}
	out.ManagedCapacityConfiguration = cmp.Or(out.ManagedCapacityConfiguration, now.ManagedCapacityConfiguration)
	if out.StoppedActions == nil {
		out.StoppedActions = now.StoppedActions
	}
	low, high := val(cmp.Or(out.MinSize, now.MinSize)), val(cmp.Or(out.MaxSize, now.MaxSize))
	if out.FromZero() {
		low = 0 // the server sets it
	}
	desired := max(low, min(high, *now.DesiredInstances))
	if out.DesiredInstances != nil && !scaled {
		desired = *out.DesiredInstances
	}
	if share < 1 {
		part := func(n int32) int32 { return int32(math.Ceil(float64(n) * share)) }
		low, desired = 0, part(desired)
		if high = part(high); !out.FromZero() {
			high = desired
		}
	}
	out.MinSize, out.MaxSize, out.DesiredInstances = &low, &high, &desired
	return &out
}

// filled waits until all instances of a fleet are ACTIVE, and returns their number.
func (m *rollout) filled(ctx context.Context, key, id string) (total int, err error) {
	r := &reader{State: m.State, api: m.API}
	err = m.wait(ctx, "fleet "+key, func(ctx context.Context) (bool, string, error) {
		_, others, err := r.places(ctx, id, nil, false)
		if err != nil {
			return false, "", err
		}
		all, err := m.capacities(ctx, id, others)
		if err != nil {
			return false, "", err
		}
		active, desired := counted(all)
		total = desired
		if active >= desired {
			return true, "", nil
		}
		news := fmt.Sprintf("ACTIVE instances: %d of %d", active, desired)
		if why, _ := m.reasons(ctx, id, nil); why != "" {
			news += " (" + why + ")"
		}
		return false, news, nil
	})
	return total, err
}

// instances returns how many instances a fleet has, of any state, in the home region and others.
func (m *rollout) instances(ctx context.Context, id string, others map[string]*setup.Capacity) (n int, err error) {
	all, err := m.capacities(ctx, id, others)
	for _, c := range all {
		counts := val(c.InstanceCounts)
		n += int(val(counts.ACTIVE) + val(counts.PENDING) + val(counts.TERMINATING))
	}
	return n, err
}

// capacities returns the capacities of a fleet in its home region and others.
func (m *Server) capacities(ctx context.Context, id string, others map[string]*setup.Capacity) (all []types.FleetCapacity, err error) {
	for _, location := range append([]string{""}, slices.Sorted(maps.Keys(others))...) {
		c, err := m.capacity(ctx, id, location)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// capacity returns the capacity of a fleet in a location, "" being its home region.
func (m *Server) capacity(ctx context.Context, id, location string) (types.FleetCapacity, error) {
	if location != "" {
		out, err := m.API.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: &id, Location: &location})
		if err != nil {
			return types.FleetCapacity{}, err
		}
		return val(out.FleetCapacity), nil
	}
	out, err := m.API.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{id}})
	if err != nil {
		return types.FleetCapacity{}, err
	}
	if len(out.FleetCapacity) != 1 {
		return types.FleetCapacity{}, fmt.Errorf("fleet %s is not there any more", id)
	}
	return out.FleetCapacity[0], nil
}

// counted returns how many of the desired instances of a fleet's locations are ACTIVE, and how
// many are desired. Idle instances are among the ACTIVE ones.
func counted(places []types.FleetCapacity) (active, desired int) {
	for _, c := range places {
		n := c.InstanceCounts
		active += int(min(val(n.ACTIVE), val(n.DESIRED)))
		desired += int(val(n.DESIRED))
	}
	return active, desired
}

// promote lets aliases and queues lead to the fleet with the key from instead of the one whose
// place it takes, and gives both their new names.
func (m *rollout) promote(ctx context.Context, key, from string) error {
	previous := setup.PreviousName(key)
	to, old := m.fleets[from], m.fleets[key]
	if old.FleetId == nil { // it has its new name already
		old = m.fleets[previous]
	} else if f, ok := m.fleets[previous]; ok {
		if err := m.drain(ctx, previous); err != nil {
			return err
		}
		m.tell("fleet %s: deleting it", previous)
		if err := m.unoccupied(ctx, *f.FleetId); err != nil {
			return err
		}
		// It is there until its instances have ended, and another fleet gets its name.
		if err := m.rename(ctx, previous, setup.ReplacedName(key), f); err != nil {
			return err
		}
	}
	if err := m.deleteReplaced(ctx, key); err != nil {
		return err
	}
	if old.FleetId != nil {
		m.rolling.reach(moving)
		if err := m.move(ctx, old, to); err != nil {
			return err
		}
		m.rolling.reach(moved)
		if err := m.retire(ctx, key, old); err != nil {
			return err
		}
	}
	m.rolling.reach(moved)
	if err := m.rename(ctx, from, key, to); err != nil {
		return err
	}
	m.rolling.reach(draining)
	return m.accept(ctx, to)
}

// retire keeps the fleet f, whose place another one has got, for a rollback; or deletes it if it has not
// been ACTIVE, since then there is nothing to go back to, and its name cannot be changed.
func (m *rollout) retire(ctx context.Context, key string, f types.FleetAttributes) error {
	if f.Status == types.FleetStatusActive {
		return m.rename(ctx, key, setup.PreviousName(key), f)
	}
	m.tell("fleet %s: deleting the former one, which was in status %s", key, f.Status)
	if err := m.deleteFleet(ctx, *f.FleetId); err != nil {
		return err
	}
	delete(m.fleets, key)
	return nil
}

// deleteReplaced deletes the fleet that the previous one has replaced, if there is one.
func (m *rollout) deleteReplaced(ctx context.Context, key string) error {
	name := setup.ReplacedName(key)
	f, ok := m.fleets[name]
	if !ok {
		return nil
	}
	if err := m.deleteFleet(ctx, *f.FleetId); err != nil {
		return err
	}
	delete(m.fleets, name)
	return nil
}

func (m *rollout) rename(ctx context.Context, from, to string, f types.FleetAttributes) error {
	if _, err := m.API.UpdateFleetAttributes(ctx, &gamelift.UpdateFleetAttributesInput{FleetId: f.FleetId, Name: &to}); err != nil {
		return err
	}
	if val(m.fleets[from].FleetId) == *f.FleetId {
		delete(m.fleets, from)
	}
	f.Name = &to
	m.fleets[to] = f
	m.is(setup.FleetKind, to, *f.FleetArn)
	return nil
}

// takeOut lets what leads to the fleet that was to take the place of another lead to that one,
// calls out, empties it and deletes it. A promotion that stopped may have given it the place already.
func (m *rollout) takeOut(ctx context.Context, key string, out func(context.Context) error) error {
	next := setup.NextName(key)
	f := m.fleets[next]
	stays, ok := m.fleets[key]
	if !ok && f.Status != types.FleetStatusActive {
		m.tell("fleet %s: there is no fleet %s whose place it could take, and it has not been ACTIVE; deleting it", next, key)
		err := m.deleteFleet(ctx, *f.FleetId)
		if err == nil {
			delete(m.fleets, next)
		}
		return err
	}
	if !ok {
		m.rolling.reach(moved)
		return fmt.Errorf("a deployment of fleet %s stopped while %s took its place: finish it with 'muster deploy --promote --fleet %s' first", key, next, key)
	}
	m.rolling.reach(takingOut)
	through, err := m.aliasesOf(ctx, stays)
	if err != nil {
		return err
	}
	err = m.queuesOf(ctx, func(all []string) []string {
		if !slices.ContainsFunc(all, func(arn string) bool { return arn == *stays.FleetArn || through[arn] }) {
			return all // what leads to the new fleet alone is moved
		}
		return slices.DeleteFunc(all, func(arn string) bool { return arn == *f.FleetArn })
	})
	if err == nil {
		err = m.move(ctx, f, stays)
	}
	if err == nil {
		err = out(ctx)
	}
	if err == nil {
		err = m.empty(ctx, next, *f.FleetId)
	}
	if err == nil {
		err = m.deleteFleet(ctx, *f.FleetId)
	}
	if err == nil {
		delete(m.fleets, next)
	}
	return err
}

// empty waits until all game sessions of a fleet have ended.
func (m *rollout) empty(ctx context.Context, key, id string) error {
	return m.wait(ctx, "fleet "+key, func(ctx context.Context) (bool, string, error) {
		n, err := m.sessions(ctx, id, "")
		if err != nil || n == 0 {
			return n == 0, "", err
		}
		return false, "waiting for the end of " + plain.Count(n, "game session"), nil
	})
}

// drain waits until all game sessions of a fleet to which nothing leads have ended, and takes
// its instances away.
func (m *rollout) drain(ctx context.Context, key string) error {
	f, ok := m.fleets[key]
	if !ok {
		return nil
	}
	id := *f.FleetId
	r := &reader{State: m.State, api: m.API}
	home, others, err := r.places(ctx, id, nil, false)
	if err != nil {
		return err
	}
	all := maps.Clone(others)
	if all == nil {
		all = map[string]*setup.Capacity{}
	}
	if home != nil {
		all[""] = home
	}
	for location, c := range all {
		// Scaling could end instances with game sessions.
		if err := m.stop(ctx, id, location, []types.FleetAction{types.FleetActionAutoScaling}, c.StoppedActions); err != nil {
			return err
		}
	}
	if err := m.empty(ctx, key, id); err != nil {
		return err
	}
	for _, location := range slices.Sorted(maps.Keys(all)) {
		if val(all[location].DesiredInstances) == 0 {
			continue
		}
		in := &gamelift.UpdateFleetCapacityInput{FleetId: &id, Location: some(location), MinSize: aws.Int32(0), DesiredInstances: aws.Int32(0)}
		if all[location].FromZero() {
			in.MinSize = nil // the server sets it
		}
		if _, err := m.API.UpdateFleetCapacity(ctx, in); err != nil {
			return err
		}
	}
	ending, err := m.instances(ctx, id, others)
	if err != nil {
		return err
	}
	rest := "no instances"
	if ending > 0 {
		rest = plain.Count(ending, "instance") + " that end now"
	}
	m.tell("fleet %s: has no game sessions and %s; it is kept for 'muster deploy --rollback'", key, rest)
	return nil
}
