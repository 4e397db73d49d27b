package fleet_test

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/fleet"
	"github.com/musterhq/muster/internal/celltest"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

const (
	home  = "us-east-1"
	other = "eu-west-1"
)

// fixture is a cell of which only the fleets are used.
type fixture struct {
	*celltest.Cell
	desired int // calls of OnDesired
	deleted int // calls of OnDeleting
}

func newFixture(t testing.TB, o celltest.Options) *fixture {
	t.Helper()
	x := &fixture{Cell: celltest.New(t, o)}
	x.Fleets.OnDesired(func() { x.desired++ })
	x.Fleets.OnDeleting(func() { x.deleted++ })
	x.Open()
	t.Cleanup(x.Close)
	return x
}

// refused fails the test unless err is a fault of the kind.
func (x *fixture) refused(err error, kind fault.Kind) {
	x.Helper()
	if !fault.Is(err, kind) {
		x.Fatalf("got %v, want %v", err, kind)
	}
}

// managed creates a managed fleet in its home region and other locations.
func (x *fixture) managed(locations ...string) *fleet.Fleet {
	x.Helper()
	return x.tagged(nil, locations...)
}

// tagged creates a managed fleet with tags.
func (x *fixture) tagged(tags map[string]string, locations ...string) *fleet.Fleet {
	x.Helper()
	f, err := x.Fleets.Create.Do(x.Ctx, fleet.CreateInput{
		ComputeType: fleet.EC2, Tags: tags, Locations: locations, Managed: &fleet.Managed{BuildID: "build-1", InstanceType: "c5.large"},
		Runtime: fleet.Runtime{Processes: []fleet.ProcessSpec{{LaunchPath: "/local/game/server", Concurrent: 1}}},
	})
	x.Must(err)
	return f
}

// anywhere creates an Anywhere fleet in a custom location.
func (x *fixture) anywhere(location string) *fleet.Fleet {
	x.Helper()
	_, err := x.Fleets.Locations.Create(x.Ctx, location, nil)
	x.Must(err)
	f, err := x.Fleets.Create.Do(x.Ctx, fleet.CreateInput{ComputeType: fleet.Anywhere, Locations: []string{location}})
	x.Must(err)
	return f
}

// add adds locations to a fleet, and remove removes them.
func (x *fixture) add(id string, locations ...string) error {
	_, err := x.Fleets.AddLocations.Do(x.Ctx, fleet.LocationsInput{FleetID: id, Locations: locations})
	return err
}

func (x *fixture) remove(id string, locations ...string) error {
	_, err := x.Fleets.RemoveLocations.Do(x.Ctx, fleet.LocationsInput{FleetID: id, Locations: locations})
	return err
}

// capacity changes a capacity.
func (x *fixture) capacity(in fleet.CapacityInput) error {
	_, err := x.Fleets.Capacities.Update.Do(x.Ctx, in)
	return err
}

// advance moves a location of a fleet to a status.
func (x *fixture) advance(id, location string, to fleet.Status) {
	x.Helper()
	x.Update(func(tx *store.Tx) { x.Fleets.Advance(tx, id, location, to) })
}

func (x *fixture) get(id string) *fleet.Fleet { return x.Fleets.Get(x.Store.View(), id) }

func (x *fixture) at(id, location string) fleet.LocationState {
	x.Helper()
	l := x.get(id).Place(location)
	if l == nil {
		x.Fatalf("fleet %s has no location %s", id, location)
	}
	return *l
}

// codes returns the codes of a fleet's events since a number of the log.
func (x *fixture) codes(id string, since uint64) []event.Code {
	x.Helper()
	entries, err := x.Events.Read(x.Ctx, event.Query{After: since, Limit: 1000})
	x.Must(err)
	var codes []event.Code
	for _, e := range entries {
		if e.Value.FleetID == id {
			codes = append(codes, e.Value.Code)
		}
	}
	return codes
}

// happened fails the test unless these are the fleet's events since a number of the log.
func (x *fixture) happened(id string, since uint64, want ...event.Code) {
	x.Helper()
	if got := x.codes(id, since); !slices.Equal(got, want) {
		x.Errorf("events %v, want %v", got, want)
	}
}

func (x *fixture) now() uint64 { return x.Events.Last(x.Store.View()) }

func ptr[T any](v T) *T { return &v }
