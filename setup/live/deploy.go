package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

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
	r := &rolling{fleet: fleet}
	return r.explained(s.deploy(ctx, only, w, canary, r))
}

// AsFile returns what a file would say of a fleet and its build, for a deployment without one. What
// it leaves out of the fleet stays as it is. The build has no Version, which was that of its files.
func (s *Server) AsFile(ctx context.Context, fleet string) (*setup.Setup, error) {
	state, err := Read(ctx, s.API)
	if err != nil {
		return nil, err
	}
	now := state.Setup.Fleets[fleet]
	switch {
	case now == nil && len(state.Setup.Fleets) == 0:
		return nil, fmt.Errorf("the server has no fleet %s, nor any other: create it with 'muster apply', from a file", fleet)
	case now == nil:
		return nil, fmt.Errorf("the server has no fleet %s; it has %s", fleet, strings.Join(slices.Sorted(maps.Keys(state.Setup.Fleets)), ", "))
	case state.Setup.Builds[now.Build] == nil:
		return nil, fmt.Errorf("fleet %s has no build of its own that a new one could replace", fleet)
	}
	f := &setup.Fleet{Build: now.Build, ComputeType: now.ComputeType}
	b := *state.Setup.Builds[now.Build]
	b.Version, b.Content = nil, ""
	return &setup.Setup{Fleets: map[string]*setup.Fleet{fleet: f}, Builds: map[string]*setup.Build{now.Build: &b}}, nil
}

// deploy is Deploy for what of a file concerns the fleet w.
func (s *Server) deploy(ctx context.Context, only *setup.Setup, w *setup.Fleet, canary Canary, rolling *rolling) error {
	fleet := rolling.fleet
	state, err := Read(ctx, s.API)
	if err != nil {
		return err
	}
	state.Setup.ReplaceLost(fleet)
	m := s.maker(only, state)
	m.rolling = rolling
	rolling.begin(state)
	m.deployed = &deployed{name: fleet, file: w, kept: w, given: setup.GivenBy(w.Placement())}
	key := fleet
	if _, ok := state.fleets[key]; !ok {
		key = setup.NextName(fleet) // which has begun to take its place
	}
	if current, ok := state.fleets[key]; ok {
		if err := m.keep(ctx, current, state.Setup.Fleets[key]); err != nil {
			return err
		}
		only.Fleets[fleet] = m.deployed.kept
	}
	plan := setup.Compare(only, state.Setup, false)
	at := slices.IndexFunc(plan, func(a setup.Action) bool { return a.Kind == setup.FleetKind && a.Name == fleet })
	if at >= 0 && plan[at].Op == setup.Update {
		rolling.reach(updating)
	}
	if at >= 0 {
		m.warn(ctx, plan[at], w, cmp.Or(canary.Share, 1))
	}
	if at < 0 || plan[at].Op != setup.Replace || canary.Share == 0 {
		if err := m.apply(ctx, plan); err != nil || at >= 0 {
			return err
		}
		s.tell("fleet %s: is as the file describes it", fleet)
		rolling.reach(draining)
		return s.drainPrevious(ctx, rolling)
	}
	if err := m.apply(ctx, plan[:at]); err != nil {
		return err
	}
	return (&rollout{m}).canary(ctx, fleet, canary)
}

// warn reports what may be wrong with the deployment of a fleet w of a file, for a share of its
// instances: that its build was rolled back, and that the hosts have no room for another fleet.
func (m *maker) warn(ctx context.Context, a setup.Action, w *setup.Fleet, share float64) {
	if !a.RolledBack.IsZero() {
		m.tell("fleet %s: its build %s was rolled back on %s, and is deployed again", a.Name, w.Build, setup.Moment(a.RolledBack))
	}
	if current := m.Setup.Fleets[a.Name]; a.Op == setup.Replace && current != nil {
		size := forShare(m.deployed.kept, current, share)
		(&rollout{m}).warnOfRoom(ctx, a.Name, setup.NextName(a.Name), cmp.Or(w.EC2InstanceType, current.EC2InstanceType), size)
	}
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
	if to.Status == types.FleetStatusError {
		return fmt.Errorf("fleet %s is in status ERROR, and does not leave it: 'muster deploy --rollback --fleet %s' deletes it", next, setup.Quoted(fleet))
	}
	m.rolling = &rolling{fleet: fleet, at: leading}
	if _, ok := m.fleets[fleet]; !ok {
		m.rolling.at = moved
	}
	return m.rolling.explained(m.promoteCanary(ctx, fleet, to))
}

// promoteCanary puts a canary in the place of its fleet.
func (m *rollout) promoteCanary(ctx context.Context, fleet string, to types.FleetAttributes) error {
	next := setup.NextName(fleet)
	if err := m.like(ctx, fleet, next, to, true); err != nil {
		return err
	}
	if err := m.promote(ctx, fleet, next); err != nil {
		return err
	}
	return m.drain(ctx, setup.PreviousName(fleet))
}

// Rollback undoes the last deployment of a fleet: it ends a canary, or gives the place back to
// the fleet that had it before. It reports what in the file, which is nil if there is none, would
// bring back what was rolled back.
func (s *Server) Rollback(ctx context.Context, fleet string, file *setup.Setup) error {
	m, err := s.open(ctx)
	if err != nil {
		return err
	}
	all := []string{setup.NextName(fleet), setup.ReturningName(fleet), setup.PreviousName(fleet)}
	if !slices.ContainsFunc(all, func(name string) bool { _, ok := m.fleets[name]; return ok }) {
		return fmt.Errorf("there is no fleet %s to go back to", setup.PreviousName(fleet))
	}
	m.rolling = &rolling{fleet: fleet}
	return m.rolling.explained(m.goBack(ctx, fleet, file))
}

// goBack is Rollback with the state of the server.
func (m *rollout) goBack(ctx context.Context, fleet string, file *setup.Setup) error {
	next, previous, back := setup.NextName(fleet), setup.PreviousName(fleet), setup.ReturningName(fleet)
	if _, ok := m.fleets[next]; ok {
		m.tell("fleet %s: taking it out of service", next)
		return m.takeOut(ctx, fleet, func(ctx context.Context) error {
			return m.rolledBack(ctx, file, fleet, m.fleets[fleet], m.fleets[next], m.Setup.Fleets[fleet])
		})
	}
	m.rolling.back = true
	m.rolling.reach(returning)
	if _, ok := m.fleets[fleet]; !ok {
		m.rolling.reach(moved)
	}
	if _, begun := m.fleets[back]; !begun {
		if err := m.rename(ctx, previous, back, m.fleets[previous]); err != nil {
			return err
		}
	}
	if current, ok := m.fleets[fleet]; ok {
		if now, err := m.placed(ctx, current); err == nil {
			m.warnOfRoom(ctx, fleet, back, m.fleets[back].InstanceType, now)
		}
	}
	if err := m.like(ctx, fleet, back, m.fleets[back], false); err != nil {
		return err
	}
	former, ok := m.fleets[fleet]
	if !ok { // it has given its place away already
		former = m.fleets[previous]
	}
	if err := m.promote(ctx, fleet, back); err != nil {
		return err
	}
	if err := m.rolledBack(ctx, file, fleet, m.fleets[fleet], former, cmp.Or(m.Setup.Fleets[back], m.Setup.Fleets[previous])); err != nil {
		return err
	}
	return m.drain(ctx, previous)
}

// Drain empties the fleet that had the place of a fleet before, if there is one.
func (s *Server) Drain(ctx context.Context, fleet string) error {
	r := &rolling{fleet: fleet, at: draining}
	return r.explained(s.drainPrevious(ctx, r))
}

func (s *Server) drainPrevious(ctx context.Context, r *rolling) error {
	m, err := s.open(ctx)
	if err != nil {
		return err
	}
	return m.drain(ctx, setup.PreviousName(r.fleet))
}

// open reads the state of the server for changes that need no file.
func (s *Server) open(ctx context.Context) (*rollout, error) {
	state, err := Read(ctx, s.API)
	if err != nil {
		return nil, err
	}
	return &rollout{&maker{Server: s, want: &setup.Setup{}, State: state}}, nil
}

// like sets the locations and capacities of a fleet to those of another one, and waits until its
// instances are ACTIVE. If it is a canary, what the file has changed of them is as its deployment
// decided.
func (m *rollout) like(ctx context.Context, key, other string, to types.FleetAttributes, canary bool) error {
	current, ok := m.fleets[key]
	if !ok {
		return nil // it has given its place away already
	}
	want, err := m.placed(ctx, current)
	if err != nil {
		return err
	}
	given := m.given[*current.FleetId]
	if canary {
		m.deployed = &deployed{name: key, file: m.given[*to.FleetId].Fleet()}
		if err := m.keep(ctx, current, want); err != nil {
			return err
		}
		want.HomeRegion, want.Locations, given = m.deployed.kept.HomeRegion, m.deployed.kept.Locations, m.deployed.given
	}
	if err := m.place(ctx, other, to, want); err != nil {
		return err
	}
	return m.note(ctx, identity{other, *to.FleetId, *to.FleetArn}, given)
}

// place sets the locations, the capacities and the scaling policies of a fleet to those of w. Locations and
// policies that it has besides stay: those of a fleet that comes back are what it had.
func (m *rollout) place(ctx context.Context, key string, f types.FleetAttributes, w *setup.Fleet) error {
	id := *f.FleetId
	r := &reader{State: m.State, api: m.API}
	home, own, err := r.places(ctx, id, f.StoppedActions, false)
	if err != nil {
		return err
	}
	all := maps.Clone(own)
	for name, c := range w.Locations {
		if all[name] == nil {
			put(&all, name, c)
		}
	}
	if err := m.shapeLocations(ctx, identity{key, id, *f.FleetArn}, all, own); err != nil {
		return err
	}
	if err := m.size(ctx, id, "", w.HomeRegion, home, false); err != nil {
		return err
	}
	if err := m.sizeOthers(ctx, key, id, w.Locations, own, false); err != nil {
		return err
	}
	if _, err = m.filled(ctx, key, id); err != nil {
		return err
	}
	// Before it had its instances, scaling would have taken them away: it has no game sessions.
	if err := m.shapePolicies(ctx, id, w.ScalingPolicies, nil); err != nil {
		return err
	}
	if w.HomeRegion != nil && home != nil {
		if err := m.stop(ctx, id, "", w.HomeRegion.StoppedActions, home.StoppedActions); err != nil {
			return err
		}
	}
	for name, c := range own {
		if p := w.Locations[name]; p != nil {
			if err := m.stop(ctx, id, name, p.StoppedActions, c.StoppedActions); err != nil {
				return err
			}
		}
	}
	return nil
}
