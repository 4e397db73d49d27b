package scaling

import (
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
)

// period is how often metrics are sampled, as often as AWS publishes them.
const period = time.Minute

// Run scales fleets once a minute until ctx is done.
func (s *Service) Run(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.pass(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("fleets not scaled; trying again in a minute", "error", err)
		}
	}
}

// action is the decision for one location.
type action struct {
	FleetID, Location string
	From, To          int
	Why               string
	By                []string // policies
}

// pass scales each location of each fleet with policies, and those that scale to zero.
func (s *Service) pass(ctx context.Context) error {
	view := s.st.View()
	byFleet := map[string][]*Policy{}
	orphans := false
	for p := range s.policies.All(view) {
		byFleet[p.FleetID] = append(byFleet[p.FleetID], p)
		orphans = orphans || s.Fleets.Get(view, p.FleetID) == nil
	}
	if orphans {
		if err := s.forget.Do(ctx, struct{}{}); err != nil {
			return err
		}
	}
	seen := map[string]Memory{}
	waiting := s.queues(view, time.Now())
	for id, policies := range byFleet {
		f := s.Fleets.Get(view, id)
		if f == nil || f.Managed == nil {
			continue
		}
		for _, l := range f.Locations {
			if err := s.scale(ctx, view, waiting, f, l, policies, seen); err != nil {
				return err
			}
		}
	}
	s.memories = seen // forgets locations that are gone
	return s.restAll(ctx, view, waiting)
}

// scale plans one location and acts on it.
func (s *Service) scale(ctx context.Context, view store.Reader, waiting *queues, f *fleet.Fleet, l fleet.LocationState, policies []*Policy, seen map[string]Memory) error {
	if l.Status != fleet.Active || l.ScalingStopped {
		return nil // earlier samples are dropped
	}
	at := f.ID + "|" + l.Location
	memory := s.remember(at, l.Location, policies)
	limits := Place{l.Capacity.Desired, l.Capacity.Min, l.Capacity.Max}
	d, next := Plan(time.Now(), limits, s.sample(view, waiting, f, l.Location), policies, memory)
	seen[at] = next
	if d.Desired == limits.Desired {
		return nil
	}
	return s.act.Do(ctx, action{f.ID, l.Location, limits.Desired, d.Desired, d.Why, d.By})
}

// remember returns the Memory of a location. Streaks come from the previous pass, except
// for policies that were put since; the times when policies last acted come from their
// rows.
func (s *Service) remember(at, location string, policies []*Policy) Memory {
	m := s.memories[at]
	m.Acted = map[string]time.Time{}
	streaks := map[string]int{}
	for _, p := range policies {
		if acted, ok := p.Acted[location]; ok {
			m.Acted[p.Name] = acted
		}
		if time.Since(p.Set) > period {
			streaks[p.Name] = m.Streaks[p.Name]
		}
	}
	m.Streaks = streaks
	return m
}

// runAct changes a location's capacity, unless it has changed since the decision.
func (s *Service) runAct(tx *store.Tx, a action) error {
	f := s.Fleets.Get(tx, a.FleetID)
	if f == nil {
		return nil
	}
	l := f.Place(a.Location)
	if l == nil || l.ScalingStopped || l.Capacity.Desired != a.From {
		return nil
	}
	s.Fleets.Capacities.SetDesired(tx, a.FleetID, a.Location, a.To, a.Why)
	for p := range s.Of(tx, a.FleetID) {
		if !slices.Contains(a.By, p.Name) {
			continue
		}
		c := p.clone()
		if c.Acted == nil {
			c.Acted = map[string]time.Time{}
		}
		c.Acted[a.Location] = tx.Now()
		s.policies.Put(tx, c)
	}
	return nil
}

// runForget removes the policies of deleted fleets.
func (s *Service) runForget(tx *store.Tx, _ struct{}) error {
	for p := range s.policies.All(tx) {
		if s.Fleets.Get(tx, p.FleetID) == nil {
			s.policies.Delete(tx, key(p.FleetID, p.Name))
		}
	}
	return nil
}
