package fleetiq

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wake"
)

// Deps are the services that a Service uses.
type Deps struct {
	Events *event.Log
	Tags   *tag.Service
	Hosts  *instance.Service
}

// Options are the options of a Service.
type Options struct {
	Home       arn.Home
	Groups     int                   // quota; 0 means unlimited
	Servers    int                   // quota of game servers of each group; 0 means unlimited
	Registerer prometheus.Registerer // nil disables metrics
}

// Service provides game server groups to the doors.
type Service struct {
	Groups    *Groups
	Servers   *Servers
	Instances *Instances

	st    *store.Store
	nudge wake.Nudge
	sweep *store.Action[sweepArgs]
}

// shared is what all parts of a Service use.
type shared struct {
	Deps
	opts  Options
	t     *tables
	nudge func()
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	s := &Service{st: st, nudge: wake.NewNudge()}
	sh := &shared{Deps: d, opts: o, t: newTables(st), nudge: s.nudge.Send}
	s.Groups = newGroups(st, sh)
	s.Instances = &Instances{sh, s.Groups}
	s.Servers = newServers(st, sh, s.Groups, s.Instances)
	st.OnLostCommits(s.lostCommits)
	s.sweep = store.NewAction(st, "game_server.sweep", s.runSweep)
	if o.Registerer != nil {
		o.Registerer.MustRegister(gauges{s, st})
	}
	return s
}

// sweepArgs say since when game servers can report their health: Muster may have been
// away before.
type sweepArgs struct{ Since time.Time }

// Run ends claims in time, deregisters game servers that no longer report their health,
// and completes the deletion of groups, until ctx is done.
func (s *Service) Run(ctx context.Context) {
	since := time.Now().Truncate(time.Millisecond)
	wake.Run(ctx, s.nudge, func(ctx context.Context) time.Time {
		if next := s.next(since); !wake.Passed(next, time.Now()) {
			return next
		}
		if err := s.sweep.Do(ctx, sweepArgs{since}); err != nil {
			return time.Now().Add(time.Second)
		}
		return s.next(since)
	})
}

// next returns when there is something to do, or zero.
func (s *Service) next(since time.Time) time.Time {
	view, t := s.st.View(), s.Groups.t
	unhealthy := t.unhealthy.NextDue(view)
	if first := since.Add(HealthTime); !unhealthy.IsZero() && unhealthy.Before(first) {
		unhealthy = first
	}
	return wake.Earliest(t.claimed.NextDue(view), unhealthy, t.leaving.NextDue(view))
}

func (s *Service) runSweep(tx *store.Tx, a sweepArgs) error {
	t, now := s.Groups.t, tx.Now()
	for v := range t.claimed.Due(tx, now) {
		s.Servers.release(tx, v)
	}
	if !now.Before(a.Since.Add(HealthTime)) {
		for v := range t.unhealthy.Due(tx, now) {
			s.Servers.remove(tx, v, event.GameServerUnhealthy, "it reported no health for "+HealthTime.String())
		}
	}
	for g := range t.leaving.Due(tx, now) {
		s.leave(tx, g)
		break // as much as one transaction should do
	}
	return nil
}

// leave continues the deletion of a group: it deregisters the next game servers, or
// removes the group if there are none.
func (s *Service) leave(tx *store.Tx, old *Group) {
	g := *old
	if g.Status == DeleteScheduled {
		g.move(Deleting)
		s.Groups.put(tx, &g)
	}
	n := 0
	for v := range s.Servers.Of(tx, g.Name, false, "") {
		if n++; n > store.DueAtOnce {
			return
		}
		s.Servers.remove(tx, v, event.GameServerDeregistered, "its group is being deleted")
	}
	g.move(Deleted)
	s.Groups.drop(tx, &g)
}
