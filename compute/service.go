package compute

import (
	"context"
	"iter"
	"net/netip"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wake"
)

// Options configure the service. Zero durations mean the defaults, which are AWS's
// published limits or, where AWS publishes none, values that AWS's SDKs tolerate.
type Options struct {
	ReadyTimeout   time.Duration // from InitSDK to ProcessReady; default 5 min
	StopGrace      time.Duration // from being told to stop to being given up; default 5 min
	UnhealthyGrace time.Duration // the same for an unhealthy process; default 30 s
	ReconnectGrace time.Duration // from losing its socket to being given up; default 240 s
	RestartGrace   time.Duration // the same after a restart of Muster; default 300 s
	TokenLife      time.Duration // of a compute's auth token; default 3 h

	ComputesAFleet int          // quota; 0 means no limit
	Tokens         *auth.Master // required
}

func (o Options) withDefaults() Options {
	fill := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	fill(&o.ReadyTimeout, 5*time.Minute)
	fill(&o.StopGrace, 5*time.Minute)
	fill(&o.UnhealthyGrace, 30*time.Second)
	fill(&o.ReconnectGrace, 240*time.Second)
	fill(&o.RestartGrace, 300*time.Second)
	fill(&o.TokenLife, 3*time.Hour)
	return o
}

// Deps are the services that a Service uses.
type Deps struct {
	Events *event.Log
	Fleets *fleet.Service
	Tags   *tag.Service
}

// Service is the interface for doors and the packages above.
type Service struct {
	st       *store.Store
	opts     Options
	events   *event.Log
	fleets   *fleet.Service
	tags     *tag.Service
	t        tables
	links    links
	loop     *wake.Loop
	hosting  Hosting
	ended    []func(*store.Tx, *Process)
	free     []func()
	stopping []func(*store.Tx, *Process)
	cmd      commands
}

type commands struct {
	register   *store.Command[RegisterInput, *Compute]
	deregister *store.Command[computeArgs, struct{}]
	connect    *store.Command[ConnectInput, *Process]
	disconnect *store.Command[string, struct{}]
	ready      *store.Command[ReadyInput, struct{}]
	hear       *store.Command[string, struct{}]
	end        *store.Command[endArgs, struct{}]
	notice     *store.Command[noticeArgs, struct{}]
	unhealthy  *store.Command[endArgs, struct{}]
	restart    *store.Command[struct{}, int]
	sweep      *store.Command[struct{}, struct{}]
}

// New registers the package's tables and commands on the store.
func New(st *store.Store, d Deps, o Options) *Service {
	s := &Service{
		st: st, opts: o.withDefaults(), events: d.Events, fleets: d.Fleets, tags: d.Tags,
		t: newTables(st), links: links{m: map[string]Link{}},
		hosting: nobody{},
	}
	s.cmd = commands{
		register:   store.NewCommand(st, "compute.register", s.runRegister),
		deregister: store.NewCommand(st, "compute.deregister", s.runDeregister),
		connect:    store.NewCommand(st, "process.connect", s.runConnect),
		disconnect: store.NewCommand(st, "process.disconnect", s.runDisconnect),
		ready:      store.NewCommand(st, "process.ready", s.runReady),
		hear:       store.NewCommand(st, "process.hear", s.runHear),
		end:        store.NewCommand(st, "process.end", s.runEnd),
		notice:     store.NewCommand(st, "process.notice", s.runNotice),
		unhealthy:  store.NewCommand(st, "process.unhealthy", s.runUnhealthy),
		restart:    store.NewCommand(st, "process.restart", s.runRestart),
		sweep:      store.NewCommand(st, "process.sweep", s.runSweep),
	}
	s.loop = wake.NewLoop(s.next, s.sweep)
	d.Fleets.OnDeleting(s.loop.Nudge)
	d.Tags.Kind("compute", s.taggable)
	return s
}

// OnEnded registers f to be called in each transaction that ends a process, with the
// process as it last was. It must be called before the store is opened.
func (s *Service) OnEnded(f func(*store.Tx, *Process)) { s.ended = append(s.ended, f) }

// OnStopping registers f to be called in each transaction that tells a process to end.
// It must be called before the store is opened.
func (s *Service) OnStopping(f func(*store.Tx, *Process)) { s.stopping = append(s.stopping, f) }

// OnFree registers f to be called after each commit that may make a placement possible:
// a process became free, or a compute may activate one more game session. It must be
// called before the store is opened.
func (s *Service) OnFree(f func()) { s.free = append(s.free, f) }

func (s *Service) nowFree(tx *store.Tx) {
	for _, f := range s.free {
		tx.OnCommit(f)
	}
}

// Options returns the options, with the defaults in place of zero values.
func (s *Service) Options() Options { return s.opts }

// RegisterInput describes a compute to register.
type RegisterInput struct {
	FleetID, Name, Location             string
	IPAddress, DNSName, CertificatePath string
}

type computeArgs struct{ FleetID, Name string }

// Register adds a machine to an Anywhere fleet.
// Errors: InvalidRequest, Conflict (name taken in the fleet), LimitExceeded, NotReady (fleet not ACTIVE).
func (s *Service) Register(ctx context.Context, in RegisterInput) (*Compute, error) {
	return s.cmd.register.Do(ctx, in)
}

func (s *Service) runRegister(tx *store.Tx, in RegisterInput) (*Compute, error) {
	f := s.fleets.Get(tx, in.FleetID)
	if f == nil {
		return nil, fault.Invalid("FleetId: fleet %s does not exist", in.FleetID)
	}
	if err := s.checkRegister(tx, f, in); err != nil {
		return nil, err
	}
	c := &Compute{
		Key: Key(f.ID, in.Name), FleetID: f.ID, Name: in.Name, Location: in.Location,
		IPAddress: in.IPAddress, DNSName: in.DNSName, CertificatePath: in.CertificatePath, Registered: tx.Now(),
	}
	s.t.computes.Put(tx, c)
	s.events.Append(tx, event.Event{Code: event.ComputeRegistered, FleetID: f.ID, Location: c.Location, ComputeName: c.Name})
	return c, nil
}

func (s *Service) checkRegister(r store.Reader, f *fleet.Fleet, in RegisterInput) error {
	switch {
	case f.ComputeType != fleet.Anywhere:
		return fault.Invalid("FleetId: computes register with ANYWHERE fleets only; %s is %s", f.ID, f.ComputeType)
	case f.Status != fleet.Active:
		return fault.New(fault.NotReady, "FleetId: fleet %s is in status %s; it must be ACTIVE", f.ID, f.Status)
	case in.Location == "":
		return fault.Invalid("Location: required for an ANYWHERE fleet")
	case !f.Has(in.Location):
		return fault.Invalid("Location: %s is not a location of fleet %s", in.Location, f.ID)
	case in.IPAddress == "":
		return fault.Invalid("IpAddress: required for an ANYWHERE fleet; players are given DnsName where there is one")
	case !isAddress(in.IPAddress):
		return fault.Invalid("IpAddress: %q is no IPv4 or IPv6 address", in.IPAddress)
	case s.t.computes.Get(r, Key(f.ID, in.Name)) != nil:
		return fault.New(fault.Conflict, "ComputeName: %s is registered in fleet %s already", in.Name, f.ID)
	}
	if q := s.opts.ComputesAFleet; q > 0 && s.t.inFleet.Count(r, store.Key(f.ID)) >= q {
		return fault.New(fault.LimitExceeded, "fleet %s has %d computes, which is the quota", f.ID, q)
	}
	return nil
}

func isAddress(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == ""
}

// Deregister removes a compute. What runs on it counts as ended immediately and is told
// to end; its sockets are dropped after a moment. Errors: NotFound.
func (s *Service) Deregister(ctx context.Context, fleetID, name string) error {
	_, err := s.cmd.deregister.Do(ctx, computeArgs{fleetID, name})
	return err
}

func (s *Service) runDeregister(tx *store.Tx, a computeArgs) (struct{}, error) {
	c, err := s.Find(tx, a.FleetID, a.Name)
	if err != nil {
		return struct{}{}, err
	}
	if c.InstanceID != "" {
		return struct{}{}, fault.Invalid("ComputeName: %s is an instance of fleet %s, which UpdateFleetCapacity removes", c.Name, c.FleetID)
	}
	s.remove(tx, c)
	return struct{}{}, nil
}

// remove deletes a compute together with its processes.
func (s *Service) remove(tx *store.Tx, c *Compute) {
	for p := range s.t.onCompute.Equal(tx, c.Key) {
		s.finish(tx, p, event.ComputeDeregistered, "compute "+c.Name+" was deregistered")
	}
	s.t.computes.Delete(tx, c.Key)
	s.tags.Drop(tx, s.ARN(c))
	s.events.Append(tx, event.Event{Code: event.ComputeDeregistered, FleetID: c.FleetID, Location: c.Location, ComputeName: c.Name})
}

// Find returns a compute of a fleet. Errors: NotFound.
func (s *Service) Find(r store.Reader, fleetID, name string) (*Compute, error) {
	f, err := s.fleets.Find(r, fleetID)
	if err != nil {
		return nil, err
	}
	if c := s.t.computes.Get(r, Key(f.ID, name)); c != nil {
		return c, nil
	}
	return nil, fault.Missing("ComputeName: compute %s does not exist in fleet %s", name, f.ID)
}

// Get returns a compute, or nil.
func (s *Service) Get(r store.Reader, fleetID, name string) *Compute {
	return s.t.computes.Get(r, Key(fleetID, name))
}

// PutInstance writes the compute of an instance.
func (s *Service) PutInstance(tx *store.Tx, c *Compute) { s.t.computes.Put(tx, c) }

// DropInstance deletes the compute of an instance on which nothing runs.
func (s *Service) DropInstance(tx *store.Tx, fleetID, name string) {
	if s.Get(tx, fleetID, name) != nil {
		s.t.computes.Delete(tx, Key(fleetID, name))
	}
}

// InFleet returns the computes of a fleet, ordered by name.
func (s *Service) InFleet(r store.Reader, fleetID string) iter.Seq[*Compute] {
	return s.t.inFleet.Equal(r, store.Key(fleetID))
}

// ARN returns a compute's ARN: compute/FLEET-ID/NAME (AWS does not document its form).
func (s *Service) ARN(c *Compute) string {
	return s.fleets.Home().Of("compute", c.FleetID+"/"+c.Name)
}

// HasFleet reports whether a fleet exists.
func (s *Service) HasFleet(r store.Reader, fleetID string) bool {
	return s.fleets.Get(r, fleetID) != nil
}

// IssueToken returns a token with which processes on the compute may connect.
func (s *Service) IssueToken(c *Compute, now time.Time) (token string, expires time.Time) {
	expires = now.Add(s.opts.TokenLife).Truncate(time.Second)
	return s.opts.Tokens.Issue(grant(c), expires), expires
}

// CheckToken returns an error unless a token lets the process connect now. An expired
// token remains valid for a process that is known and has not ended.
func (s *Service) CheckToken(ref Ref, token string, now time.Time) error {
	view := s.st.View()
	c := s.t.computes.Get(view, Key(ref.FleetID, ref.ComputeName))
	if c == nil {
		return fault.New(fault.Unauthorized, "compute %s of fleet %s is not registered", ref.ComputeName, ref.FleetID)
	}
	expires, ok := s.opts.Tokens.Check(token, grant(c))
	if !ok {
		return fault.New(fault.Unauthorized, "the auth token was not issued for compute %s of fleet %s", ref.ComputeName, ref.FleetID)
	}
	if now.After(expires) && !s.Lives(view, ref) {
		return fault.New(fault.Unauthorized, "the auth token ended at %s", expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// Lives reports whether the process is known and has not ended.
func (s *Service) Lives(r store.Reader, ref Ref) bool {
	p := s.t.processes.Get(r, ref.Key())
	return p != nil && p.Status != Terminated
}

func grant(c *Compute) auth.ComputeGrant {
	return auth.ComputeGrant{FleetID: c.FleetID, ComputeName: c.Name, Registered: c.Registered}
}

func (s *Service) taggable(r store.Reader, resourceARN string) bool {
	fleetID, name, _ := strings.Cut(s.fleets.Home().ID("compute", resourceARN), "/")
	return s.t.computes.Get(r, Key(fleetID, name)) != nil
}
