package pages

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
)

// studio is a cell with its pages.
type studio struct {
	*celltest.Cell
	queues  *placement.Service
	matches *flexmatch.Service
	pages   *Pages
}

// newStudio returns an open cell on a driver. Loops do not run yet.
func newStudio(t *testing.T, driver store.Driver) *studio {
	t.Helper()
	s := &studio{Cell: celltest.New(t, celltest.Options{Driver: driver})}
	s.queues = placement.New(s.Store, placement.Deps{Events: s.Events, Tags: s.Tags, Fleets: s.Fleets, Computes: s.Computes, Sessions: s.Sessions}, placement.Options{})
	s.matches = flexmatch.New(s.Store, flexmatch.Deps{Home: celltest.Home, Events: s.Events, Tags: s.Tags, Sessions: s.Sessions, Placements: s.queues}, flexmatch.Options{})
	s.pages = New(Services{
		Home: celltest.Home, Store: s.Store, Events: s.Events, Fleets: s.Fleets, Computes: s.Computes, Sessions: s.Sessions, Instances: s.Instances,
		Placements: s.queues, Matches: s.matches, States: s.states, Logger: slog.New(slog.DiscardHandler),
	})
	s.Open()
	return s
}

// states returns the fleets, with 5 players each.
func (s *studio) states() (all []client.Fleet) {
	for f := range s.Fleets.All(s.Store.View(), "") {
		all = append(all, client.Fleet{ID: f.ID, FleetLoad: client.FleetLoad{Players: 5}})
	}
	return all
}

// inStudio runs f in virtual time, in a cell whose loops run.
func inStudio(t *testing.T, driver store.Driver, f func(*studio)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStudio(t, driver)
		s.Start(s.Computes.Run, s.Sessions.Run, s.queues.Run, s.matches.Run, s.pages.Run)
		defer s.Close()
		synctest.Wait()
		f(s)
	})
}

// happened appends events.
func (s *studio) happened(all ...event.Event) {
	s.Helper()
	s.Update(func(tx *store.Tx) {
		for _, e := range all {
			s.Events.Append(tx, e)
		}
	})
}
