package instance

import (
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/state"
	"github.com/musterhq/muster/internal/wake"
)

// Instance is a share of a host that runs one copy of a managed fleet's runtime
// configuration, or of a container fleet's groups. The name of its compute is its id; in a
// container fleet each slot is a compute (compute.GroupName).
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

	// Of a container fleet:
	Slots  int     `json:"slots,omitzero"`  // game server container groups
	Stride int     `json:"stride,omitzero"` // ports of each
	Groups []Group `json:"groups,omitzero"`

	// As its host reports it.
	Phase Phase      `json:"phase,omitzero"`
	Code  event.Code `json:"code,omitzero"`  // what is wrong
	Cause string     `json:"cause,omitzero"` // the same, as a sentence
	Gone  bool       `json:"gone,omitzero"`  // nothing is left of it

	Stop   Stop      `json:"stop,omitzero"`
	Forced bool      `json:"forced,omitzero"` // protected game sessions end too
	Spare  bool      `json:"spare,omitzero"`  // no game session is ended, protected or not
	Failed bool      `json:"failed,omitzero"`
	Hinted bool      `json:"hinted,omitzero"`  // an event has reported that a process on it did not connect
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

// Spares says which game sessions on an ending instance are played to their end.
type Spares int

// Which game sessions are spared.
const (
	SparesProtected Spares = iota // those that are protected
	SparesAll
	SparesNone
)

// spares returns which game sessions are spared while the instance ends.
func (i *Instance) spares() Spares {
	switch {
	case i.Forced:
		return SparesNone
	case i.Spare:
		return SparesAll
	}
	return SparesProtected
}

// spare sets which game sessions are spared. SparesNone is final.
func (i *Instance) spare(what Spares) {
	i.Forced = i.Forced || what == SparesNone
	i.Spare = (i.Spare || what == SparesAll) && !i.Forced
}

// evicted reports whether the end of the instance has begun and spares no game session.
func (i *Instance) evicted() bool { return i.Stop != Keep && i.Forced }

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
	{Pending, Terminating}:    "no longer desired, or its host failed to run it",
	{Active, Terminating}:     "no longer desired, or failed",
	{Pending, Terminated}:     "host lost",
	{Active, Terminated}:      "host lost",
	{Terminating, Terminated}: "nothing is left of it, or the grace passed",
}

func (i *Instance) move(to Status) { Moves.Move(&i.Status, to, i.ID) }

func (i *Instance) key() string { return compute.Key(i.FleetID, i.ID) }

// due returns the earliest of the instance's deadlines, or zero.
func (i *Instance) due() time.Time { return wake.Earliest(i.StopBy, i.ReadyBy, i.KeepBy, i.newUntil()) }
