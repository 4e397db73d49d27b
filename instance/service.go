package instance

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/tracing"
	"github.com/musterhq/muster/session"
)

// Options configure the service. Zero durations mean the defaults, which are AWS's
// published limits or, where AWS publishes none, values that AWS's SDKs tolerate.
type Options struct {
	InitTimeout     time.Duration // from a process's start to InitSDK; default 5 min
	InstanceTimeout time.Duration // from the installed build to the first ProcessReady; default 15 min
	Bake            time.Duration // how long a group of a new version must stay ready, until it counts for the deployment; default 30 s, below 0 none
	FailurePause    time.Duration // how long a fleet avoids a host that failed it; default 1 min
	ImpairGrace     time.Duration // from losing its agent until a host gets no more game sessions; default 60 s
	HostGrace       time.Duration // from losing its agent until a host is given up; default 210 s
	LeaveGrace      time.Duration // the same until its instances are replaced although games run there; default 15 min
	SecretLife      time.Duration // age of a host's credential at which its agent is sent another; default 30 days

	Tracer *tracing.Tracer // of the spans of instances that start; nil makes none
}

func (o Options) withDefaults() Options {
	o.InitTimeout = cmp.Or(o.InitTimeout, 5*time.Minute)
	o.InstanceTimeout = cmp.Or(o.InstanceTimeout, 15*time.Minute)
	o.Bake = max(0, cmp.Or(o.Bake, 30*time.Second))
	o.FailurePause = cmp.Or(o.FailurePause, time.Minute)
	o.ImpairGrace = cmp.Or(o.ImpairGrace, time.Minute)
	o.HostGrace = cmp.Or(o.HostGrace, 210*time.Second)
	o.LeaveGrace = cmp.Or(o.LeaveGrace, 15*time.Minute)
	o.SecretLife = cmp.Or(o.SecretLife, 30*24*time.Hour)
	return o
}

// Deps are the services that a Service uses.
type Deps struct {
	Events   *event.Log
	Tags     *tag.Service
	Fleets   *fleet.Service
	Computes *compute.Service
	Sessions *session.Service
}

// Service is the interface for doors and the packages above. It implements
// compute.Hosting.
type Service struct {
	*tokens    // with which machines join
	*hosts     // the machines
	*instances // on them
	*launches  // processes that have not connected yet
	*reports   // of the hosts' agents
	*planner   // keeps as many instances as are desired
	*launchers // end processes
	*starts    // spans of instances that start
}

// shared is what all parts of a Service use.
type shared struct {
	Deps
	st     *store.Store
	opts   Options
	starts *starts
	graces compute.Options
	wake   func() // makes the capacity loop look at the deadlines again
	replan func() // makes it plan again
}

// New registers the package's tables and commands on the store, and the service with
// d.Computes.
func New(st *store.Store, d Deps, o Options) *Service {
	s := &Service{launchers: &launchers{}, starts: &starts{tracer: o.Tracer}}
	sh := &shared{
		Deps: d, st: st, opts: o.withDefaults(), starts: s.starts, graces: d.Computes.Options(),
		wake: func() { s.planner.loop.Nudge() }, replan: func() { s.planner.again() },
	}
	s.tokens = newTokens(sh)
	s.instances = newInstances(sh)
	s.launches = newLaunches(sh, s.instances, s.launchers)
	s.hosts = newHosts(sh, s.tokens, s.launches)
	s.launches.host = s.hosts.Host
	s.reports = newReports(sh, s.hosts)
	s.planner = newPlanner(sh, s.hosts)
	d.Computes.HostedBy(s)
	return s
}

// Ended makes sure that a process that has ended is gone from its host. A drain may have
// waited for it (compute.Hosting).
func (s *Service) Ended(ref compute.Ref, why event.Code) {
	s.launchers.end(ref, why)
	if s.instances.drains(s.instances.st.View(), ref) {
		s.planner.again()
	}
}

// Launcher starts and kills processes on its own computes.
type Launcher interface {
	// Owns reports whether it runs the process and can kill it.
	Owns(compute.Ref) bool
	// Ended is called after commit when Muster counts the process as ended, or when the
	// process never connected and must end. The launcher makes sure that it is gone.
	Ended(ref compute.Ref, why event.Code)
}

// launchers holds what starts processes for this Muster.
type launchers struct{ all []Launcher }

// AddLauncher registers l. It must be called before traffic.
func (ls *launchers) AddLauncher(l Launcher) { ls.all = append(ls.all, l) }

// CanKill reports whether a launcher runs the process (compute.Hosting).
func (ls *launchers) CanKill(ref compute.Ref) bool {
	return slices.ContainsFunc(ls.all, func(l Launcher) bool { return l.Owns(ref) })
}

// end notifies the launchers, one of which ends the process.
func (ls *launchers) end(ref compute.Ref, why event.Code) {
	for _, l := range ls.all {
		l.Ended(ref, why)
	}
}
