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

// Moves lists each allowed change of the status of a fleet or a location and what causes it.
var Moves = state.Machine[Status]{
	{"", Made}:                "CreateFleet (EC2)",
	{Made, Downloading}:       "the build is READY: hosts are asked for capacity",
	{Downloading, Validating}: "a host has the build",
	{Validating, Building}:    "launch paths found",
	{Building, Activating}:    "installed: processes start",
	{Activating, Active}:      "first ProcessReady",
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

func (f *Fleet) move(to Status) { Moves.Move(&f.Status, to, f.ID) }

func (l *LocationState) move(to Status) { Moves.Move(&l.Status, to, l.Location) }

// startup lists the statuses of a managed fleet, and of each of its locations, from
// CreateFleet to the first ready game server process.
var startup = []Status{Made, Downloading, Validating, Building, Activating, Active}

// Starting reports whether a status precedes ACTIVE in startup.
func (s Status) Starting() bool { return s != Active && slices.Contains(startup, s) }

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

// Advance moves a location of a managed fleet forward to a status, through each step in
// between. The fleet moves along with the location that is furthest. Advance never moves
// back.
func (s *Service) Advance(tx *store.Tx, fleetID, location string, to Status) {
	old := s.table.Get(tx, fleetID)
	if old == nil || !slices.Contains(startup, to) {
		return
	}
	f := old.clone()
	l := f.Place(location)
	if l == nil || !l.Status.Starting() || slices.Index(startup, l.Status) >= slices.Index(startup, to) {
		return
	}
	for l.Status != to {
		next := startup[slices.Index(startup, l.Status)+1]
		l.move(next)
		s.recordLocation(tx, f, l)
		if f.Status.Starting() && slices.Index(startup, f.Status) < slices.Index(startup, next) {
			f.move(next)
			s.recordStep(tx, f, l.Location)
		}
	}
	s.putDesired(tx, f)
}

func (s *Service) recordStep(tx *store.Tx, f *Fleet, location string) {
	for _, step := range startupEvents[f.Status] {
		text := cmp.Or(step.text, fmt.Sprintf("Fleet %s changed state to %s", f.ID, f.Status))
		s.record(tx, step.code, f, location, "%s", text)
	}
}

func (s *Service) recordLocation(tx *store.Tx, f *Fleet, l *LocationState) {
	codes := map[Status]event.Code{
		Activating: event.LocationStateActivating, Active: event.LocationStateActive, Error: event.LocationStateError,
	}
	if code, ok := codes[l.Status]; ok {
		s.record(tx, code, f, l.Location, "Location %s changed state to %s", l.Location, l.Status)
	}
}

// Fail records a failure in a location of a managed fleet. A location that has not been
// ACTIVE moves to ERROR, and so does the fleet when all its locations are in ERROR.
func (s *Service) Fail(tx *store.Tx, fleetID, location string, code event.Code, cause string) {
	old := s.table.Get(tx, fleetID)
	if old == nil {
		return
	}
	f := old.clone()
	s.record(tx, code, f, location, "%s", cause)
	l := f.Place(location)
	if l == nil || !l.Status.Starting() {
		return
	}
	l.move(Error)
	l.WaitsForHost = false
	s.recordLocation(tx, f, l)
	lost := !slices.ContainsFunc(f.Locations, func(l LocationState) bool { return l.Status != Error })
	if lost && f.Status.Starting() {
		f.move(Error)
		s.record(tx, event.FleetStateError, f, "", "Fleet %s changed state to ERROR: %s", f.ID, cause)
	}
	s.putDesired(tx, f)
}

// SetWaitReason records that no host has room for the desired instances of a location or,
// with an empty text, that one has again. It records an event only when a wait begins.
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
	if text != "" {
		s.record(tx, event.GenericEvent, f, location, "%s", text)
	}
}

// WantsInstances reports whether Muster should run instances in the location.
func (f *Fleet) WantsInstances(l LocationState) bool {
	return f.Managed != nil && f.Status != Deleting && (l.Status == Active || l.Status.Starting())
}

// TakesProcesses reports whether a new game server process may connect.
func (f *Fleet) TakesProcesses(location string) bool {
	if f.Managed == nil {
		return f.Status == Active
	}
	l := f.Place(location)
	return l != nil && f.WantsInstances(*l)
}
