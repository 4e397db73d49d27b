package instance

import (
	"iter"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/state"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Instance is a share of a host that runs one copy of a managed fleet's runtime
// configuration. The name of its compute is its id.
type Instance struct {
	ID        string    `json:"id"`
	FleetID   string    `json:"fleet_id"`
	Location  string    `json:"location"`
	HostID    string    `json:"host_id"`
	Status    Status    `json:"status"`
	CPUMillis int       `json:"cpu_millis"`
	MemoryMiB int       `json:"memory_mib"`
	PortFrom  int       `json:"port_from"`
	PortTo    int       `json:"port_to"`
	Created   time.Time `json:"created"`

	// As its host reports it.
	Phase Phase      `json:"phase,omitzero"`
	Code  event.Code `json:"code,omitzero"`  // what is wrong
	Cause string     `json:"cause,omitzero"` // the same, as a sentence
	Gone  bool       `json:"gone,omitzero"`  // nothing is left of it

	Stop   Stop      `json:"stop,omitzero"`
	Forced bool      `json:"forced,omitzero"` // protected game sessions end too
	Spare  bool      `json:"spare,omitzero"`  // no game session is ended, protected or not
	Failed bool      `json:"failed,omitzero"`
	Hinted bool      `json:"hinted,omitzero"`  // a process on it did not connect, and its developer was told
	StopBy time.Time `json:"stop_by,omitzero"` // counted as gone from then on, zero: no deadline yet

	ReadyBy time.Time `json:"ready_by,omitzero"` // must have a ready process by then
	KeepBy  time.Time `json:"keep_by,omitzero"`  // if failed: its fleet avoids the host until then
}

// Phase is how far an instance has come on its host.
type Phase string

// The phases that a host reports.
const (
	Downloading Phase = "DOWNLOADING"
	Validating  Phase = "VALIDATING"
	Building    Phase = "BUILDING"
	Activating  Phase = "ACTIVATING" // processes are kept running
	Draining    Phase = "DRAINING"
	PhaseFailed Phase = "FAILED"
	PhaseGone   Phase = "GONE"
)

// Stop says how an instance is to end.
type Stop string

// The ways to end an instance.
const (
	Keep  Stop = ""
	Drain Stop = "DRAIN" // its processes are told to end; by force at StopBy, if that is set
	End   Stop = "STOP"  // immediately
)

// Status is the state of an instance, with the API's spelling.
type Status string

// The states of an instance.
const (
	Pending     Status = "PENDING"
	Active      Status = "ACTIVE" // a process on it has been ready
	Terminating Status = "TERMINATING"
	Terminated  Status = "TERMINATED" // and forgotten
)

// Moves lists each allowed change of an instance's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Pending}:             "a host has room for it",
	{Pending, Active}:         "first ProcessReady",
	{Pending, Terminating}:    "not wished for any more, or its host failed to run it",
	{Active, Terminating}:     "not wished for any more, or failed",
	{Pending, Terminated}:     "host lost",
	{Active, Terminated}:      "host lost",
	{Terminating, Terminated}: "nothing is left of it, or the grace passed",
}

func (i *Instance) move(to Status) { Moves.Move(&i.Status, to, i.ID) }

func (i *Instance) key() string { return compute.Key(i.FleetID, i.ID) }

// due returns the earliest of the instance's deadlines, or zero.
func (i *Instance) due() time.Time {
	var first time.Time
	for _, t := range []time.Time{i.StopBy, i.ReadyBy, i.KeepBy} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// Instance returns an instance by id, or nil.
func (s *Service) Instance(r store.Reader, id string) *Instance {
	if i := s.t.instances.Get(r, id); i != nil && !i.Gone {
		return i
	}
	return nil
}

// Instances returns the instances of a fleet, ordered by id; location "" means all.
func (s *Service) Instances(r store.Reader, fleetID, location string) iter.Seq[*Instance] {
	prefix := store.Key(fleetID)
	if location != "" {
		prefix = store.Key(fleetID, location)
	}
	return func(yield func(*Instance) bool) {
		for _, i := range s.t.ofFleet.Prefix(r, prefix) {
			if !i.Gone && !yield(i) {
				return
			}
		}
	}
}

// Impaired reports whether the instance's host is impaired, so that the instance gets
// no new game sessions.
func (s *Service) Impaired(r store.Reader, i *Instance) bool {
	h := s.t.hosts.Get(r, i.HostID)
	return h == nil || h.Impaired()
}

// HostOf returns the host of the instance whose compute a process is on.
func (s *Service) HostOf(r store.Reader, ref compute.Ref) (hostID string, ok bool) {
	i := s.t.instances.Get(r, ref.ComputeName)
	if i == nil || i.FleetID != ref.FleetID {
		return "", false
	}
	return i.HostID, true
}

// Counts holds the number of instances of a fleet's location, by state.
type Counts struct{ Pending, Active, Idle, Terminating int }

// Counts counts the instances of a fleet's location; "" means all. Idle ones are
// ACTIVE without a game session. Pending ones include those that wait for a host.
func (s *Service) Counts(r store.Reader, f *fleet.Fleet, location string) Counts {
	var c Counts
	for i := range s.Instances(r, f.ID, location) {
		switch i.Status {
		case Pending:
			c.Pending++
		case Active:
			c.Active++
			if s.computes.Hosted(r, i.FleetID, i.ID) == 0 {
				c.Idle++
			}
		case Terminating:
			c.Terminating++
		}
	}
	for _, l := range f.Locations {
		if l.WaitsForHost && (location == "" || l.Location == location) {
			n := 0
			for i := range s.Instances(r, f.ID, l.Location) {
				if i.Stop == Keep {
					n++
				}
			}
			c.Pending += max(0, l.Capacity.Desired-n)
		}
	}
	return c
}

// load returns what an instance hosts.
func (s *Service) load(r store.Reader, i *Instance) (sessions, players int, protected bool) {
	for p := range s.computes.On(r, i.FleetID, i.ID) {
		if p.GameSessionID == "" {
			continue
		}
		sessions++
		n, kept := s.players(r, p.GameSessionID)
		players += n
		protected = protected || kept
	}
	return sessions, players, protected
}

// players returns the number of players of a game session, and whether it is protected
// from being ended when its instance is removed.
func (s *Service) players(r store.Reader, gameSessionID string) (players int, protected bool) {
	g := s.sessions.Live(r, gameSessionID)
	if g == nil || g.Status.Ended() {
		return 0, false
	}
	return s.sessions.Players(r, g.ID), g.Protection == fleet.FullProtection
}

// sessionUpdated plans again if the protection of a game session may hold up a drain.
func (s *Service) sessionUpdated(tx *store.Tx, g *session.GameSession) {
	if i := s.t.instances.Get(tx, compute.ParseRef(g.ProcessKey).ComputeName); i != nil && i.Stop == Drain {
		tx.OnCommit(s.capacity.Nudge)
	}
}
