package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// A fleet's build cannot be changed. Another fleet takes its place instead: it is created beside
// it (NextName), and becomes ACTIVE; then aliases and queues lead to it, and both change their
// names. The former one (PreviousName) is emptied, and stays without instances for a rollback.
// The names say how far it has come, so each step can be repeated after an interruption.

// roll gives the place of a fleet to a new one, as the file describes it.
func (m *maker) roll(ctx context.Context, key string) error {
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
func (m *maker) next(ctx context.Context, key string, share float64) (instances, of int, err error) {
	next, w := setup.NextName(key), m.want.Fleets[key]
	if _, ok := m.fleets[next]; ok && !m.fits(key, next) {
		m.tell("fleet %s: is of another build; deleting it", next)
		if err := m.takeOut(ctx, key); err != nil {
			return 0, 0, err
		}
	}
	copied := completed(*w, m.Setup.Fleets[key])
	if current, ok := m.fleets[key]; ok {
		r := &reader{State: m.State, api: m.API}
		home, others, err := r.places(ctx, *current.FleetId, nil, false)
		if err != nil {
			return 0, 0, err
		}
		copied.HomeRegion = sized(w.HomeRegion, home, share)
		named := copied.Locations
		copied.Locations = map[string]*setup.Capacity{}
		for name, c := range named {
			copied.Locations[name] = sized(c, others[name], share)
		}
		of += int(val(val(home).DesiredInstances))
		for _, c := range others {
			of += int(val(c.DesiredInstances))
		}
	}
	if share < 1 {
		copied.ScalingPolicies = nil // its share stays as it is
	}
	if _, ok := m.fleets[next]; !ok {
		m.tell("fleet %s: creating", next)
		if err := m.createFleet(ctx, next, next, &copied); err != nil {
			return 0, 0, err
		}
	}
	if err := m.shapeFleet(ctx, next, &copied); err != nil {
		return 0, 0, err
	}
	instances, err = m.filled(ctx, next, *m.fleets[next].FleetId)
	return instances, of, err
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

// fits reports whether a fleet that was begun is what the file describes.
func (m *maker) fits(key, next string) bool {
	w, f := *m.want.Fleets[key], m.fleets[next]
	if b, ok := m.builds[w.Build]; !ok || val(b.BuildId) != val(f.BuildId) {
		return false
	}
	h := m.Setup.Fleets[next]
	if h == nil { // created since the state was read
		return true
	}
	w.Build = h.Build
	return !slices.ContainsFunc(setup.Differences(setup.FleetKind, &w, h), func(c setup.Change) bool {
		return setup.Fixed(setup.FleetKind, c.Member)
	})
}

// sized returns the capacity of a location for a share of what is there now.
func sized(w, now *setup.Capacity, share float64) *setup.Capacity {
	out := setup.Capacity{}
	if w != nil {
		out = *w
	}
	if now == nil || now.DesiredInstances == nil {
		return &out
	}
	low, high := val(cmp.Or(out.MinSize, now.MinSize)), val(cmp.Or(out.MaxSize, now.MaxSize))
	desired := max(low, min(high, *now.DesiredInstances))
	if out.DesiredInstances != nil && *now.DesiredInstances == 0 {
		desired = *out.DesiredInstances
	}
	if share < 1 {
		low, desired = 0, int32(math.Ceil(float64(desired)*share))
		high = desired
	}
	out.MinSize, out.MaxSize, out.DesiredInstances = &low, &high, &desired
	return &out
}

// filled waits until all instances of a fleet are ACTIVE, and returns their number.
func (m *maker) filled(ctx context.Context, key, id string) (total int, err error) {
	r := &reader{State: m.State, api: m.API}
	err = m.wait(ctx, "fleet "+key, func(ctx context.Context) (bool, string, error) {
		home, err := m.API.DescribeFleetCapacity(ctx, &gamelift.DescribeFleetCapacityInput{FleetIds: []string{id}})
		if err != nil {
			return false, "", err
		}
		all := home.FleetCapacity
		_, others, err := r.places(ctx, id, nil, false)
		if err != nil {
			return false, "", err
		}
		for name := range others {
			out, err := m.API.DescribeFleetLocationCapacity(ctx, &gamelift.DescribeFleetLocationCapacityInput{FleetId: &id, Location: &name})
			if err != nil {
				return false, "", err
			}
			all = append(all, *out.FleetCapacity)
		}
		active, desired := 0, 0
		for _, c := range all {
			n := c.InstanceCounts
			active += int(min(val(n.ACTIVE)+val(n.IDLE), val(n.DESIRED)))
			desired += int(val(n.DESIRED))
		}
		total = desired
		if active >= desired {
			return true, "", nil
		}
		return false, fmt.Sprintf("%d of %d instances are ACTIVE", active, desired), nil
	})
	return total, err
}

// promote lets aliases and queues lead to the fleet with the key from instead of the one whose
// place it takes, and gives both their new names.
func (m *maker) promote(ctx context.Context, key, from string) error {
	previous := setup.PreviousName(key)
	to, old := m.fleets[from], m.fleets[key]
	if old.FleetId == nil { // it has its new name already
		old = m.fleets[previous]
	} else if f, ok := m.fleets[previous]; ok {
		if err := m.drain(ctx, previous); err != nil {
			return err
		}
		m.tell("fleet %s: deleting it", previous)
		if err := m.deleteFleet(ctx, *f.FleetId); err != nil {
			return err
		}
		delete(m.fleets, previous)
	}
	if old.FleetId != nil {
		if err := m.move(ctx, old, to); err != nil {
			return err
		}
		if err := m.rename(ctx, key, previous, old); err != nil {
			return err
		}
	}
	return m.rename(ctx, from, key, to)
}

func (m *maker) rename(ctx context.Context, from, to string, f types.FleetAttributes) error {
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

// move lets each alias and queue that leads to one fleet lead to another. In a queue the new
// one may stand before the old one already (lead): then it stands there alone.
func (m *maker) move(ctx context.Context, old, to types.FleetAttributes) error {
	through := map[string]bool{} // ARNs of aliases that lead to it, before or now
	for page := gamelift.NewListAliasesPaginator(m.API, &gamelift.ListAliasesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, a := range out.Aliases {
			at := val(a.RoutingStrategy.FleetId)
			if at != *old.FleetId && at != *to.FleetId {
				continue
			}
			through[*a.AliasArn] = true
			if at == *to.FleetId {
				continue
			}
			_, err := m.API.UpdateAlias(ctx, &gamelift.UpdateAliasInput{AliasId: a.AliasId, RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeSimple, FleetId: to.FleetId}})
			if err != nil {
				return err
			}
			m.tell("alias %s leads to fleet %s now", val(a.Name), *to.FleetId)
		}
	}
	return m.queuesOf(ctx, func(all []string) []string {
		direct := slices.Contains(all, *old.FleetArn)
		aliased := slices.ContainsFunc(all, func(arn string) bool { return through[arn] })
		if !direct && !aliased {
			return all
		}
		var out []string
		for _, arn := range all {
			switch arn {
			case *to.FleetArn:
			case *old.FleetArn:
				out = append(out, *to.FleetArn)
			default:
				out = append(out, arn)
			}
		}
		return out
	})
}

// queuesOf gives the destinations of each queue to change, and updates those that it changes.
func (m *maker) queuesOf(ctx context.Context, change func(arns []string) []string) error {
	for page := gamelift.NewDescribeGameSessionQueuesPaginator(m.API, &gamelift.DescribeGameSessionQueuesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, q := range out.GameSessionQueues {
			var before []string
			for _, d := range q.Destinations {
				before = append(before, *d.DestinationArn)
			}
			after := change(slices.Clone(before))
			if slices.Equal(before, after) {
				continue
			}
			to := []types.GameSessionQueueDestination{}
			for _, arn := range after {
				to = append(to, types.GameSessionQueueDestination{DestinationArn: aws.String(arn)})
			}
			if _, err := m.API.UpdateGameSessionQueue(ctx, &gamelift.UpdateGameSessionQueueInput{Name: q.Name, Destinations: to}); err != nil {
				return err
			}
			m.tell("queue %s: its destinations are %s", *q.Name, strings.Join(short(after), ", "))
		}
	}
	return nil
}

// short returns the last parts of ARNs.
func short(arns []string) (out []string) {
	for _, arn := range arns {
		out = append(out, resource(arn))
	}
	return out
}

// lead puts a fleet before each destination that leads to another one, and returns how many
// queues have it.
func (m *maker) lead(ctx context.Context, old, to types.FleetAttributes) (queues int, err error) {
	through, err := m.aliasesOf(ctx, old)
	if err != nil {
		return 0, err
	}
	err = m.queuesOf(ctx, func(all []string) []string {
		at := slices.IndexFunc(all, func(arn string) bool { return arn == *old.FleetArn || through[arn] })
		if at < 0 {
			return all
		}
		queues++
		if slices.Contains(all, *to.FleetArn) {
			return all
		}
		return slices.Insert(all, at, *to.FleetArn)
	})
	return queues, err
}

// aliasesOf returns the ARNs of the aliases that lead to a fleet.
func (m *maker) aliasesOf(ctx context.Context, f types.FleetAttributes) (map[string]bool, error) {
	arns := map[string]bool{}
	for page := gamelift.NewListAliasesPaginator(m.API, &gamelift.ListAliasesInput{}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range out.Aliases {
			if val(a.RoutingStrategy.FleetId) == *f.FleetId {
				arns[*a.AliasArn] = true
			}
		}
	}
	return arns, nil
}

// takeOut lets what leads to the fleet that was to take the place of another lead to that one,
// empties it and deletes it. A promotion that stopped may have given it the place already.
func (m *maker) takeOut(ctx context.Context, key string) error {
	next := setup.NextName(key)
	f := m.fleets[next]
	stays, ok := m.fleets[key]
	if !ok {
		return fmt.Errorf("a deployment of fleet %s stopped while %s took its place: finish it with 'muster deploy --promote --fleet %s' first", key, next, key)
	}
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
func (m *maker) empty(ctx context.Context, key, id string) error {
	return m.wait(ctx, "fleet "+key, func(ctx context.Context) (bool, string, error) {
		n, err := m.sessions(ctx, id, "")
		if err != nil || n == 0 {
			return n == 0, "", err
		}
		return false, fmt.Sprintf("%d game sessions have to end", n), nil
	})
}

// drain waits until all game sessions of a fleet to which nothing leads have ended, and takes
// its instances away.
func (m *maker) drain(ctx context.Context, key string) error {
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
		if _, err := m.API.UpdateFleetCapacity(ctx, &gamelift.UpdateFleetCapacityInput{FleetId: &id, Location: some(location), MinSize: aws.Int32(0), DesiredInstances: aws.Int32(0)}); err != nil {
			return err
		}
	}
	m.tell("fleet %s: has no game sessions and no instances; it is kept for 'muster deploy --rollback'", key)
	return nil
}

// Canary is a share of a fleet's instances that a new build gets first.
type Canary struct {
	Share float64       // above 0 and below 1; 0 means no canary
	For   time.Duration // how long it is watched before the rest follows; 0 means that this is for Promote or Rollback
}

// Deploy gives the place of a fleet to a new one of another build, or creates it: what of a
// plan concerns this fleet and its build. Its other changes are not made.
func (s *Server) Deploy(ctx context.Context, want *setup.Setup, fleet string, canary Canary) error {
	w := want.Fleets[fleet]
	switch {
	case w == nil:
		return fmt.Errorf("the file has no fleet %s", fleet)
	case w.ComputeType == types.ComputeTypeAnywhere:
		return fmt.Errorf("fleet %s is of ComputeType ANYWHERE: the game servers of its computes are started by you, not by the server", fleet)
	}
	only := &setup.Setup{Fleets: map[string]*setup.Fleet{fleet: w}, Builds: map[string]*setup.Build{w.Build: want.Builds[w.Build]}, Locations: map[string]*setup.Location{}}
	for name := range w.Locations {
		if l := want.Locations[name]; l != nil {
			only.Locations[name] = l
		}
	}
	state, err := Read(ctx, s.API)
	if err != nil {
		return err
	}
	plan, err := setup.Compare(only, state.Setup, false)
	if err != nil {
		return err
	}
	m := s.maker(only, state)
	at := slices.IndexFunc(plan, func(a setup.Action) bool { return a.Kind == setup.FleetKind && a.Name == fleet })
	if at < 0 || plan[at].Op != setup.Replace || canary.Share == 0 {
		if err := m.apply(ctx, plan); err != nil || at >= 0 {
			return err
		}
		s.tell("fleet %s: is as the file describes it", fleet)
		return s.Drain(ctx, fleet)
	}
	if err := m.apply(ctx, plan[:at]); err != nil {
		return err
	}
	return m.canary(ctx, fleet, canary)
}

// canary starts the fleet that is to take the place of another as its canary.
func (m *maker) canary(ctx context.Context, key string, c Canary) error {
	n, of, err := m.next(ctx, key, c.Share)
	if err != nil {
		return err
	}
	next := setup.NextName(key)
	queues, err := m.lead(ctx, m.fleets[key], m.fleets[next])
	if err != nil {
		return err
	}
	if queues == 0 {
		return fmt.Errorf("no queue leads to fleet %s, so a canary would get no game sessions: an alias leads to one fleet alone. Deploy without --canary, or place game sessions by a queue. Fleet %s stays until 'muster deploy --rollback' or a deployment without --canary", key, next)
	}
	m.tell("fleet %s: is ACTIVE with %d instances beside %d, and first in %d queues", next, n, of, queues)
	if c.For == 0 {
		m.tell("it stays so until 'muster deploy --promote' or 'muster deploy --rollback'")
		return nil
	}
	until := time.Now().Add(c.For)
	var bad string
	watched := *m.Server
	watched.Patience = c.For + time.Minute
	err = watched.wait(ctx, "canary "+next, func(ctx context.Context) (bool, string, error) {
		var err error
		bad, err = m.failure(ctx, *m.fleets[next].FleetId)
		return bad != "" || time.Now().After(until), "watching it for " + c.For.String(), err
	})
	if err != nil {
		return err
	}
	if bad != "" {
		m.tell("fleet %s: %s", next, bad)
		if err := m.takeOut(ctx, key); err != nil {
			return err
		}
		return fmt.Errorf("rolled back: the canary failed: %s", bad)
	}
	return m.roll(ctx, key)
}

// failures are the events of a fleet that end a canary.
var failures = []types.EventCode{
	types.EventCodeServerProcessCrashed, types.EventCodeServerProcessTerminatedUnhealthy, types.EventCodeServerProcessSdkInitializationTimeout, types.EventCodeServerProcessInvalidPath,
	types.EventCodeServerProcessProcessReadyTimeout, types.EventCodeServerProcessProcessExitTimeout, types.EventCodeGameSessionActivationTimeout, types.EventCodeServerProcessForceTerminated,
}

// failure returns the message of an event since the creation of a fleet that says that its
// build is bad, "" if there is none.
func (m *maker) failure(ctx context.Context, id string) (string, error) {
	for page := gamelift.NewDescribeFleetEventsPaginator(m.API, &gamelift.DescribeFleetEventsInput{FleetId: &id}); page.HasMorePages(); {
		out, err := page.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, e := range out.Events {
			if slices.Contains(failures, e.EventCode) {
				return fmt.Sprintf("%s: %s", e.EventCode, val(e.Message)), nil
			}
		}
	}
	return "", nil
}

// Promote ends the canary of a fleet well: the new build gets all.
func (s *Server) Promote(ctx context.Context, fleet string) error {
	m, err := s.open(ctx)
	if err != nil {
		return err
	}
	next := setup.NextName(fleet)
	to, ok := m.fleets[next]
	if !ok {
		return fmt.Errorf("there is no fleet %s: no canary of %s was begun", next, fleet)
	}
	if err := m.like(ctx, fleet, next, to); err != nil {
		return err
	}
	if err := m.promote(ctx, fleet, next); err != nil {
		return err
	}
	return m.drain(ctx, setup.PreviousName(fleet))
}

// Rollback undoes the last deployment of a fleet: it ends a canary, or gives the place back to
// the fleet that had it before.
func (s *Server) Rollback(ctx context.Context, fleet string) error {
	m, err := s.open(ctx)
	if err != nil {
		return err
	}
	next, previous, returning := setup.NextName(fleet), setup.PreviousName(fleet), setup.ReturningName(fleet)
	if _, ok := m.fleets[next]; ok {
		m.tell("fleet %s: taking it out of service", next)
		return m.takeOut(ctx, fleet)
	}
	f, ok := m.fleets[previous]
	if _, begun := m.fleets[returning]; !begun {
		if !ok {
			return fmt.Errorf("there is no fleet %s to go back to", previous)
		}
		if err := m.rename(ctx, previous, returning, f); err != nil {
			return err
		}
	}
	f = m.fleets[returning]
	if err := m.like(ctx, fleet, returning, f); err != nil {
		return err
	}
	if err := m.promote(ctx, fleet, returning); err != nil {
		return err
	}
	return m.drain(ctx, previous)
}

// Drain empties the fleet that had the place of a fleet before, if there is one.
func (s *Server) Drain(ctx context.Context, fleet string) error {
	m, err := s.open(ctx)
	if err != nil {
		return err
	}
	return m.drain(ctx, setup.PreviousName(fleet))
}

// open reads the state of the server for changes that need no file.
func (s *Server) open(ctx context.Context) (*maker, error) {
	state, err := Read(ctx, s.API)
	if err != nil {
		return nil, err
	}
	return &maker{Server: s, want: &setup.Setup{}, State: state}, nil
}

// like gives a fleet the capacities that another one has, where it has the same locations, and
// waits until its instances are ACTIVE.
func (m *maker) like(ctx context.Context, key, other string, to types.FleetAttributes) error {
	current, ok := m.fleets[key]
	if !ok {
		return nil // it has given its place away already
	}
	r := &reader{State: m.State, api: m.API}
	home, places, err := r.places(ctx, *current.FleetId, current.StoppedActions, false)
	if err != nil {
		return err
	}
	id := *to.FleetId
	ownHome, own, err := r.places(ctx, id, to.StoppedActions, false)
	if err != nil {
		return err
	}
	if err := m.size(ctx, other, id, "", home, ownHome, false); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := m.size(ctx, other, id, name, places[name], own[name], false); err != nil {
			return err
		}
	}
	policies, err := r.policies(ctx, *current.FleetId)
	if err != nil {
		return err
	}
	// Its own policies stay: those of a fleet that comes back are what it had.
	if err := m.shapePolicies(ctx, id, policies, nil); err != nil {
		return err
	}
	if home != nil && ownHome != nil {
		if err := m.stop(ctx, id, "", home.StoppedActions, ownHome.StoppedActions); err != nil {
			return err
		}
	}
	for name, c := range own {
		if p := places[name]; p != nil {
			if err := m.stop(ctx, id, name, p.StoppedActions, c.StoppedActions); err != nil {
				return err
			}
		}
	}
	_, err = m.filled(ctx, other, id)
	return err
}
