package instance

import (
	"context"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/provider"
	"github.com/musterhq/muster/session"
)

// Options configure the service. Zero durations mean the defaults, which are AWS's
// published limits or, where AWS publishes none, values that AWS's SDKs tolerate.
type Options struct {
	InitTimeout     time.Duration // from a process's start to InitSDK; default 5 min
	InstanceTimeout time.Duration // from the installed build to the first ProcessReady; default 15 min
	FailurePause    time.Duration // how long a fleet avoids a host that failed it; default 1 min
	ImpairGrace     time.Duration // from losing its agent until a host gets no more game sessions; default 60 s
	HostGrace       time.Duration // from losing its agent until a host is given up; default 210 s
	LeaveGrace      time.Duration // the same until its instances are replaced although games run there; default 15 min
	SecretLife      time.Duration // age of a host's credential at which its agent is sent another; default 30 days
}

func (o Options) withDefaults() Options {
	fill := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	fill(&o.InitTimeout, 5*time.Minute)
	fill(&o.InstanceTimeout, 15*time.Minute)
	fill(&o.FailurePause, time.Minute)
	fill(&o.ImpairGrace, time.Minute)
	fill(&o.HostGrace, 210*time.Second)
	fill(&o.LeaveGrace, 15*time.Minute)
	fill(&o.SecretLife, 30*24*time.Hour)
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

// Service is the interface for doors and the packages above.
type Service struct {
	st        *store.Store
	opts      Options
	graces    compute.Options
	provider  provider.Provider
	events    *event.Log
	fleets    *fleet.Service
	tags      *tag.Service
	computes  *compute.Service
	sessions  *session.Service
	t         tables
	capacity  *wake.Loop
	launchers []Launcher
	onAssign  []func(hostID string)
	cmd       commands
}

// Launcher starts and kills processes on its own computes.
type Launcher interface {
	// Owns reports whether it runs the process and can kill it.
	Owns(compute.Ref) bool
	// Ended is called after commit when Muster counts the process as ended, or wants
	// it to end (it never connected). The launcher makes sure that it is gone.
	Ended(ref compute.Ref, why event.Code)
}

type commands struct {
	joinToken     *store.Command[tokenArgs, *JoinToken]
	revokeToken   *store.Command[string, struct{}]
	join          *store.Command[joinArgs, *Host]
	drainHost     *store.Command[string, struct{}]
	resumeHost    *store.Command[string, struct{}]
	removeHost    *store.Command[removeHostArgs, bool]
	rotateHost    *store.Command[string, struct{}]
	offerSecret   *store.Command[secretArgs, struct{}]
	secretKept    *store.Command[secretArgs, struct{}]
	usedElsewhere *store.Command[elsewhereArgs, struct{}]
	hostConnected *store.Command[presenceArgs, struct{}]
	hostLost      *store.Command[string, struct{}]
	report        *store.Command[HostReport, struct{}]
	exited        *store.Command[ExitReport, Evidence]
	capacity      *store.Command[struct{}, struct{}]
}

// New registers the package's tables and commands on the store, and the service at
// d.Computes.
func New(st *store.Store, d Deps, o Options) *Service {
	s := &Service{
		st: st, opts: o.withDefaults(), graces: d.Computes.Options(), provider: provider.Process{}, events: d.Events, fleets: d.Fleets,
		tags: d.Tags, computes: d.Computes, sessions: d.Sessions, t: newTables(st),
	}
	s.cmd = commands{
		joinToken:     store.NewCommand(st, "host.join_token", s.runJoinToken),
		revokeToken:   store.NewCommand(st, "host.revoke_join_token", s.runRevokeJoinToken),
		join:          store.NewCommand(st, "host.join", s.runJoin),
		drainHost:     store.NewCommand(st, "host.drain", s.runDrainHost),
		resumeHost:    store.NewCommand(st, "host.resume", s.runResumeHost),
		removeHost:    store.NewCommand(st, "host.remove", s.runRemoveHost),
		rotateHost:    store.NewCommand(st, "host.rotate", s.runRotateHost),
		offerSecret:   store.NewCommand(st, "host.offer_secret", s.runOfferSecret),
		secretKept:    store.NewCommand(st, "host.secret_kept", s.runSecretKept),
		usedElsewhere: store.NewCommand(st, "host.used_elsewhere", s.runUsedElsewhere),
		hostConnected: store.NewCommand(st, "host.connected", s.runHostConnected),
		hostLost:      store.NewCommand(st, "host.lost", s.runHostLost),
		report:        store.NewCommand(st, "host.report", s.runReport),
		exited:        store.NewCommand(st, "host.process_exited", s.runExited),
		capacity:      store.NewCommand(st, "capacity.plan", s.runCapacity),
	}
	s.capacity = wake.NewLoop(s.nextCapacity, func(ctx context.Context) error {
		_, err := s.cmd.capacity.Do(ctx, struct{}{})
		return err
	})
	d.Fleets.OnDesired(s.capacity.Nudge)
	d.Fleets.OnRuntime(s.tellFleet)
	d.Sessions.OnUpdated(s.sessionUpdated)
	d.Computes.HostedBy(s)
	return s
}

// AddLauncher adds l to what starts processes for this Muster. It must be called before
// traffic.
func (s *Service) AddLauncher(l Launcher) { s.launchers = append(s.launchers, l) }

// CanKill reports whether a launcher runs the process (compute.Hosting).
func (s *Service) CanKill(ref compute.Ref) bool {
	for _, l := range s.launchers {
		if l.Owns(ref) {
			return true
		}
	}
	return false
}

// Ended makes sure that a process that has ended is gone from its host, and plans
// again (compute.Hosting).
func (s *Service) Ended(ref compute.Ref, why event.Code) {
	s.endOnHost(ref, why)
	s.capacity.Nudge()
}

func (s *Service) endOnHost(ref compute.Ref, why event.Code) {
	for _, l := range s.launchers {
		l.Ended(ref, why)
	}
}

// Behind returns the host of an instance's compute, and whether a new process may start
// there: not on an instance that is to end (compute.Hosting).
func (s *Service) Behind(r store.Reader, c *compute.Compute) (at compute.Host, open bool) {
	i := s.t.instances.Get(r, c.InstanceID)
	if i == nil {
		return compute.Host{}, false
	}
	if h := s.t.hosts.Get(r, i.HostID); h != nil {
		at = compute.Host{ID: h.ID, Impaired: h.Impaired()}
	}
	return at, i.Stop == Keep
}

// Connected forgets the launch of a process that has connected (compute.Hosting).
func (s *Service) Connected(tx *store.Tx, p *compute.Process) { s.t.launches.Delete(tx, p.Key) }

// Left reports whether instances of a fleet, or of one of its locations ("" means all),
// are left, and whether Clear would change any of them (compute.Hosting).
func (s *Service) Left(r store.Reader, fleetID, location string) (left, running bool) {
	for i := range s.Instances(r, fleetID, location) {
		if !i.Forced {
			return true, true
		}
		left = true
	}
	return left, false
}
