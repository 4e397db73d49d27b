package scaling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

const (
	// period is how often fleets are scaled, as often as AWS publishes metrics.
	period = time.Minute
	// looks is how often locations are looked at in a period.
	looks = 12
)

// Run scales fleets once a minute until ctx is done, by what they were in that minute.
func (s *Service) Run(ctx context.Context) {
	ticker := time.NewTicker(period / looks)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if s.lookAll(); n%looks > 0 {
			continue
		}
		if err := s.pass(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error("fleets not scaled; trying again in a minute", "error", err)
		}
	}
}

// lookAll looks at each location that has policies.
func (s *Service) lookAll() {
	view, refused := s.st.View(), s.Sessions.Refusals.Take()
	var waiting map[string]placement.Depth
	id := ""
	for p := range s.policies.All(view) {
		if p.FleetID == id {
			continue
		}
		id = p.FleetID
		f := s.Fleets.Get(view, id)
		if f == nil || f.Managed == nil {
			continue
		}
		if waiting == nil {
			waiting = s.Placements.Waiting(view, time.Now())
		}
		for _, l := range f.Locations {
			if l.Status.Serves() && !l.ScalingStopped {
				s.look(view, waiting[id], refused[session.Place{FleetID: f.ID, Location: l.Location}], f, l.Location)
			}
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
	seen := map[session.Place]Memory{}
	now := time.Now()
	waiting := s.Placements.Waiting(view, now)
	for id, policies := range byFleet {
		f := s.Fleets.Get(view, id)
		if f == nil || f.Managed == nil {
			continue
		}
		for _, l := range f.Locations {
			if err := s.scale(ctx, f, l, policies, seen); err != nil {
				return err
			}
		}
	}
	s.memories = seen // forgets locations that are gone
	clear(s.minutes)
	return s.restAll(ctx, view, now, waiting)
}

// scale plans one location and acts on it.
func (s *Service) scale(ctx context.Context, f *fleet.Fleet, l fleet.LocationState, policies []*Policy, seen map[session.Place]Memory) error {
	at := session.Place{FleetID: f.ID, Location: l.Location}
	m := s.minutes[at]
	if m == nil || !l.Status.Serves() || l.ScalingStopped {
		return nil // earlier samples are dropped
	}
	memory := s.remember(at, policies)
	d, next := Plan(time.Now(), l.Capacity, m.sample(), policies, memory)
	seen[at] = next
	if d.Desired == l.Capacity.Desired {
		return nil
	}
	return s.act.Do(ctx, action{FleetID: f.ID, Location: l.Location, From: l.Capacity.Desired, To: d.Desired, Why: d.Why, By: d.By})
}

// remember returns the Memory of a location. Streaks come from the previous pass, except
// for policies that were put since; the times when policies last acted come from their
// rows.
func (s *Service) remember(at session.Place, policies []*Policy) Memory {
	m := s.memories[at]
	m.Acted = map[string]time.Time{}
	streaks := map[string]int{}
	for _, p := range policies {
		if acted, ok := p.Acted[at.Location]; ok {
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

// restAll scales locations to zero, if they are configured so, once they have been idle
// for Capacity.IdleAfter: no game session, and no placement waiting for one. Idle times
// are in memory only, so they begin anew after a restart.
func (s *Service) restAll(ctx context.Context, view store.Reader, now time.Time, waiting map[string]placement.Depth) error {
	idle := map[session.Place]time.Time{}
	for f := range s.Fleets.Managed(view) {
		for _, l := range f.Locations {
			at := session.Place{FleetID: f.ID, Location: l.Location}
			if !l.Rests() || s.busy(view, waiting[f.ID], f, l.Location) {
				continue
			}
			since, known := s.idle[at]
			if !known {
				since = now
			}
			idle[at] = since
			if now.Sub(since) < l.Capacity.IdleAfter {
				continue
			}
			if err := s.rest.Do(ctx, at); err != nil {
				return err
			}
		}
	}
	s.idle = idle
	return nil
}

// busy reports whether a location has game sessions, or placements that may need it are
// waiting.
func (s *Service) busy(r store.Reader, waiting placement.Depth, f *fleet.Fleet, location string) bool {
	if waiting.Pending > 0 {
		return true
	}
	for p := range s.Computes.Processes(r, f.ID, location) {
		if p.GameSessionID != "" {
			return true
		}
	}
	return false
}

func (s *Service) runRest(tx *store.Tx, at session.Place) error {
	f := s.Fleets.Get(tx, at.FleetID)
	if f == nil || s.busy(tx, s.Placements.Waiting(tx, tx.Now())[f.ID], f, at.Location) {
		return nil
	}
	if l := f.Place(at.Location); l != nil {
		s.Fleets.Capacities.Rest(tx, at.FleetID, at.Location, fmt.Sprintf("no game session for %s", l.Capacity.IdleAfter))
	}
	return nil
}
