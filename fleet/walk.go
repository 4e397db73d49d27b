package fleet

import (
	"fmt"
	"iter"
	"slices"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// walk lists the statuses of a managed fleet, and of each of its locations, from
// CreateFleet to the first ready game server process.
var walk = []Status{Made, Downloading, Validating, Building, Activating, Active}

// Walking reports whether a status precedes ACTIVE in walk.
func (s Status) Walking() bool { return s != Active && slices.Contains(walk, s) }

// steps lists the events of a fleet that reaches a status.
var steps = map[Status][]struct {
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
	old := s.t.fleets.Get(tx, fleetID)
	if old == nil || !slices.Contains(walk, to) {
		return
	}
	f := old.clone()
	l := f.Place(location)
	if l == nil || !l.Status.Walking() || slices.Index(walk, l.Status) >= slices.Index(walk, to) {
		return
	}
	for l.Status != to {
		next := walk[slices.Index(walk, l.Status)+1]
		l.move(next)
		s.recordLocation(tx, f, l)
		if f.Status.Walking() && slices.Index(walk, f.Status) < slices.Index(walk, next) {
			f.move(next)
			s.recordStep(tx, f, l.Location)
		}
	}
	s.t.fleets.Put(tx, f)
	tx.OnCommit(s.wished)
}

func (s *Service) recordStep(tx *store.Tx, f *Fleet, location string) {
	for _, step := range steps[f.Status] {
		text := step.text
		if text == "" {
			text = fmt.Sprintf("Fleet %s changed state to %s", f.ID, f.Status)
		}
		s.record(tx, step.code, f, location, text)
	}
}

func (s *Service) recordLocation(tx *store.Tx, f *Fleet, l *LocationState) {
	codes := map[Status]event.Code{
		Activating: event.LocationStateActivating, Active: event.LocationStateActive, Error: event.LocationStateError,
	}
	if code, ok := codes[l.Status]; ok {
		s.record(tx, code, f, l.Location, fmt.Sprintf("Location %s changed state to %s", l.Location, l.Status))
	}
}

// Fail records a failure in a location of a managed fleet. A location that has not been
// ACTIVE moves to ERROR, and so does the fleet when all its locations are in ERROR.
func (s *Service) Fail(tx *store.Tx, fleetID, location string, code event.Code, cause string) {
	old := s.t.fleets.Get(tx, fleetID)
	if old == nil {
		return
	}
	f := old.clone()
	s.record(tx, code, f, location, cause)
	l := f.Place(location)
	if l == nil || !l.Status.Walking() {
		return
	}
	l.move(Error)
	l.WaitsForHost = false
	s.recordLocation(tx, f, l)
	lost := !slices.ContainsFunc(f.Locations, func(l LocationState) bool { return l.Status != Error })
	if lost && f.Status.Walking() {
		f.move(Error)
		s.record(tx, event.FleetStateError, f, "", fmt.Sprintf("Fleet %s changed state to ERROR: %s", f.ID, cause))
	}
	s.t.fleets.Put(tx, f)
	tx.OnCommit(s.wished)
}

// SetWaitReason records that no host has room for the desired instances of a location or, with an
// empty text, that one has again. It records an event only when a wait begins.
func (s *Service) SetWaitReason(tx *store.Tx, fleetID, location, text string) {
	old := s.t.fleets.Get(tx, fleetID)
	if old == nil {
		return
	}
	f := old.clone()
	l := f.Place(location)
	if l == nil || l.WaitsForHost == (text != "") {
		return
	}
	l.WaitsForHost = text != ""
	s.t.fleets.Put(tx, f)
	if text != "" {
		s.record(tx, event.GenericEvent, f, location, text)
	}
}

// Managed returns an iterator over the managed fleets, oldest first.
func (s *Service) Managed(r store.Reader) iter.Seq[*Fleet] { return s.t.managed.Equal(r, "") }

// OfBuild returns an iterator over the fleets of a build, oldest first.
func (s *Service) OfBuild(r store.Reader, buildID string) iter.Seq[*Fleet] {
	return s.t.ofBuild.Equal(r, buildID)
}

// Wishes reports whether Muster should run instances in the location.
func (f *Fleet) Wishes(l LocationState) bool {
	return f.Managed != nil && f.Status != Deleting && (l.Status == Active || l.Status.Walking())
}

// TakesProcesses reports whether a new game server process may connect.
func (f *Fleet) TakesProcesses(location string) bool {
	if f.Managed == nil {
		return f.Status == Active
	}
	l := f.Place(location)
	return l != nil && f.Wishes(*l)
}
