package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/state"
	"github.com/musterhq/muster/internal/store"
)

// Status is the state of a fleet or of one of its locations, spelled as the API's FleetStatus.
type Status string

// The states of a fleet.
const (
	Made        Status = "NEW"
	Downloading Status = "DOWNLOADING" // a host fetches the build, or none is available yet
	Validating  Status = "VALIDATING"  // the build is unpacked and its launch paths are checked
	Building    Status = "BUILDING"    // the build is installed
	Activating  Status = "ACTIVATING"  // the first processes start
	Active      Status = "ACTIVE"
	Error       Status = "ERROR"
	Deleting    Status = "DELETING"
	Terminated  Status = "TERMINATED"
	NotFound    Status = "NOT_FOUND" // for a location whose custom location was deleted
)

// The further states of a container fleet.
const (
	Pending  Status = "PENDING"
	Creating Status = "CREATING" // hosts are asked for capacity, and fetch the images
	Created  Status = "CREATED"  // it has no game server container group, so nothing runs
	Updating Status = "UPDATING" // it hosts game sessions while a deployment replaces its container groups
)

// Moves lists each allowed change of the status of a fleet or a location and what causes it.
// ContainerMoves lists those of container fleets.
var Moves = state.Machine[Status]{
	{"", Made}:                "CreateFleet (EC2)",
	{Made, Downloading}:       "the build is READY: hosts are asked for capacity",
	{Downloading, Validating}: "a host has the build",
	{Validating, Building}:    "launch paths found",
	{Building, Activating}:    "installed: processes start",
	{Activating, Active}:      "first ProcessReady, or no instance is desired",
	{Made, Error}:             "creation failed",
	{Downloading, Error}:      "the build did not arrive",
	{Validating, Error}:       "unusable build or launch path",
	{Building, Error}:         "install script failed",
	{Activating, Error}:       "processes crash, or none becomes ready",
	{Made, Deleting}:          "DeleteFleet",
	{Downloading, Deleting}:   "DeleteFleet",
	{Validating, Deleting}:    "DeleteFleet",
	{Building, Deleting}:      "DeleteFleet",
	{Activating, Deleting}:    "DeleteFleet",
	{Error, Deleting}:         "DeleteFleet",
	{"", Active}:              "CreateFleet (ANYWHERE)",
	{Active, Deleting}:        "DeleteFleet",
	{Deleting, Terminated}:    "last process ended",
}

// ContainerMoves lists each allowed change of the status of a container fleet or of one of
// its locations, and what causes it.
var ContainerMoves = state.Machine[Status]{
	{"", Pending}:          "CreateContainerFleet",
	{Pending, Creating}:    "hosts are asked for capacity, or none is needed",
	{Creating, Created}:    "no game server container group is set",
	{Creating, Activating}: "the images are on a host: container groups start",
	{Created, Activating}:  "UpdateContainerFleet sets a game server container group",
	{Activating, Active}:   "first ProcessReady, or no instance is desired",
	{Active, Updating}:     "a deployment begins",
	{Updating, Active}:     "the deployment has ended",
	{Pending, Deleting}:    "DeleteContainerFleet",
	{Creating, Deleting}:   "DeleteContainerFleet",
	{Created, Deleting}:    "DeleteContainerFleet",
	{Activating, Deleting}: "DeleteContainerFleet",
	{Active, Deleting}:     "DeleteContainerFleet",
	{Updating, Deleting}:   "DeleteContainerFleet",
	{Deleting, Terminated}: "last container group ended",
}

func (f *Fleet) moves() state.Machine[Status] {
	if f.Containers != nil {
		return ContainerMoves
	}
	return Moves
}

func (f *Fleet) move(to Status) { f.moves().Move(&f.Status, to, f.ID) }

// moveAt changes the status of one of the fleet's locations.
func (f *Fleet) moveAt(l *LocationState, to Status) { f.moves().Move(&l.Status, to, l.Location) }

// startup lists the statuses of a managed fleet, and of each of its locations, from
// CreateFleet to the first ready game server process.
var startup = []Status{Made, Downloading, Validating, Building, Activating, Active}

// containerStartup lists those of a container fleet.
var containerStartup = []Status{Pending, Creating, Activating, Active}

func (f *Fleet) startup() []Status {
	if f.Containers != nil {
		return containerStartup
	}
	return startup
}

// reached returns the status of the fleet's startup for a status of a build's startup, in
// which hosts report: they fetch images as they do builds, and then start groups.
func (f *Fleet) reached(s Status) Status {
	if f.Containers == nil {
		return s
	}
	switch s {
	case Downloading:
		return Creating
	case Validating, Building:
		return Activating
	}
	return s
}

// Starting reports whether a status precedes ACTIVE in the startup of a fleet.
func (s Status) Starting() bool {
	return s != Active && (slices.Contains(startup, s) || slices.Contains(containerStartup, s))
}

// New reports whether hosts have not been asked for capacity yet.
func (s Status) New() bool { return s == Made || s == Pending }

// Idle reports whether the location of a fleet that is ACTIVE waits for nothing before it is: it is
// to have no instances.
func (l LocationState) Idle(f *Fleet) bool {
	return f.Status.Serves() && l.Status.Starting() && (l.Capacity.Desired == 0 || l.Unused)
}

// Serves reports whether a fleet or location in the status hosts game sessions.
func (s Status) Serves() bool { return s == Active || s == Updating }

// startupEvents lists the events of a fleet that reaches a status; the text "" names the
// status.
var startupEvents = map[Status][]struct {
	code event.Code
	text string
}{
	Downloading: {{event.FleetStateDownloading, ""}},
	Validating: {
		{event.FleetExtractingBuild, "The build is unpacked on a host"},
		{event.FleetStateValidating, ""},
		{event.FleetValidatingRuntime, "The launch paths of the runtime configuration are looked for in the build"},
	},
	Building: {
		{event.FleetStateBuilding, ""},
		{event.FleetRunningInstaller, "The build is installed, by its install script where it has one"},
	},
	Activating: {
		{event.FleetCompletedInstaller, "The build is installed"},
		{event.FleetStateActivating, ""},
	},
	Active: {{event.FleetStateActive, ""}},
}

// containerEvents has the event of a container fleet that reaches a status, and that of
// its location.
var containerEvents = map[Status]struct{ fleet, location event.Code }{
	Pending:    {event.FleetStatePending, event.LocationStatePending},
	Creating:   {event.FleetStateCreating, event.LocationStateCreating},
	Created:    {event.FleetStateCreated, event.LocationStateCreated},
	Activating: {event.FleetStateActivating, event.LocationStateActivating},
	Active:     {event.FleetStateActive, event.LocationStateActive},
	Updating:   {event.FleetStateUpdating, event.LocationStateUpdating},
}

// Advance moves a location of a managed fleet forward to a status, through each step in
// between. The fleet moves along with the location that is furthest. Advance never moves
// back. The status is one of a build's startup for a container fleet too.
func (s *Service) Advance(tx *store.Tx, fleetID, location string, to Status) {
	old := s.table.Get(tx, fleetID)
	if old == nil || !slices.Contains(startup, to) {
		return
	}
	f := old.clone()
	l := f.Place(location)
	steps := f.startup()
	to = f.reached(to)
	if l == nil || !l.Status.Starting() || slices.Index(steps, l.Status) >= slices.Index(steps, to) {
		return
	}
	for l.Status != to {
		next := steps[slices.Index(steps, l.Status)+1]
		f.moveAt(l, next)
		s.recordLocation(tx, f, l)
		if f.Status.Starting() && slices.Index(steps, f.Status) < slices.Index(steps, next) {
			f.move(next)
			s.recordStep(tx, f, l.Location)
		}
	}
	s.putDesired(tx, f)
}

func (s *Fleets) recordStep(tx *store.Tx, f *Fleet, location string) {
	if f.Containers != nil {
		s.record(tx, containerEvents[f.Status].fleet, f, location, "Fleet %s changed state to %s", f.ID, f.Status)
		return
	}
	for _, step := range startupEvents[f.Status] {
		text := cmp.Or(step.text, fmt.Sprintf("Fleet %s changed state to %s", f.ID, f.Status))
		s.record(tx, step.code, f, location, "%s", text)
	}
}

func (s *Fleets) recordLocation(tx *store.Tx, f *Fleet, l *LocationState) {
	codes := map[Status]event.Code{
		Activating: event.LocationStateActivating, Active: event.LocationStateActive, Error: event.LocationStateError,
	}
	if f.Containers != nil {
		codes[l.Status] = containerEvents[l.Status].location
	}
	if code, ok := codes[l.Status]; ok {
		s.record(tx, code, f, l.Location, "Location %s changed state to %s", l.Location, l.Status)
	}
}

// needs reports whether a host is needed in a location before the fleet is ACTIVE: not in one that is
// Unused, unless all are, of which one has to be ACTIVE first.
func (f *Fleet) needs(l LocationState) bool {
	return !l.Unused || !slices.ContainsFunc(f.Locations, func(l LocationState) bool { return !l.Unused })
}

// Fail records a failure in a location of a managed fleet. A location that has not been
// ACTIVE moves to ERROR, and so does the fleet when all locations that it needs are in ERROR. Container
// fleets have no such status: they keep trying, and their deployment becomes IMPAIRED
// (Deployments.Report).
func (s *Service) Fail(tx *store.Tx, fleetID, location string, code event.Code, cause string) {
	old := s.table.Get(tx, fleetID)
	if old == nil {
		return
	}
	f := old.clone()
	s.record(tx, code, f, location, "%s", cause)
	l := f.Place(location)
	if l == nil || !l.Status.Starting() || f.Containers != nil {
		return
	}
	f.moveAt(l, Error)
	l.WaitsForHost = false
	s.recordLocation(tx, f, l)
	lost := !slices.ContainsFunc(f.Locations, func(l LocationState) bool { return l.Status != Error && f.needs(l) })
	if lost && f.Status.Starting() {
		f.move(Error)
		s.record(tx, event.FleetStateError, f, "", "Fleet %s changed state to ERROR: %s", f.ID, cause)
	}
	s.putDesired(tx, f)
}

// SetWaitReason records that no host has room for the desired instances of a location or,
// with an empty text, that one has again. It records an event only when a wait begins, and none
// for a location that is Unused. If all locations of the fleet are, one of them has to be ACTIVE
// first, and each has its event.
func (s *Service) SetWaitReason(tx *store.Tx, fleetID, location, text string) {
	old := s.table.Get(tx, fleetID)
	if old == nil {
		return
	}
	f := old.clone()
	l := f.Place(location)
	if l == nil || l.WaitsForHost == (text != "") {
		return
	}
	l.WaitsForHost = text != ""
	s.table.Put(tx, f)
	if text != "" && f.needs(*l) {
		s.record(tx, event.GenericEvent, f, location, "%s", text)
	}
	s.Deployments.settle(tx, f)
}

// WantsInstances reports whether Muster should run instances in the location.
func (f *Fleet) WantsInstances(l LocationState) bool {
	return f.Managed != nil && f.Status != Deleting && (l.Status.Serves() || l.Status.Starting())
}

// TakesProcesses reports whether a new game server process may connect.
func (f *Fleet) TakesProcesses(location string) bool {
	if f.Managed == nil {
		return f.Status == Active
	}
	l := f.Place(location)
	return l != nil && f.WantsInstances(*l)
}
